//! `C[i] = A[i] B[i]` for every `i` of a batch.

use tilewright_macros::tile_module;

/// Products of a batch.
#[tile_module(use crate::library::tiles, use crate::library::partials, use crate::library::tile_scheduler)]
pub mod batched {
    /// Sums are accumulated in f32. The rows of tiles of all matrices follow each other, as if they were those of one
    /// product: row `i` of tiles is row `i % rows` of matrix `i / rows`, so that a [tile
    /// scheduler](crate::library::tile_scheduler) of products serves batches.
    ///
    /// # Safety
    /// Under `StreamK`, `workspace` and `semaphores` are as large as
    /// [`stream_k`](crate::library::tile_scheduler) says.
    #[tile_kernel(
        /// Of f16 and bf16.
        kernel(batched_matmul, T = [f16, bf16]),
        /// Of f32, by fused multiply-adds, or with TF32X3 by 3xTF32, which makes NaN of an infinite operand. Under
        /// 3xTF32 each step has its own accumulator, which is added in f32: tensor cores truncate the terms of a large
        /// sum.
        kernel(batched_matmul_f32, T = f32),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [256], BK = [64], PER_SM = [1], warps = [8], arch = [90], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [128], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [128], BK = [32], PER_SM = [2], warps = [8], arch = [80], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [32], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [192], BK = [64], PER_SM = [1], warps = [8], arch = [90], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [128], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [32], BN = [32], BK = [64], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [16], BN = [64], BK = [64], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [16], BK = [64], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [32], BK = [64], PER_SM = [4], warps = [4], blocks_per_sm = [4], arch = [90], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [32], BN = [32], BK = [16, 32], PER_SM = [8], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [16], PER_SM = [3], warps = [4], blocks_per_sm = [3], arch = [80], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [32, 64], BN = [32], BK = [128], PER_SM = [3], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [128], BK = [8], PER_SM = [2], warps = [8], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [16], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [32], BN = [32], BK = [32], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [32], BN = [32], BK = [16], PER_SM = [8], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [32], BN = [64], BK = [16], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [32], BK = [16], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [16], BN = [64], BK = [16], PER_SM = [8], warps = [2], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [16], BK = [16], PER_SM = [8], warps = [2], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [64], BK = [16], PER_SM = [3], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [128], BK = [16], PER_SM = [3], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [StreamK], BM = [128], BN = [128], BK = [64], MIN_K_STEPS = [4], PER_SM = [1], warps = [8], arch = [90], kernels = [batched_matmul]),
        tune(SCHEDULER = [StreamK], BM = [64], BN = [128], BK = [64], MIN_K_STEPS = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [batched_matmul]),
        tune(SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [128], REDUCE = [16], MIN_K_STEPS = [2], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [batched_matmul]),
        tune(SCHEDULER = [StreamK], BM = [32], BN = [32], BK = [64], MIN_K_STEPS = [4], PER_SM = [3], warps = [4], blocks_per_sm = [3], arch = [80], kernels = [batched_matmul]),
        tune(SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [32], MIN_K_STEPS = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [16], MIN_K_STEPS = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [StreamK], BM = [32], BN = [32], BK = [16], MIN_K_STEPS = [8], PER_SM = [3], warps = [4], blocks_per_sm = [3], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [64], BK = [16], TF32X3 = [true], PER_SM = [1], warps = [8], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [16], TF32X3 = [true], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [80], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [128], BK = [32], TF32X3 = [true], PER_SM = [1], warps = [8], arch = [90], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [32], TF32X3 = [true], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [32], BK = [32], TF32X3 = [true], PER_SM = [3], warps = [4], blocks_per_sm = [3], arch = [90], kernels = [batched_matmul_f32]),
        tune(SCHEDULER = [Persistent], BM = [64, 128], BN = [128], BK = [256], PER_SM = [1], arch = [cpu]),
        requires = [
            if SCHEDULER == Scheduler::StreamK {
                workspace.len() >= num_sms() * PER_SM * BM * BN
            } else {
                workspace.len() == 0
            },
        ],
        grid = [
            if SCHEDULER == Scheduler::Persistent {
                min(c.dim(0) * cdiv(c.dim(1), BM) * cdiv(c.dim(2), BN), num_sms() * PER_SM)
            } else {
                min(num_sms() * PER_SM, max(1, c.dim(0) * cdiv(c.dim(1), BM) * cdiv(c.dim(2), BN) * cdiv(a.dim(2), BK * MIN_K_STEPS)))
            },
        ],
    )]
    pub unsafe fn batches<
        T: Float,
        const SCHEDULER: Scheduler,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const PER_SM: usize,
        const GROUP: usize = 8,
        const REDUCE: usize = 8,
        const MIN_K_STEPS: usize = 1,
        const TF32X3: bool = false,
    >(
        a: View<T, 3>,
        b: View<T, 3>,
        workspace: &mut [f32],
        semaphores: &mut [u64],
        mut c: ViewMut<T, 3>,
    ) {
        let rows = cdiv(c.dim(1), BM);
        // Of a row of tiles the matrix and the row in it. Arithmetic of 32 bits takes half the registers of 64.
        let place = |i: usize| {
            let matrix = i as u32 / rows as u32;
            (matrix as usize, (i as u32 - matrix * rows as u32) as usize * BM)
        };
        let sums_of = |i: usize, j: usize, from: usize, to: usize| {
            let (matrix, r) = place(i);
            let mut acc = zeros::<f32>([BM, BN]);
            for k in range(from, to, BK) {
                let x = reshape(a.tile([matrix, r, k], [1, BM, BK]), [BM, BK]);
                let y = reshape(b.tile([matrix, k, j * BN], [1, BK, BN]), [BK, BN]);
                if TF32X3 {
                    acc += dot(x, y, zeros::<f32>([BM, BN])).tf32x3();
                } else {
                    acc = dot(x, y, acc);
                }
            }
            acc
        };
        let epilogue = |sums: Tile<f32>, r: usize, s: usize| {
            let (matrix, row) = place(r / BM);
            let shape = [1, sums.dim(0), sums.dim(1)];
            c.store([matrix, row + r % BM, s], reshape(sums.to::<T>(), shape));
        };
        output_tiles::<f32, SCHEDULER, BM, BN, BK, GROUP, false, REDUCE, MIN_K_STEPS>(
            (c.dim(0) * rows * BM, c.dim(2), a.dim(2)),
            workspace,
            semaphores,
            sums_of,
            epilogue,
        );
    }
}
