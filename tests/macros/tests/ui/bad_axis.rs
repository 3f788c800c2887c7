use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    store(y, 0, sum(load(x, arange(64)), 1));
}

fn main() {}
