#[tile_kernel(tune(B = [2], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 3>, b: View<f16, 3>, mut c: ViewMut<f32, 3>) {
    let mut acc = zeros::<f32>([B, 64, 64]);
    for k in 0..a.dim(2) / 64 {
        acc = dot(a.tile([0, 0, k * 64], [B, 64, 64]), b.tile([0, k * 64, 0], [B, 64, 64]), acc);  //~ not multiplied by wgmma: products of a batch (rank 3) go by mma.sync: loop over the batch
    }
    c.store([0, 0, 0], acc);
}
