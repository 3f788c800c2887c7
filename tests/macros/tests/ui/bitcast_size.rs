use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [u64]) {
    let i = arange(64);
    store(y, i, bitcast::<u64>(load(x, i)));
}

fn main() {}
