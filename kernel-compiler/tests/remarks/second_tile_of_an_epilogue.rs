#[tile_kernel(tune(B = [128], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, x: View<f16, 2>, y: View<f16, 2>, mut c: ViewMut<f16, 2>) {
    let mut acc = zeros::<f32>([B, B]);
    for k in 0..a.dim(1) / 64 {
        acc = dot(a.tile([0, k * 64], [B, 64]), b.tile([k * 64, 0], [64, B]), acc);
    }
    let first = x.tile([0, 0], [B, B]);
    let second = y.tile([0, 0], [B, B]);  //~ not copied by TMA: another tile of the same store is copied: an epilogue has one buffer
    c.store([0, 0], acc.to::<f16>() + first + second);
}
