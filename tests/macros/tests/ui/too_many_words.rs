use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<f32, 3>, b: View<f32, 3>, c: View<f32, 3>, d: View<f32, 3>, e: View<f32, 3>, mut y: ViewMut<f32, 3>) {
    y.store([0, 0, 0], a.tile([0, 0, 0], [1, 1, 1]));
}

fn main() {}
