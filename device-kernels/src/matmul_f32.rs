//! `C = f(A B)` and `C = f(A Bᵀ)` of f32, with `f` as in `matmul`, in three arithmetics. Where there is but one kernel B comes with its
//! columns as rows: of views that is a matter of strides, and along the depth is how warpgroups take operands other than f16 and bf16.

use kernel_macros::tile_module;

#[tile_module(use crate::library::tiles)]
pub mod f32_products {
    /// So much of the depth is summed up by itself: a sum of thousands, one after the other, is off by several times what one of such sums is.
    const PART: usize = 64;

    /// In f32 itself, or with X3 of 1 as accurately out of products of tf32, which make NaN of an infinite operand: those have
    /// sums of their own, added up in f32, for a tensor core cuts off what it adds to a large one.
    #[tile_kernel(
        /// A Bᵀ.
        kernel(matmul_f32, TB = 1),
        /// A B.
        kernel(matmul_f32_nn, TB = 0),
        tune(BM = [128], BN = [64], BK = [8], X3 = [0], GROUP = [8], PER_SM = [2], warps = [8], arch = [80]),
        tune(BM = [64], BN = [64], BK = [8], X3 = [0], GROUP = [8], PER_SM = [4], warps = [4], arch = [80]),
        tune(BM = [16], BN = [32], BK = [64], X3 = [0], GROUP = [8], PER_SM = [4], warps = [4], arch = [80]),
        tune(BM = [128], BN = [64], BK = [16], X3 = [1], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn in_f32<
        const TB: usize,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const X3: usize,
        const GROUP: usize,
        const PER_SM: usize,
    >(
        a: View<f32, 2>,
        b: View<f32, 2>,
        mut c: ViewMut<f32, 2>,
        below: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
            let (i, j) = swizzle2d(t, tiles, GROUP);
            let mut acc = zeros::<f32>([BM, BN]);
            let mut part = zeros::<f32>([BM, BN]);
            for k in (0..a.dim(1)).step_by(BK) {
                let x = a.tile([i * BM, k], [BM, BK]);
                let y = if TB == 1 { trans(b.tile([j * BN, k], [BN, BK])) } else { b.tile([k, j * BN], [BK, BN]) };
                if X3 == 1 {
                    acc += dot(x, y, zeros::<f32>([BM, BN])).tf32x3();
                } else {
                    part = dot(x, y, part);
                    if (k + BK) % PART == 0 {
                        acc += part;
                        part = zeros::<f32>([BM, BN]);
                    }
                }
            }
            acc += part;
            c.store([i * BM, j * BN], activated(acc, below));
        }
    }

    /// From here on sums are long enough that what the tensor cores cut off of CHUNK of the depth is less than what rounding does.
    const LONG: usize = 1024;

    /// The product of operands that [`split`] took apart, without that of the low parts. What CHUNK of the depth adds up in the
    /// tensor cores is added in f32: they cut off low bits of what they add.
    #[tile_kernel(
        tune(BM = [128], BN = [128], BK = [32], CHUNK = [64, 128], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_f32_parts<
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const CHUNK: usize,
        const GROUP: usize,
        const PER_SM: usize,
    >(
        a_high: View<f32, 2>,
        a_low: View<f32, 2>,
        b_high: View<f32, 2>,
        b_low: View<f32, 2>,
        mut c: ViewMut<f32, 2>,
        below: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        let depth = a_high.dim(1);
        for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
            let (i, j) = swizzle2d(t, tiles, GROUP);
            let (r, s) = (i * BM, j * BN);
            let chunk = if depth < LONG { BK } else { CHUNK };
            let mut acc = zeros::<f32>([BM, BN]);
            for start in range(0, depth, chunk) {
                let mut part = zeros::<f32>([BM, BN]);
                for k in (start..minimum(start + chunk, depth)).step_by(BK) {
                    let (xh, xl) = (a_high.tile([r, k], [BM, BK]), a_low.tile([r, k], [BM, BK]));
                    let (yh, yl) = (trans(b_high.tile([s, k], [BN, BK])), trans(b_low.tile([s, k], [BN, BK])));
                    // The small ones first.
                    part = dot(xl, yh, part).tf32();
                    part = dot(xh, yl, part).tf32();
                    part = dot(xh, yh, part).tf32();
                }
                acc += part;
            }
            c.store([r, s], activated(acc, below));
        }
    }

    /// `x = high + low` to 21 bits, both of them tf32.
    #[tile_kernel(
        /// Of `x`.
        kernel(split, TRANSPOSED = 0),
        /// Of the transpose of `x`.
        kernel(split_transposed, TRANSPOSED = 1),
        tune(ROWS = [16], COLS = [128], warps = [8], kernels = [split]),
        tune(ROWS = [64], COLS = [64], warps = [8], kernels = [split_transposed]),
        grid = [cdiv(x.dim(0), ROWS) * cdiv(x.dim(1), COLS)],
    )]
    pub fn tf32_decompose<const TRANSPOSED: usize, const ROWS: usize, const COLS: usize>(
        x: View<f32, 2>,
        mut high: ViewMut<f32, 2>,
        mut low: ViewMut<f32, 2>,
    ) {
        let across = cdiv(x.dim(1), COLS);
        let (r, c) = (program_id(0) / across * ROWS, program_id(0) % across * COLS);
        let tile = x.tile([r, c], [ROWS, COLS]);
        if TRANSPOSED == 1 {
            let h = tf32(trans(tile));
            high.store([c, r], h);
            low.store([c, r], low_part(trans(tile), h));
        } else {
            let h = tf32(tile);
            high.store([r, c], h);
            low.store([r, c], low_part(tile, h));
        }
    }

    /// Of operands rounded to tf32, or cut off to it where they come by tensor maps. What lies across goes to warpgroups by way of registers, where
    /// only a left operand may.
    #[tile_kernel(
        /// A Bᵀ.
        kernel(matmul_tf32, TA = 0),
        /// Aᵀ Bᵀ.
        kernel(matmul_tf32_tt, TA = 1),
        tune(BM = [128], BN = [256], BK = [32], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [2], warps = [4], arch = [80]),
        tune(BM = [128], BN = [192], BK = [32], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [128], BK = [32], GROUP = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [matmul_tf32_tt]),
        tune(BM = [64], BN = [64], BK = [64], GROUP = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [matmul_tf32_tt]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn in_tf32<
        const TA: usize,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const GROUP: usize,
        const PER_SM: usize,
    >(
        a: View<f32, 2>,
        b: View<f32, 2>,
        mut c: ViewMut<f32, 2>,
        below: f32,
    ) {
        let depth = if TA == 1 { a.dim(0) } else { a.dim(1) };
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
            let (i, j) = swizzle2d(t, tiles, GROUP);
            let mut acc = zeros::<f32>([BM, BN]);
            for k in (0..depth).step_by(BK) {
                acc = dot(operand::<TA, BM, BK, 0>(a, i * BM, k), operand::<1, BK, BN, 0>(b, k, j * BN), acc).tf32();
            }
            c.store([i * BM, j * BN], activated(acc, below));
        }
    }

    /// As [`matmul_tf32`], but `A B`: the transpose of the product is computed, of which B's is the left operand.
    #[tile_kernel(
        tune(BM = [256], BN = [128], BK = [32], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [64], BK = [32], GROUP = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [64], BN = [64], BK = [64], GROUP = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [2], warps = [4], arch = [80]),
        tune(BM = [192], BN = [128], BK = [32], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_tf32_nn<
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const GROUP: usize,
        const PER_SM: usize,
    >(
        a: View<f32, 2>,
        b: View<f32, 2>,
        mut c: ViewMut<f32, 2>,
        below: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        for t in range(program_id(0), tiles.0 * tiles.1, num_programs(0)) {
            let (i, j) = swizzle2d(t, tiles, GROUP);
            let mut acc = zeros::<f32>([BN, BM]);
            for k in (0..a.dim(1)).step_by(BK) {
                acc = dot(trans(b.tile([k, j * BN], [BK, BN])), trans(a.tile([i * BM, k], [BM, BK])), acc).tf32();
            }
            c.store([i * BM, j * BN], trans(activated(acc, below)));
        }
    }
}
