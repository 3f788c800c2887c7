//! Products of f32 of which programs take B apart, or B's elements, as they come. Several programs may share a tile of the result, each with a part of
//! the depth.
//!
//! Such programs are in three dimensions: rows and columns of tiles, and parts of the depth, whose sums are left in `parts`, as large as `C`
//! for each. Who takes a tile's last ticket, of `semaphores`, a zero for every tile, adds them up, in their order, and puts the ticket back
//! to 0: who finishes when changes nothing. Activations are those of `matmul`.

use kernel_macros::tile_module;

#[tile_module(use crate::library::tiles)]
pub mod shared_tiles {
    /// Where a program's part of the depth begins and ends, both but for the last in steps of STEP.
    fn share<const STEP: usize>(depth: usize, parts: ViewMut<f32, 3>) -> (usize, usize) {
        let deep = cdiv(cdiv(depth, STEP), parts.dim(0)) * STEP;
        (program_id(2) * deep, min(program_id(2) * deep + deep, depth))
    }

    /// A program's sums to the others, or with theirs to `c`.
    fn add_up<E, const BM: usize, const BN: usize>(
        acc: Tile<f32>,
        parts: ViewMut<f32, 3>,
        semaphores: &mut [u32],
        c: ViewMut<E, 2>,
        negative_slope: f32,
    ) {
        let (r, s) = (program_id(0) * BM, program_id(1) * BN);
        let tile = program_id(0) * num_programs(1) + program_id(1);
        parts.store([program_id(2), r, s], reshape(acc, [1, BM, BN]));
        if atomic_add(semaphores, tile, 1) == parts.dim(0) as u32 - 1 {
            let mut sums = zeros::<f32>([BM, BN]);
            for p in range(0, parts.dim(0), 1) {
                sums += reshape(parts.tile([p, r, s], [1, BM, BN]), [BM, BN]);
            }
            c.store([r, s], activated(sums, negative_slope).to::<E>());
            store(semaphores, tile, 0);
        }
    }

    /// GEMV: f32 fused multiply-adds of each row of A. An element of B is multiplied in the thread that loads it; the
    /// program sums its products over the depth once, at the end.
    #[tile_kernel(
        /// A B of f32, of one row or a few.
        kernel(matmul_row_nn, TB = false),
        /// A Bᵀ of f32, of one row or a few.
        kernel(matmul_row_nt, TB = true),
        tune(BN = [32], BK = [256, 512], warps = [8], kernels = [matmul_row_nn]),
        tune(BN = [64], BK = [128], warps = [8], kernels = [matmul_row_nn]),
        tune(BN = [16], BK = [512, 1024], warps = [8], kernels = [matmul_row_nn]),
        tune(BN = [4], BK = [1024, 2048], warps = [4], kernels = [matmul_row_nt]),
        tune(BN = [8], BK = [512], warps = [4, 8], kernels = [matmul_row_nt]),
        tune(BN = [8], BK = [1024], warps = [8], kernels = [matmul_row_nt]),
        tune(BN = [16], BK = [256], warps = [4], kernels = [matmul_row_nt]),
        grid = [c.dim(0), cdiv(c.dim(1), BN), parts.dim(0)],
    )]
    pub fn matmul_row<const TB: bool, const BN: usize, const BK: usize>(
        a: View<f32, 2>,
        b: View<f32, 2>,
        mut parts: ViewMut<f32, 3>,
        semaphores: &mut [u32],
        mut c: ViewMut<f32, 2>,
        negative_slope: f32,
    ) {
        let (r, s) = (program_id(0), program_id(1) * BN);
        let (from, to) = share::<BK>(a.dim(1), parts);
        let mut acc = if TB { zeros::<f32>([BN, BK]) } else { zeros::<f32>([BK, BN]) };
        for k in range(from, to, BK) {
            let x = a.tile([r, k], [1, BK]);
            if TB {
                acc = fma(b.tile([s, k], [BN, BK]), x.broadcast([BN, BK]), acc);
            } else {
                acc = fma(b.tile([k, s], [BK, BN]), trans(x).broadcast([BK, BN]), acc);
            }
        }
        let sums = (if TB { sum(acc, 1) } else { sum(acc, 0) }).expand(0);
        if parts.dim(0) == 1 {
            c.store([r, s], activated(sums, negative_slope));
        } else {
            add_up::<f32, 1, BN>(sums, parts, semaphores, c, negative_slope);
        }
    }

    /// What a step of the depth adds to the transpose of the result: `left` of B, which is taken apart here, times the transpose of A's rows from `r`.
    fn step<const BM: usize, const BN: usize, const BK: usize>(
        left: Tile<f32>,
        a_high: View<f32, 2>,
        a_low: View<f32, 2>,
        r: usize,
        k: usize,
    ) -> Tile<f32> {
        let high = tf32(left);
        let low = low_part(left, high);
        let (xh, xl) = (trans(a_high.tile([r, k], [BM, BK])), trans(a_low.tile([r, k], [BM, BK])));
        let mut part = zeros::<f32>([BN, BM]);
        // The small ones first.
        part = dot(low, xh, part).tf32();
        part = dot(high, xl, part).tf32();
        part = dot(high, xh, part).tf32();
        part
    }

    /// Of f32, to its accuracy, out of products of tf32. `a` was taken apart before (`split` of `matmul_f32`); of `b` each program takes its
    /// tiles apart itself, in registers, where only a left operand may be: the transpose of the product is computed. What a step
    /// of the depth adds up in the tensor cores, which cut off what they add, is added in f32.
    #[tile_kernel(
        /// A B.
        kernel(matmul_f32_mixed_nn, TB = false),
        /// A Bᵀ.
        kernel(matmul_f32_mixed_nt, TB = true),
        tune(BM = [128], BN = [128], BK = [32], warps = [8], arch = [90]),
        tune(BM = [64], BN = [64], BK = [32], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [32], BN = [64], BK = [32], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [16], BN = [64], BK = [64], warps = [4], blocks_per_sm = [2], arch = [90]),
        grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN), parts.dim(0)],
        pdl = [b],
    )]
    pub fn matmul_f32_mixed<const TB: bool, const BM: usize, const BN: usize, const BK: usize>(
        a_high: View<f32, 2>,
        a_low: View<f32, 2>,
        b: View<f32, 2>,
        mut parts: ViewMut<f32, 3>,
        semaphores: &mut [u32],
        mut c: ViewMut<f32, 2>,
        negative_slope: f32,
    ) {
        let (r, s) = (program_id(0) * BM, program_id(1) * BN);
        let (from, to) = share::<BK>(a_high.dim(1), parts);
        let mut acc = zeros::<f32>([BN, BM]);
        for k in range(from, to, BK) {
            let left = if TB { b.tile([s, k], [BN, BK]) } else { trans(b.tile([k, s], [BK, BN])) };
            let part = step::<BM, BN, BK>(left, a_high, a_low, r, k);
            acc += part;
        }
        add_up::<f32, BM, BN>(trans(acc), parts, semaphores, c, negative_slope);
    }

    /// `C[i] = A[i] B[i]` of f32, for every `i` of a batch, with A in two parts, whose matrices stand one below the other, `below` rows apart:
    /// what a tile has of the next one's rows is no part of the result.
    #[tile_kernel(
        tune(BM = [128], BN = [128], BK = [32], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [64], BK = [32], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [16], BN = [64], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        grid = [min(c.dim(0) * cdiv(c.dim(1), BM) * cdiv(c.dim(2), BN), num_sms() * PER_SM)],
    )]
    pub fn batched_matmul_f32_mixed<const BM: usize, const BN: usize, const BK: usize, const PER_SM: usize>(
        a_high: View<f32, 2>,
        a_low: View<f32, 2>,
        below: usize,
        b: View<f32, 3>,
        mut c: ViewMut<f32, 3>,
    ) {
        let tiles = (cdiv(c.dim(1), BM), cdiv(c.dim(2), BN));
        let each = tiles.0 * tiles.1;
        for t in range(program_id(0), c.dim(0) * each, num_programs(0)) {
            let batch = t / each;
            let (i, j) = swizzle2d(t % each, tiles, 8);
            let (r, s) = (batch * below + i * BM, j * BN);
            let mut acc = zeros::<f32>([BN, BM]);
            for k in range(0, b.dim(1), BK) {
                let left = trans(reshape(b.tile([batch, k, s], [1, BK, BN]), [BK, BN]));
                let part = step::<BM, BN, BK>(left, a_high, a_low, r, k);
                acc += part;
            }
            c.store([batch, i * BM, s], reshape(trans(acc), [1, BM, BN]));
        }
    }
}
