use tilewright::tile_kernel;

#[tile_kernel(backward, grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    store(y, arange(64), load(y, arange(64)) + load(x, arange(64)));
}

fn main() {}
