use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    let a = load(x, arange(64)) + load(x, arange(32));
    store(y, arange(64), a);
}

fn main() {}
