use tilewright::tile_kernel;

#[tile_kernel(types(T = [f8e4m3, f8e5m2]), grid = [1])]
fn k<T: Float>(a: View<T, 2>, b: View<T, 2>, mut c: ViewMut<f32, 2>) {
    let x = a.tile([0, 0], [16, 16]);
    let y = b.tile([0, 0], [16, 16]);
    c.store([0, 0], dot(x, y, zeros::<f32>([16, 16])));
}

fn main() {}
