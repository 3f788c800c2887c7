#[tile_kernel(tune(B = [64], warps = [4]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    let mut acc = zeros::<f32>([B, 512]);
    for k in 0..a.dim(1) / 16 {
        acc = dot(a.tile([0, k * 16], [B, 16]), b.tile([k * 16, 0], [16, 512]), acc);  //~ not multiplied by wgmma: its sums take 256 registers of a thread, of 128 at most: take a smaller tile, or more warps
    }
    c.store([0, 0], acc);
}
