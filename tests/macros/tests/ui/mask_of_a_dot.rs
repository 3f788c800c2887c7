use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    let x = a.tile([0, 0], [32, 32]);
    c.store([0, 0], dot(x, x, zeros::<f32>([32, 32])).mask(true));
}

fn main() {}
