//! `C = alpha A B + beta C` of f16, accumulated in f32. With a `beta` of 0 nothing of `C` is read.

use kernel_macros::tile_kernel;

#[tile_kernel(
    tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
    tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [4], warps = [4], arch = [80]),
    grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    emulate = [0, 1],
)]
pub fn gemm<const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
    a: View<f16, 2>,
    b: View<f16, 2>,
    mut c: ViewMut<f16, 2>,
    alpha: f32,
    beta: f32,
) {
    let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
    for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
        let (i, j) = swizzle2d(t, tiles, GROUP);
        let (r, s) = (i * BM, j * BN);
        let mut acc = zeros::<f32>([BM, BN]);
        for k in (0..a.dim(1)).step_by(BK) {
            acc = dot(a.tile([r, k], [BM, BK]), b.tile([k, s], [BK, BN]), acc);
        }
        let scaled = alpha * acc;
        if beta == 0.0 {
            c.store([r, s], scaled.to::<f16>());
        } else {
            let old = c.tile([r, s], [BM, BN]).to::<f32>();
            c.store([r, s], (beta * old + scaled).to::<f16>());
        }
    }
}
