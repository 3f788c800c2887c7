//! `C = f(op(A) op(B))` of f16 and bf16, where `op` transposes or not and `f` leaves non-negative sums alone and multiplies
//! negative ones with `below`: 1 for a plain product, 0 for ReLU, any slope for a leaky one.
//!
//! One function is written for four kernels, by what is transposed: n or t for A, then for B. Every program stays and takes one tile of `C` after
//! another, in an order that keeps a group of rows of tiles in the L2 cache. For products of few rows, and for those whose
//! last wave would be all but empty, there are the kernels of `matmul_shared`.

use kernel_macros::tile_module;

#[tile_module(use crate::library::tiles)]
pub mod products {
    fn tile_of_product<
        E,
        const TA: usize,
        const TB: usize,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const ONCE: usize,
    >(
        a: View<E, 2>,
        b: View<E, 2>,
        c: ViewMut<E, 2>,
        below: f32,
        i: usize,
        j: usize,
    ) {
        let depth = if TA == 1 { a.dim(0) } else { a.dim(1) };
        let mut acc = zeros::<f32>([BM, BN]);
        for k in (0..depth).step_by(BK) {
            acc = dot(
                operand::<TA, BM, BK, { ONCE / 2 }>(a, i * BM, k),
                operand::<TB, BK, BN, { ONCE % 2 }>(b, k, j * BN),
                acc,
            );
        }
        c.store([i * BM, j * BN], activated(acc, below).to::<E>());
    }

    /// GROUP of 0 is for products of a few microseconds: programs in two dimensions, of which each knows its tile without a division.
    /// ONCE of 1 is for few rows, where every element of B is read once, ONCE of 2 for few columns.
    #[tile_kernel(
        /// A B.
        kernel(matmul_nn, TA = 0, TB = 0),
        /// A Bᵀ.
        kernel(matmul_nt, TA = 0, TB = 1),
        /// Aᵀ B.
        kernel(matmul_tn, TA = 1, TB = 0),
        /// Aᵀ Bᵀ.
        kernel(matmul_tt, TA = 1, TB = 1),
        types(T = [f16, bf16]),
        tune(BM = [128], BN = [256], BK = [64], GROUP = [8, 16], PER_SM = [1], ONCE = [0], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [2], ONCE = [0], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [64], BN = [128], BK = [64], GROUP = [8], PER_SM = [2], ONCE = [0], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [64], BN = [128], BK = [64], GROUP = [0], PER_SM = [1], ONCE = [0], warps = [4], arch = [90]),
        tune(BM = [64], BN = [64], BK = [128], GROUP = [8], PER_SM = [2], ONCE = [0], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [64], BN = [64], BK = [128], GROUP = [8], PER_SM = [1], ONCE = [1, 2], warps = [4], arch = [90]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [2], ONCE = [0], warps = [8], arch = [80]),
        tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [4], ONCE = [0], warps = [4], arch = [80], kernels = [matmul_nn, matmul_nt]),
        tune(BM = [256], BN = [256], BK = [64], GROUP = [4], PER_SM = [1], ONCE = [0], warps = [8], ctas = [2], arch = [90]),
        tune(BM = [128], BN = [256], BK = [64], GROUP = [0], PER_SM = [1], ONCE = [0], warps = [8], arch = [90]),
        tune(BM = [128], BN = [192], BK = [64], GROUP = [0, 8], PER_SM = [1], ONCE = [0], warps = [8], arch = [90]),
        tune(BM = [256], BN = [192], BK = [64], GROUP = [4], PER_SM = [1], ONCE = [0], warps = [8], ctas = [2], arch = [90]),
        tune(BM = [128], BN = [128, 192], BK = [64], GROUP = [4], PER_SM = [1], ONCE = [0], warps = [4], ctas = [2], arch = [90]),
        tune(BM = [32], BN = [32], BK = [128], GROUP = [8], PER_SM = [4], ONCE = [0], warps = [4], arch = [80]),
        grid = [
            if GROUP == 0 { cdiv(c.dim(0), BM) } else { min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM) },
            if GROUP == 0 { cdiv(c.dim(1), BN) } else { 1 },
        ],
    )]
    pub fn matmul<
        T: Float,
        const TA: usize,
        const TB: usize,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const GROUP: usize,
        const PER_SM: usize,
        const ONCE: usize,
    >(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        below: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        if GROUP == 0 {
            tile_of_product::<T, TA, TB, BM, BN, BK, ONCE>(a, b, c, below, program_id(0), program_id(1));
        } else {
            for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
                let (i, j) = swizzle2d(t, tiles, GROUP);
                tile_of_product::<T, TA, TB, BM, BN, BK, ONCE>(a, b, c, below, i, j);
            }
        }
    }
}
