use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: &[f32], y: &mut [f32], n: usize) {
    let i = tl.arange(0, 64);
    let v = tl.load(x + i, mask = i < n);
    store(y, i, tl.exp(v));
}

#[tile_kernel(grid = [1])]
fn module(x: &[f32], y: &mut [f32]) {
    let i = arange(64);
    store(y, i, tl.math.exp(load(x, i)));
}

#[tile_kernel(grid = [1])]
fn product(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    c.store([0, 0], tl.dot(a.tile([0, 0], [64, 64]), b.tile([0, 0], [64, 64])));
}

fn main() {}
