#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: &[f16], b: View<f16, 2>, mut c: ViewMut<f32, 2>, m: usize, n: usize) {
    let (i, j) = (arange(B), arange(B));
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..n / B {
        let at = j + k * B;
        let x = load(a, i.expand(1) * 2 * n + at.expand(0)).mask((i.expand(1) < m) & (at.expand(0) < n));  //~ not accessed by a block pointer: nothing tells that the masked matrix lies inside of the slice: use a view  //~ not copied by TMA: its address is no block pointer: take a tile of a view, or write its index as `row * stride + column`
        acc = dot(x, b.tile([k * B, 0], [B, B]), acc);
    }
    c.store([0, 0], acc);
}
