#[tile_kernel(tune(B = [64], warps = [2]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]), b.tile([k * B, 0], [B, B]), acc);  //~ not multiplied by wgmma: 2 warps cannot share [64, 64]: wgmma takes a multiple of 4 warps, 64 rows or more (a power of two) for each four, and 8 columns or more (a power of two, or a multiple of 8 for four warps and 64 rows)
    }
    c.store([0, 0], acc);
}
