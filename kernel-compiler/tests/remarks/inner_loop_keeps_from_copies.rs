#[tile_kernel(tune(B = [64], warps = [4], arch = [80]), grid = [1])]
pub fn k<const B: usize>(a: View<f16, 2>, b: View<f16, 2>, mut c: ViewMut<f32, 2>) {
    for t in (0..4).flatten() {  //~ not flattened: copies by cp.async begin anew in each inner loop, and a producer of TMA copies goes on: write one loop, or take operands that TMA copies
        let mut acc = zeros::<f32>([B, B]);
        for k in 0..a.dim(1) / B {
            acc = dot(a.tile([t * B, k * B], [B, B]), b.tile([k * B, 0], [B, B]), acc);
        }
        c.store([t * B, 0], acc);
    }
}
