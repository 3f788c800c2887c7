use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn rows(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    c.store([0, 0], dot(a.tile([0, 0], [8, 8]), b.tile([0, 0], [8, 8]), 0.0).tf32());
}

#[tile_kernel(grid = [1])]
fn columns(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    c.store([0, 0], dot(a.tile([0, 0], [16, 8]), b.tile([0, 0], [8, 4]), 0.0).tf32x3());
}

#[tile_kernel(grid = [1])]
fn depth(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    c.store([0, 0], dot(a.tile([0, 0], [16, 4]), b.tile([0, 0], [4, 8]), 0.0).tf32());
}

fn main() {}
