use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<f32, 2>, x: &[f32], y: &mut [f32]) {
    let row = a.tile([0, 0], [32, 32]);
    store(y, arange(32), dot(row, load(x, arange(32)), 0.0));
}

fn main() {}
