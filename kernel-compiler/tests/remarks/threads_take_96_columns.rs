#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, y: &mut [f32], mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 96]);
    for k in 0..a.dim(1) / 64 {
        let right = b.tile([k * 64, 0], [64, 96]);  //~ not copied by TMA: threads take elements of an operand's tile whose extents are no powers of two: load the tile once more for them  //~ not multiplied by wgmma: an operand's tile is no matrix with extents that are powers of two and rows of 32 bytes or more: take a larger tile  //~ not copied ahead by cp.async: threads take elements of its tile too: load the tile once more for them
        acc = dot(a.tile([0, k * 64], [B, 64]), right, acc);  //~ not multiplied without padding: its tile [64, 96] is computed as one of [64, 128]: take powers of two, or, where wgmma multiplies it, 64 rows for each four warps and a multiple of 8 columns
        store(y, k * 64 + arange(64), sum(right.to::<f32>(), 1));
    }
    c.store([0, 0], acc);
}
