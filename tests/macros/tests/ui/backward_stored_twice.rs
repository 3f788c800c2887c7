use tilewright::tile_kernel;

#[tile_kernel(backward, grid = [1])]
fn twice(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, load(x, i));
    store(y, i, 2.0 * load(x, i)).mask(i < 10);
}

#[tile_kernel(backward, grid = [1])]
fn in_each_iteration(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    for k in 0..x.len() {
        store(y, i, full([64], load(x, k)));
    }
}

#[tile_kernel(backward, grid = [1])]
fn stored_and_added(x: &[f32], y: &mut [f32]) {
    store(y, arange(64), load(x, arange(64)));
    atomic_add(y, arange(64), load(x, arange(64)));
}

fn main() {}
