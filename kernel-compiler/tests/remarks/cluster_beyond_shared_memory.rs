#[tile_kernel(tune(B = [128], warps = [4], ctas = [2], arch = [90]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 128]);
    for k in (0..a.dim(1) / 128).stages(8) {
        acc = dot(a.tile([0, k * 128], [B, 128]), b.tile([k * 128, 0], [128, 128]), acc);  //~ not copied by TMA: its buffers take 409728 bytes of shared memory, of 232448 at most: take smaller tiles, or fewer stages  //~ not partitioned over a cluster: clusters support products only when TMA loads the operands
    }
    c.store([0, 0], acc);
}
