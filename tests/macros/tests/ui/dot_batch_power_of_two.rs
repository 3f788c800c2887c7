use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<f32, 3>, b: View<f32, 3>, mut c: ViewMut<f32, 3>) {
    let x = a.tile([0, 0, 0], [3, 16, 16]);
    let y = b.tile([0, 0, 0], [3, 16, 16]);
    c.store([0, 0, 0], dot(x, y, zeros::<f32>([3, 16, 16])));
}

fn main() {}
