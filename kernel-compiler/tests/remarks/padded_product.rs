#[tile_kernel(tune(B = [64], warps = [4], arch = [80]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    c.store([0, 0], dot(a.tile([0, 0], [B, 32]), b.tile([0, 0], [32, 96]), zeros::<f32>([B, 96])));  //~ not multiplied without padding: its tile [64, 96] is computed as one of [64, 128]: take powers of two, or, where wgmma multiplies it, 64 rows for each four warps and a multiple of 8 columns
}
