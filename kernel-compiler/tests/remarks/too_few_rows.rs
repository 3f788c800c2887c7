#[tile_kernel(tune(B = [32], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 32]);
    for k in 0..a.dim(1) / 64 {
        acc = dot(a.tile([0, k * 64], [B, 64]), b.tile([k * 64, 0], [64, 32]), acc);  //~ not multiplied by wgmma: 4 warps cannot share [32, 32]: wgmma takes a multiple of 4 warps, 64 rows or more (a power of two) for each four, and 8 columns or more (a power of two, or a multiple of 8 for four warps and 64 rows)
    }
    c.store([0, 0], acc);
}
