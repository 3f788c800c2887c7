use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(a: View<f16, 2>, mut c: ViewMut<f16, 2>) {
    let t = a.tile([0, 0], [64, 64]);
    c.store([0, 0], t.T);
}

fn main() {}
