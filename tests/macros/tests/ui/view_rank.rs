use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(v: View<f32, 2>, y: &mut [f32]) {
    store(y, 0, sum(v.tile([0], [64])));
}

fn main() {}
