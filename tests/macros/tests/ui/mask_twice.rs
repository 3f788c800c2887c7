use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let i = arange(8);
    store(y, i, load(x, i).other(1.0).other(2.0)).mask(i > 1).mask(i < 5);
}

#[tile_kernel(grid = [1])]
fn others(x: &[f32], y: &mut [f32]) {
    let i = arange(8);
    store(y, i, load(x, i).mask(i > 1).other(1.0).other(2.0));
}

fn main() {}
