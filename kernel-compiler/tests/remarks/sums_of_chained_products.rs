#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(x: View<f16, 2>, a: View<f16, 2>, b: View<f16, 2>, mut y: ViewMut<f32, 2>) {
    let left = x.tile([0, 0], [B, 64]);
    let mut acc = zeros::<f32>([B, 64]);
    let mut top = full([B], -1e30);
    for i in range(0, a.dim(0), 64) {
        let s = dot(left, trans(a.tile([i, 0], [64, 64])), zeros::<f32>([B, 64]));
        acc = dot(s.to::<f16>(), b.tile([i, 0], [64, 64]), acc);  //~ not pipelined: its sums have another use in the loop than to be scaled after the first product: give each product sums of its own
        top = maximum(top, max(acc, 1));
    }
    y.store([0, 0], acc + top.expand(1));
}
