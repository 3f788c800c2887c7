//! `C = f(A B)`, `C = f(A Bᵀ)` and `C = f(Aᵀ B)` of f32 to its accuracy, with `f` as in `matmul`: by fused
//! multiply-adds, or by 3xTF32. Products of few rows, and of a small K, by fused multiply-adds in f32, also of 16 bits.

use tilewright_macros::tile_module;

/// Products of f32.
#[tile_module(use crate::library::tiles, use crate::library::partials, use crate::library::tile_scheduler)]
pub mod f32_products {
    /// Sums over PART of K are added to the accumulator: one long chain of additions rounds several times
    /// worse.
    const PART: usize = 64;

    /// The sums `[BM, BN]` of rows from `r` on and columns from `s` on, over K from `from` to `to`: by f32 FMAs, or
    /// with TF32X3 by 3xTF32, which makes NaN of an infinite operand. Under 3xTF32 each step has its own accumulator,
    /// which is added in f32: tensor cores truncate the terms of a large sum.
    fn sums_in_f32<
        const TA: bool,
        const TB: bool,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const TF32X3: bool,
    >(
        a: View<f32, 2>,
        b: View<f32, 2>,
        (r, s): (usize, usize),
        (from, to): (usize, usize),
    ) -> Tile<f32> {
        let mut acc = zeros::<f32>([BM, BN]);
        let mut part = zeros::<f32>([BM, BN]);
        for k in range(from, to, BK) {
            let x = operand::<f32, TA, BM, BK, false>(a, r, k);
            let y = operand::<f32, TB, BK, BN, false>(b, k, s);
            if TF32X3 {
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
        acc
    }

    /// # Safety
    /// Under `StreamK`, `workspace` and `semaphores` are as large as
    /// [`stream_k`](crate::library::tile_scheduler) says.
    #[tile_kernel(
        /// A Bᵀ.
        kernel(matmul_f32, TA = false, TB = true),
        /// A B.
        kernel(matmul_f32_nn, TA = false, TB = false),
        /// Aᵀ B.
        kernel(matmul_f32_tn, TA = true, TB = false),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [64], BK = [8], PER_SM = [2], warps = [8], arch = [80]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [8], PER_SM = [4], warps = [4], arch = [80]),
        tune(SCHEDULER = [Persistent], BM = [16], BN = [32], BK = [64], PER_SM = [4], warps = [4], arch = [80]),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [64], BK = [16], TF32X3 = [true], warps = [8], arch = [80]),
        tune(SCHEDULER = [Grid], BM = [64], BN = [64], BK = [8], warps = [4], arch = [80]),
        tune(SCHEDULER = [Grid], BM = [32], BN = [32], BK = [16, 32], warps = [4], arch = [80]),
        tune(SCHEDULER = [Grid], BM = [16], BN = [64], BK = [16], warps = [2], arch = [80]),
        tune(SCHEDULER = [Grid], BM = [64], BN = [16], BK = [16], warps = [2], arch = [80]),
        tune(SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [8], MIN_K_STEPS = [16], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [80]),
        tune(SCHEDULER = [StreamK], BM = [32], BN = [32], BK = [16], MIN_K_STEPS = [8], PER_SM = [3], warps = [4], blocks_per_sm = [3], arch = [80]),
        tune(SCHEDULER = [StreamK], BM = [32], BN = [128], BK = [16], MIN_K_STEPS = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [80]),
        tune(SCHEDULER = [StreamK], BM = [128], BN = [16], BK = [16], MIN_K_STEPS = [8], PER_SM = [4], warps = [4], blocks_per_sm = [4], arch = [80], kernels = [matmul_f32_tn]),
        tune(SCHEDULER = [Grid], BM = [256], BN = [256], BK = [256], arch = [cpu]),
        tune(SCHEDULER = [Grid], BM = [64, 128], BN = [128], BK = [256], arch = [cpu]),
        requires = [
            if SCHEDULER == Scheduler::StreamK {
                workspace.len() >= num_sms() * PER_SM * BM * BN
            } else {
                workspace.len() == 0
            },
        ],
        grid = [
            if SCHEDULER == Scheduler::Grid {
                cdiv(c.dim(0), BM)
            } else if SCHEDULER == Scheduler::Persistent {
                min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)
            } else {
                min(num_sms() * PER_SM, max(1, cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN) * cdiv(if TA { a.dim(0) } else { a.dim(1) }, BK * MIN_K_STEPS)))
            },
            if SCHEDULER == Scheduler::Grid { cdiv(c.dim(1), BN) } else { 1 },
        ],
    )]
    pub unsafe fn in_f32<
        const TA: bool,
        const TB: bool,
        const SCHEDULER: Scheduler,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const TF32X3: bool = false,
        const GROUP: usize = 8,
        const PER_SM: usize = 1,
        const REDUCE: usize = 8,
        const MIN_K_STEPS: usize = 1,
    >(
        a: View<f32, 2>,
        b: View<f32, 2>,
        workspace: &mut [f32],
        semaphores: &mut [u64],
        mut c: ViewMut<f32, 2>,
        negative_slope: f32,
    ) {
        let sums_of = |i: usize, j: usize, from: usize, to: usize| {
            sums_in_f32::<TA, TB, BM, BN, BK, TF32X3>(a, b, (i * BM, j * BN), (from, to))
        };
        let epilogue = |sums: Tile<f32>, r: usize, s: usize| c.store([r, s], activated(sums, negative_slope));
        output_tiles::<f32, SCHEDULER, BM, BN, BK, GROUP, false, REDUCE, MIN_K_STEPS>(
            (c.dim(0), c.dim(1), if TA { a.dim(0) } else { a.dim(1) }),
            workspace,
            semaphores,
            sums_of,
            epilogue,
        );
    }

    /// GEMV: f32 fused multiply-adds of each row of A. An element of B is multiplied in the thread that loads it; the
    /// program sums its products over K once, at the end. `splits` programs share K of a block of
    /// columns.
    ///
    /// # Safety
    /// With several `splits`, `workspace` and `semaphores` are as large as [`split_k`](crate::library::tile_scheduler)
    /// says.
    #[tile_kernel(
        /// A B, of one row or a few.
        kernel(matmul_row_nn, TB = false),
        /// A Bᵀ, of one row or a few.
        kernel(matmul_row_nt, TB = true),
        types(T = [f32, f16, bf16]),
        tune(BN = [32], BK = [256, 512], warps = [8], kernels = [matmul_row_nn]),
        tune(BN = [64], BK = [128], warps = [8], kernels = [matmul_row_nn]),
        tune(BN = [16], BK = [512, 1024], warps = [8], kernels = [matmul_row_nn]),
        tune(BN = [4], BK = [1024, 2048], warps = [4], kernels = [matmul_row_nt]),
        tune(BN = [8], BK = [512], warps = [4, 8], kernels = [matmul_row_nt]),
        tune(BN = [8], BK = [1024], warps = [8], kernels = [matmul_row_nt]),
        tune(BN = [16], BK = [256], warps = [4], kernels = [matmul_row_nt]),
        grid = [c.dim(0), cdiv(c.dim(1), BN), splits],
    )]
    pub unsafe fn matmul_row<T: Float, const TB: bool, const BN: usize, const BK: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        workspace: &mut [f32],
        semaphores: &mut [u64],
        mut c: ViewMut<T, 2>,
        negative_slope: f32,
        splits: usize,
    ) {
        let main_loop = |i: usize, j: usize, from: usize, to: usize| {
            let s = j * BN;
            let mut acc = if TB { zeros::<f32>([BN, BK]) } else { zeros::<f32>([BK, BN]) };
            for k in range(from, to, BK) {
                let x = a.tile([i, k], [1, BK]).to::<f32>();
                if TB {
                    acc = fma(b.tile([s, k], [BN, BK]).to::<f32>(), x.broadcast([BN, BK]), acc);
                } else {
                    acc = fma(b.tile([k, s], [BK, BN]).to::<f32>(), trans(x).broadcast([BK, BN]), acc);
                }
            }
            (if TB { sum(acc, 1) } else { sum(acc, 0) }).expand(0)
        };
        split_k::<f32, 1, BN, BK, false, 4>(
            a.dim(1),
            workspace,
            semaphores,
            main_loop,
            |sums: Tile<f32>, r: usize, s: usize| {
                c.store([r, s], activated(sums, negative_slope).to::<T>());
            },
        );
    }

    /// The sum of K outer products, for a small K: f32 fused multiply-adds in the layout of the result. No thread takes
    /// the sums of another one, and each warp stores whole pieces of rows. B has any strides.
    #[tile_kernel(
        /// A B, of a small K.
        kernel(matmul_outer, TA = false),
        /// Aᵀ B, of a small K.
        kernel(matmul_outer_t, TA = true),
        types(T = [f32, f16, bf16]),
        tune(BM = [8], BN = [128, 256], BK = [4], warps = [1]),
        grid = [cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN)],
    )]
    pub fn outer_products<T: Float, const TA: bool, const BM: usize, const BN: usize, const BK: usize>(
        a: View<T, 2>,
        b: View<T, 2>,
        mut c: ViewMut<T, 2>,
        negative_slope: f32,
    ) {
        // Divisions of 32 bits take a fraction of the time of 64.
        let (i, across) = (program_id(0) as u32, cdiv(c.dim(1), BN) as u32);
        let (r, s) = ((i / across) as usize * BM, (i % across) as usize * BN);
        let mut acc = zeros::<f32>([BM, BN]);
        for first in range(0, if TA { a.dim(0) } else { a.dim(1) }, BK) {
            for j in static_range(0, BK) {
                let k = first + j;
                let x = operand::<T, TA, BM, 1, false>(a, r, k).to::<f32>();
                let y = b.tile([k, s], [1, BN]).to::<f32>();
                acc = fma(x.broadcast([BM, BN]), y.broadcast([BM, BN]), acc);
            }
        }
        c.store([r, s], activated(acc, negative_slope).to::<T>());
    }

    /// From this K on, truncation by tensor cores over CHUNK of K is less than the rounding of the whole
    /// sum.
    const MIN_CHUNKED_K: usize = 1024;

    /// 3xTF32 of operands that [`tf32_decompose`](fn@tf32_decompose) has decomposed: the product of the low parts is
    /// left out. Tensor cores sum CHUNK of K; chunks are added in f32, since tensor cores truncate low bits.
    #[tile_kernel(
        tune(BM = [128], BN = [128], BK = [32], CHUNK = [64, 128], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_f32_3xtf32_presplit<
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
        negative_slope: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        let k_size = a_high.dim(1);
        for_each_tile::<{ Scheduler::Persistent }, GROUP>(tiles, |i, j| {
            let (r, s) = (i * BM, j * BN);
            let chunk = if k_size < MIN_CHUNKED_K { BK } else { CHUNK };
            let mut acc = zeros::<f32>([BM, BN]);
            for start in range(0, k_size, chunk) {
                let mut part = zeros::<f32>([BM, BN]);
                for k in (start..minimum(start + chunk, k_size)).step_by(BK) {
                    let (xh, xl) = (a_high.tile([r, k], [BM, BK]), a_low.tile([r, k], [BM, BK]));
                    let (yh, yl) = (trans(b_high.tile([s, k], [BN, BK])), trans(b_low.tile([s, k], [BN, BK])));
                    // Small terms first.
                    part = dot(xl, yh, part).tf32();
                    part = dot(xh, yl, part).tf32();
                    part = dot(xh, yh, part).tf32();
                }
                acc += part;
            }
            c.store([r, s], activated(acc, negative_slope));
        });
    }

    /// `x = high + low` to 21 bits, both of them tf32.
    #[tile_kernel(
        /// Of `x`.
        kernel(tf32_decompose, TRANSPOSED = false),
        /// Of the transpose of `x`.
        kernel(tf32_decompose_transposed, TRANSPOSED = true),
        tune(ROWS = [16], COLS = [128], warps = [8], kernels = [tf32_decompose]),
        tune(ROWS = [64], COLS = [64], warps = [8], kernels = [tf32_decompose_transposed]),
        grid = [cdiv(x.dim(0), ROWS) * cdiv(x.dim(1), COLS)],
    )]
    pub fn decompose<const TRANSPOSED: bool, const ROWS: usize, const COLS: usize>(
        x: View<f32, 2>,
        mut high: ViewMut<f32, 2>,
        mut low: ViewMut<f32, 2>,
    ) {
        let across = cdiv(x.dim(1), COLS);
        let (r, c) = (program_id(0) / across * ROWS, program_id(0) % across * COLS);
        let tile = x.tile([r, c], [ROWS, COLS]);
        if TRANSPOSED {
            let h = tf32(trans(tile));
            high.store([c, r], h);
            low.store([c, r], low_part(trans(tile), h));
        } else {
            let h = tf32(tile);
            high.store([r, c], h);
            low.store([r, c], low_part(tile, h));
        }
    }

    /// The product of A's rows from `r` on and `y`, over a step of K from `k` on. `y` is decomposed here.
    fn step<const BM: usize, const BN: usize, const BK: usize>(
        a_high: View<f32, 2>,
        a_low: View<f32, 2>,
        y: Tile<f32>,
        r: usize,
        k: usize,
    ) -> Tile<f32> {
        let high = tf32(y);
        let low = low_part(y, high);
        let (xh, xl) = (a_high.tile([r, k], [BM, BK]), a_low.tile([r, k], [BM, BK]));
        let mut part = zeros::<f32>([BM, BN]);
        // Small terms first.
        part = dot(xh, low, part).tf32();
        part = dot(xl, high, part).tf32();
        part = dot(xh, high, part).tf32();
        part
    }

    /// 3xTF32 of a decomposed A, and of a B that programs decompose in registers. Tensor cores sum a step of K;
    /// steps are added in f32. `splits` programs share K of a tile.
    ///
    /// # Safety
    /// With several `splits`, `workspace` and `semaphores` are as large as [`split_k`](crate::library::tile_scheduler)
    /// says.
    #[tile_kernel(
        /// A B.
        kernel(matmul_f32_3xtf32_nn, TB = false),
        /// A Bᵀ.
        kernel(matmul_f32_3xtf32_nt, TB = true),
        tune(BM = [128], BN = [128], BK = [32], UNROLL = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [64], BK = [32], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [32], BN = [64], BK = [32], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [16], BN = [64], BK = [64], warps = [4], blocks_per_sm = [2], arch = [90]),
        grid = [cdiv(c.dim(0), BM), cdiv(c.dim(1), BN), splits],
        pdl = [b],
    )]
    pub unsafe fn matmul_f32_3xtf32<
        const TB: bool,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const UNROLL: usize = 4,
    >(
        a_high: View<f32, 2>,
        a_low: View<f32, 2>,
        b: View<f32, 2>,
        workspace: &mut [f32],
        semaphores: &mut [u64],
        mut c: ViewMut<f32, 2>,
        negative_slope: f32,
        splits: usize,
    ) {
        let main_loop = |i: usize, j: usize, from: usize, to: usize| {
            let mut acc = zeros::<f32>([BM, BN]);
            for k in range(from, to, BK) {
                let y = operand::<f32, TB, BK, BN, false>(b, k, j * BN);
                acc += step::<BM, BN, BK>(a_high, a_low, y, i * BM, k);
            }
            acc
        };
        split_k::<f32, BM, BN, BK, true, UNROLL>(
            a_high.dim(1),
            workspace,
            semaphores,
            main_loop,
            |sums: Tile<f32>, r: usize, s: usize| {
                c.store([r, s], activated(sums, negative_slope));
            },
        );
    }

    /// `C[i] = A[i] B[i]` for every `i` of a batch, as in `matmul_f32_3xtf32`. The matrices of A are stacked,
    /// `batch_rows` rows apart.
    #[tile_kernel(
        tune(BM = [128], BN = [128], BK = [32], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [64], BN = [64], BK = [32], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [16], BN = [64], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        grid = [min(c.dim(0) * cdiv(c.dim(1), BM) * cdiv(c.dim(2), BN), num_sms() * PER_SM)],
    )]
    pub fn batched_matmul_f32_3xtf32<const BM: usize, const BN: usize, const BK: usize, const PER_SM: usize>(
        a_high: View<f32, 2>,
        a_low: View<f32, 2>,
        batch_rows: usize,
        b: View<f32, 3>,
        mut c: ViewMut<f32, 3>,
    ) {
        let rows = cdiv(c.dim(1), BM);
        for_each_tile::<{ Scheduler::Persistent }, 8>((c.dim(0) * rows, cdiv(c.dim(2), BN)), |i, j| {
            let (batch, row) = (i / rows, i % rows * BM);
            let (r, s) = (batch * batch_rows + row, j * BN);
            let mut acc = zeros::<f32>([BM, BN]);
            for k in range(0, b.dim(1), BK) {
                let y = reshape(b.tile([batch, k, s], [1, BK, BN]), [BK, BN]);
                acc += step::<BM, BN, BK>(a_high, a_low, y, r, k);
            }
            c.store([batch, row, s], reshape(acc, [1, BM, BN]));
        });
    }
}
