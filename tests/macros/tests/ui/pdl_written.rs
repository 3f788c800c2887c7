use tilewright::tile_kernel;

#[tile_kernel(grid = [1], pdl = [x, y])]
fn k(x: &[f32], y: &mut [f32]) {
    store(y, arange(64), load(x, arange(64)));
}

fn main() {}
