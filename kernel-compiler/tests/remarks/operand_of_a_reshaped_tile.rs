#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * 32], [128, 32]).reshape([B, B]), b.tile([k * B, 0], [B, B]), acc);  //~ not copied by TMA: an operand is a loaded tile that is reshaped: load it in the shape of the operand  //~ not multiplied by wgmma: an operand is computed, which wgmma takes only where TMA copies: load it as it is multiplied, or take tiles of views
    }
    c.store([0, 0], acc);
}
