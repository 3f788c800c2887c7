#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(x: View<f16, 2>, a: View<f16, 2>, b: View<f16, 2>, mut y: ViewMut<f32, 2>) {
    for t in 0..x.dim(0) / B {
        let left = x.tile([t * B, 0], [B, 128]);
        let mut acc = zeros::<f32>([B, 128]);
        for i in range(0, a.dim(0), 64).stages(5) {
            let s = dot(left, trans(a.tile([i, 0], [64, 128])), zeros::<f32>([B, 64]));  //~ not pipelined: it would not be copied by TMA: its buffers take 278784 bytes of shared memory, of 232448 at most: take smaller tiles, or fewer stages
            acc = dot(s.to::<f16>(), b.tile([i, 0], [64, 128]), acc);
        }
        y.store([t * B, 0], acc);
    }
}
