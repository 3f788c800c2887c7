use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    let x = a.tile([0, 0], [16, 16]);
    let y = b.tile([0, 0], [16, 72]);
    c.store([0, 0], dot(x, y, zeros::<f32>([16, 72])));
}

#[tile_kernel(grid = [1])]
fn rows(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let x = a.tile([0, 0], [96, 16]);
    let y = b.tile([0, 0], [16, 96]);
    c.store([0, 0], dot(x, y, zeros::<f32>([96, 96])));
}

fn main() {}
