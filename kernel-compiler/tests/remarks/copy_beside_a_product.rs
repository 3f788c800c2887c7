#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    x: View<f16, 2>,
    mut y: ViewMut<f16, 2>,
    mut c: ViewMut<f32, 2>,
) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]), b.tile([k * B, 0], [B, B]), acc);
    }
    y.store([0, 0], x.tile([0, 0], [B, B]));  //~ not stored by TMA: its layout is not that of accumulators: TMA stores what is computed elementwise from a product
    c.store([0, 0], acc);
}
