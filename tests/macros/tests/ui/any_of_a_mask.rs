use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn of_a_mask(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    if max(load(x, i) > 0.0) {
        store(y, i, 1.0);
    }
}

#[tile_kernel(grid = [1])]
fn along_an_axis(x: View<f32, 2>, y: &mut [i32]) {
    store(y, arange(4), min(x.tile([0, 0], [4, 64]) > 0.0, 1));
}

#[tile_kernel(grid = [1])]
fn of_integers(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    if max((load(x, i) > 0.0).to::<i32>()) {
        store(y, i, 1.0);
    }
}

#[tile_kernel(grid = [1])]
fn any_by_name(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    if any(load(x, i) > 0.0) {
        store(y, i, 1.0);
    }
}

#[tile_kernel(grid = [1])]
fn all_by_name(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    if all(load(x, i) > 0.0) {
        store(y, i, 1.0);
    }
}

fn main() {}
