use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[i32], y: &mut [i32]) {
    let i = arange(64);
    store(y, i, maximum(load(x, i), 0).propagate_nan());
}

fn main() {}
