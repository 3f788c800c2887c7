//! `C = alpha A B + beta C` of f16, accumulated in f32.

use kernel_macros::tile_module;

#[tile_module]
pub mod scaled {
    /// Tile `[i, j]` of the product.
    fn sums<const BM: usize, const BN: usize, const BK: usize>(
        a: View<f16, 2>,
        b: View<f16, 2>,
        i: usize,
        j: usize,
    ) -> Tile<f32> {
        let mut acc = zeros::<f32>([BM, BN]);
        for k in (0..a.dim(1)).step_by(BK) {
            acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, j * BN], [BK, BN]), acc);
        }
        acc
    }

    /// `old` is `c` itself: each program reads what it is about to write. What is only read can be copied ahead (AHEAD of 1); else
    /// the compiler is to know that it is the same memory.
    #[tile_kernel(
        tune(BM = [128], BN = [256], BK = [64], GROUP = [8], PER_SM = [1], AHEAD = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [1], AHEAD = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [4], AHEAD = [0], warps = [4], arch = [80]),
        tune(BM = [128], BN = [192], BK = [64], GROUP = [8], PER_SM = [1], AHEAD = [1], warps = [8], arch = [90]),
        tune(BM = [256], BN = [192], BK = [64], GROUP = [4], PER_SM = [1], AHEAD = [1], warps = [8], ctas = [2], arch = [90]),
        tune(BM = [32], BN = [32], BK = [128], GROUP = [8], PER_SM = [4], AHEAD = [0], warps = [4], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn gemm<
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const GROUP: usize,
        const PER_SM: usize,
        const AHEAD: usize,
    >(
        a: View<f16, 2>,
        b: View<f16, 2>,
        old: View<f16, 2>,
        mut c: ViewMut<f16, 2>,
        alpha: f32,
        beta: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
            let (i, j) = swizzle2d(t, tiles, GROUP);
            let acc = sums::<BM, BN, BK>(a, b, i, j);
            let before =
                if AHEAD == 1 { old.tile([i * BM, j * BN], [BM, BN]) } else { c.tile([i * BM, j * BN], [BM, BN]) };
            c.store([i * BM, j * BN], (beta * before.to::<f32>() + alpha * acc).to::<f16>());
        }
    }

    /// With a `beta` of 0: what `C` held does not count, not even a NaN.
    #[tile_kernel(
        tune(BM = [128], BN = [256], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [4], warps = [4], arch = [80]),
        tune(BM = [128], BN = [192], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [256], BN = [192], BK = [64], GROUP = [4], PER_SM = [1], warps = [8], ctas = [2], arch = [90]),
        tune(BM = [32], BN = [32], BK = [128], GROUP = [8], PER_SM = [4], warps = [4], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn scaled_product<
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const GROUP: usize,
        const PER_SM: usize,
    >(
        a: View<f16, 2>,
        b: View<f16, 2>,
        mut c: ViewMut<f16, 2>,
        alpha: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
            let (i, j) = swizzle2d(t, tiles, GROUP);
            c.store([i * BM, j * BN], (alpha * sums::<BM, BN, BK>(a, b, i, j)).to::<f16>());
        }
    }
}
