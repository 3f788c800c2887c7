#[tile_kernel(tune(B = [16], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 64]);
    for k in 0..a.dim(1) / 64 {
        acc = dot(a.tile([0, k * 64], [B, 64]) * 2.0.to::<f16>(), b.tile([k * 64, 0], [64, 64]), acc);  //~ not multiplied with its operands swapped: its left operand is computed, and as the right one it would go through shared memory: load it as it is multiplied  //~ not multiplied by wgmma: 4 warps cannot share [16, 64]: wgmma takes a multiple of 4 warps, 64 rows or more (a power of two) for each four, and 8 columns or more (a power of two, or a multiple of 8 for four warps and 64 rows)
    }
    c.store([0, 0], acc);
}
