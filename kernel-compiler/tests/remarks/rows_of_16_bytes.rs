#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 8]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]), b.tile([k * B, 0], [B, 8]), acc);  //~ not copied by TMA: a tile [64, 8] has rows of no multiple of 32 bytes, or no multiple of 8 rows: take a larger tile  //~ not multiplied by wgmma: an operand's tile is no matrix with extents that are powers of two and rows of 32 bytes or more: take a larger tile
    }
    c.store([0, 0], acc);
}
