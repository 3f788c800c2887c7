#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f32, 2>, b: View<f32, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]), trans(b.tile([0, k * B], [B, B])), acc).tf32x3();  //~ not multiplied by wgmma: `.tf32x3()` products go by mma.sync
    }
    c.store([0, 0], acc);
}
