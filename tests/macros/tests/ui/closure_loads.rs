use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    store(y, 0, reduce(load(x, i), 0, |a, b| a + load(x, 0) + b));
}

fn main() {}
