//! `C = f(A Bᵀ)` of 8-bit elements, with `f` as in `matmul`. B comes with its columns as rows, as in `matmul_f32`.

use kernel_macros::tile_module;

#[tile_module(use crate::library::tiles)]
pub mod bytes {
    #[tile_kernel(
        /// Of i8 into i32, which wraps; `f` is ReLU where `below` is 0.
        kernel(matmul_i8, T = i8, S = i32, P = i32, INTEGERS = 1),
        /// Of 8-bit floats into bf16, accumulated in f32 (on warpgroups in their 8-bit mode, which keeps some 14 bits).
        kernel(matmul_f8, T = [f8e4m3, f8e5m2], S = f32, P = bf16, INTEGERS = 0),
        tune(BM = [128], BN = [256], BK = [128], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [80], kernels = [matmul_i8]),
        tune(BM = [128], BN = [64], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [80], kernels = [matmul_f8]),
        tune(BM = [64], BN = [128, 64], BK = [128], GROUP = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [128], BN = [192], BK = [128], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_8bit<
        T,
        S,
        P,
        const INTEGERS: usize,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const GROUP: usize,
        const PER_SM: usize,
    >(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<P, 2>,
        below: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
            let (i, j) = swizzle2d(t, tiles, GROUP);
            let mut acc = zeros::<S>([BM, BN]);
            for k in (0..a.dim(1)).step_by(BK) {
                acc = dot(a.tile([i * BM, k], [BM, BK]), trans(b.tile([j * BN, k], [BN, BK])), acc);
            }
            let sums = if INTEGERS == 1 { activated_integers(acc, below) } else { activated(acc, below) };
            c.store([i * BM, j * BN], sums.to::<P>());
        }
    }
}
