#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let x = a.tile([0, 0], [B, B]) * 2.0.to::<f16>();  //~ not multiplied by wgmma: an operand is computed, where all threads copy
    let y = b.tile([0, 0], [B, B]) * 2.0.to::<f16>();
    c.store([0, 0], dot(x, y, zeros::<f32>([B, B])));  //~ not multiplied by wgmma: both operands are computed: load one of them for this product
}
