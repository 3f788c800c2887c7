use tilewright::tile_kernel;

#[tile_kernel(grid = [1])]
fn k(x: View<u8, 2>, e: View<f8e4m3, 2>, w: View<f32, 2>, y: &mut [f32], n: usize) {
    let i = arange(32).expand(1) * 32 + arange(32).expand(0);
    let (a, b) = (x.tile([0, 0], [32, 32]), e.tile([0, 0], [64, 32]));
    let (s, t) = (x.tile([0, 0], [32, 2]), e.tile([0, 0], [32, 4]));
    store(y, i, dot_scaled(a, s, "e2m1", b, t, "e4m3"));
    store(y, i, dot_scaled(a, s, b, 0.0));
    store(y, i, dot_scaled(w.tile([0, 0], [32, 64]), s, b, t, 0.0));
    store(y, i, dot_scaled(n, s, b, t, 0.0));
    store(y, i, dot_scaled(a, n, b, t, 0.0));
    store(y, i, dot_scaled(a, w.tile([0, 0], [32, 2]), b, t, 0.0));
    store(y, i, dot_scaled(a, x.tile([0, 0], [32, 4]), b, t, 0.0));
    store(y, i, dot_scaled(a, s, b, e.tile([0, 0], [4, 32]), 0.0));
    store(y, i, dot_scaled(x.tile([0, 0], [32, 8]), s, e.tile([0, 0], [16, 32]), None, 0.0));
    store(y, i, dot_scaled(a, s, e.tile([0, 0], [32, 32]), None, 0.0));
    store(y, i, dot_scaled(arange(32).to::<u8>(), s, b, t, 0.0));
    store(y, i, dot_scaled(a, s, b, t, 0.0).tf32());
}

fn main() {}
