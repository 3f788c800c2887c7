use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32]) {
    store(y, arange(32), trans(load(x, arange(32))));
}

fn main() {}
