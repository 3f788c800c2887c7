use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let x = a.tile([0, 0], [64, 32]);
    let y = b.tile([0, 0], [64, 32]);
    c.store([0, 0], dot(x, y, zeros::<f32>([64, 32])));
}

fn main() {}
