use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(scale: Option<f32>, y: &mut [f32]) {
    store(y, 0, 2.0 * scale);
}

fn main() {}
