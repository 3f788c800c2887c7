use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(v: View<f32, 6>, w: View<f32, 0>, y: &mut [f32]) {
    store(y, 0, sum(v.tile([0; 6], [1; 6])));
}

fn main() {}
