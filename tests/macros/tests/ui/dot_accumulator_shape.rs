use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let x = a.tile([0, 0], [64, 32]);
    let y = b.tile([0, 0], [32, 16]);
    let acc = zeros::<f32>([16, 64]);
    c.store([0, 0], dot(x, y, acc));
}

fn main() {}
