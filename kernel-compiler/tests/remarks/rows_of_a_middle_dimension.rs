#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 3>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(2) / B {
        acc = dot(a.tile([0, 0, k * B], [B, 1, B]).reshape([B, B]), b.tile([k * B, 0], [B, B]), acc);  //~ not copied by TMA: a tile [64, 1, 64] is no matrix of the array's last two dimensions, nor a batch of them: take rows and columns from these  //~ not multiplied by wgmma: an operand's tile is no matrix with extents that are powers of two and rows of 32 bytes or more: take a larger tile
    }
    c.store([0, 0], acc);
}
