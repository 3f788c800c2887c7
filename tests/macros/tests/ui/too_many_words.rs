use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(
    x0: View<f32, 3>,
    x1: View<f32, 3>,
    x2: View<f32, 3>,
    x3: View<f32, 3>,
    x4: View<f32, 3>,
    x5: View<f32, 3>,
    x6: View<f32, 3>,
    x7: View<f32, 3>,
    x8: View<f32, 3>,
    x9: View<f32, 3>,
    x10: View<f32, 3>,
    x11: View<f32, 3>,
    x12: View<f32, 3>,
    x13: View<f32, 3>,
    x14: View<f32, 3>,
    x15: View<f32, 3>,
    x16: View<f32, 3>,
    x17: View<f32, 3>,
    mut y: ViewMut<f32, 3>,
) {
    y.store([0, 0, 0], x0.tile([0, 0, 0], [1, 1, 1]));
}

fn main() {}
