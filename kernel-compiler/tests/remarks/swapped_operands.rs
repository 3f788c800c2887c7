#[tile_kernel(tune(B = [16], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 64]);
    for k in 0..a.dim(1) / 64 {
        acc = dot(a.tile([0, k * 64], [B, 64]), b.tile([k * 64, 0], [64, 64]), acc).tf32();
    }
    c.store([0, 0], acc);  //~ not stored by TMA: it is transposed, by `trans` or since the operands of its product are swapped: TMA stores what wgmma computes
}
