#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 96]);
    for k in 0..a.dim(1) / 64 {
        acc = dot(a.tile([0, k * 64], [B, 64]), b.tile([k * 64, 0], [64, 96]) * 2.0.to::<f16>(), acc);  //~ not multiplied without padding: its tile [64, 96] is computed as one of [64, 128]: take powers of two, or, where wgmma multiplies it, 64 rows for each four warps and a multiple of 8 columns  //~ not multiplied by wgmma: a computed operand [64, 96] has extents that are no powers of two: take some that are  //~ not multiplied by wgmma: an operand is computed, which wgmma takes only where TMA copies: load it as it is multiplied, or take tiles of views
    }
    c.store([0, 0], acc);
}
