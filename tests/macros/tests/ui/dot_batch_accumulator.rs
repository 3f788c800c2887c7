use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<f16, 3>, b: View<f16, 3>, mut c: ViewMut<f32, 3>) {
    let x = a.tile([0, 0, 0], [2, 16, 32]);
    let y = trans(b.tile([0, 0, 0], [2, 8, 32]));
    let acc = zeros::<f32>([16, 8]);
    c.store([0, 0, 0], dot(x, y, acc));
}

fn main() {}
