#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    c: View<f16, 2>,
    d: View<f16, 2>,
    e: View<f16, 2>,
    f: View<f16, 2>,
    g: View<f16, 2>,
    h: View<f16, 2>,
    mut y: ViewMut<f16, 2>,
) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / B {
        acc = dot(a.tile([0, k * B], [B, B]), b.tile([k * B, 0], [B, B]), acc);  //~ not copied by TMA: the loads and stores take 9 tensor maps, of 8 at most: pass several matrices as one view
        acc = dot(c.tile([0, k * B], [B, B]), d.tile([k * B, 0], [B, B]), acc);
        acc = dot(e.tile([0, k * B], [B, B]), f.tile([k * B, 0], [B, B]), acc);
        acc = dot(g.tile([0, k * B], [B, B]), h.tile([k * B, 0], [B, B]), acc);
    }
    y.store([0, 0], acc.to::<f16>());
}
