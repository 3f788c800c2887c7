#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(x: View<f16, 2>, a: View<f16, 2>, b: View<f16, 2>, mut y: ViewMut<f32, 2>) {
    let left = x.tile([0, 0], [B, 64]);
    let mut acc = zeros::<f32>([B, 64]);
    let mut sum = zeros::<f32>([B, 64]);
    for i in range(0, a.dim(0), 64) {
        let s = dot(left, trans(a.tile([i, 0], [64, 64])), zeros::<f32>([B, 64])).to::<f16>();
        acc = dot(s, b.tile([i, 0], [64, 64]), acc);  //~ not pipelined: its loop has 3 products, and two are pipelined: give the others a loop of their own
        sum = dot(s, b.tile([i, 64], [64, 64]), sum);
    }
    y.store([0, 0], acc);
    y.store([0, 64], sum);
}
