#[tile_kernel(tune(B = [64], warps = [16]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 32]);
    for k in 0..a.dim(1) / 64 {
        acc = dot(a.tile([0, k * 64], [B, 64]), b.tile([k * 64, 0], [64, 32]), acc);  //~ not multiplied by wgmma: B is MN-major, and an instruction would take a part of the swizzled rows of its tile: take fewer warps, or store it K-major
    }
    c.store([0, 0], acc);
}
