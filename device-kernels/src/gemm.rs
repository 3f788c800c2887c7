//! `C = alpha A B + beta C` of f16, accumulated in f32.

use kernel_macros::tile_module;

#[tile_module(use crate::library::tiles, use crate::library::partials, use crate::library::tile_scheduler)]
pub mod scaled {
    /// `old` is `c` itself: each program reads the elements that it writes. The compiler copies a tile of `old` ahead
    /// (AHEAD), which it does not do with an array that the kernel writes. With a `beta` of 0, `scaled_product` does not
    /// read `old`: a NaN in it does not count.
    ///
    /// # Safety
    /// Under `StreamK`, `workspace` and `semaphores` are as large as
    /// [`stream_k`](crate::library::tile_scheduler) says.
    #[tile_kernel(
        /// alpha A B + beta C.
        kernel(gemm, BETA = true),
        /// alpha A B.
        kernel(scaled_product, BETA = false),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [256, 128], BK = [64], AHEAD = [true], warps = [8], arch = [90]),
        tune(SCHEDULER = [Persistent], BM = [64], BN = [64], BK = [32], PER_SM = [4], warps = [4], arch = [80]),
        tune(SCHEDULER = [Persistent], BM = [128], BN = [192], BK = [64], AHEAD = [true], warps = [8], arch = [90]),
        tune(SCHEDULER = [Persistent], BM = [256], BN = [192], BK = [64], GROUP = [4], AHEAD = [true], warps = [8], ctas = [2], arch = [90]),
        tune(SCHEDULER = [Persistent], BM = [32], BN = [32], BK = [128], PER_SM = [4], warps = [4], arch = [80]),
        tune(SCHEDULER = [StreamK], BM = [128], BN = [128], BK = [64], MIN_K_STEPS = [4, 8], warps = [8], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [64], BN = [128], BK = [64], MIN_K_STEPS = [4], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [128], REDUCE_ROWS = [16], MIN_K_STEPS = [2], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [32], BN = [128], BK = [64], SWAP = [true], REDUCE_ROWS = [32], MIN_K_STEPS = [4], warps = [8], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [32], BN = [64], BK = [128], SWAP = [true], REDUCE_ROWS = [16], MIN_K_STEPS = [2], warps = [4], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [16], BN = [128], BK = [64], SWAP = [true], REDUCE_ROWS = [32], MIN_K_STEPS = [4, 128], warps = [4], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [16], BN = [64], BK = [128], SWAP = [true], REDUCE_ROWS = [32], MIN_K_STEPS = [2, 64], warps = [4], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [128], BN = [192], BK = [64], MIN_K_STEPS = [8], warps = [8], arch = [90]),
        requires = [
            if SCHEDULER == Scheduler::StreamK {
                workspace.len() >= num_sms() * PER_SM * BM * BN
            } else {
                workspace.len() == 0
            },
        ],
        grid = [
            if SCHEDULER == Scheduler::Persistent {
                min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)
            } else {
                min(num_sms() * PER_SM, max(1, cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN) * cdiv(a.dim(1), BK * MIN_K_STEPS)))
            },
        ],
    )]
    pub unsafe fn scale<
        const BETA: bool,
        const SCHEDULER: Scheduler,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const GROUP: usize = 8,
        const PER_SM: usize = 1,
        const AHEAD: bool = false,
        const SWAP: bool = false,
        const REDUCE_ROWS: usize = 8,
        const MIN_K_STEPS: usize = 1,
    >(
        a: View<f16, 2>,
        b: View<f16, 2>,
        old: View<f16, 2>,
        workspace: &mut [f32],
        semaphores: &mut [u64],
        mut c: ViewMut<f16, 2>,
        alpha: f32,
        beta: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        let sums_of = |i: usize, j: usize, from: usize, to: usize| {
            if SWAP {
                let mut acc = zeros::<f32>([BN, BM]);
                for k in range(from, to, BK) {
                    let x = operand::<f16, true, BN, BK, true>(b, j * BN, k);
                    acc = dot(x, operand::<f16, true, BK, BM, false>(a, k, i * BM), acc);
                }
                acc
            } else {
                let mut acc = zeros::<f32>([BM, BN]);
                for k in range(from, to, BK) {
                    acc = dot(a.tile([i * BM, k], [BM, BK]), b.tile([k, j * BN], [BK, BN]), acc);
                }
                acc
            }
        };
        // `row` and `count` count rows of the sums, which are columns of C with SWAP.
        let epilogue = |sums: Tile<f32>, i: usize, j: usize, row: usize, count: usize| {
            let (r, s) = if SWAP { (i * BM, j * BN + row) } else { (i * BM + row, j * BN) };
            let scaled = if SWAP { trans(alpha * sums) } else { alpha * sums };
            if BETA {
                let shape = if SWAP { [BM, count] } else { [count, BN] };
                let before = if AHEAD { old.tile([r, s], shape) } else { c.tile([r, s], shape) };
                c.store([r, s], (beta * before.to::<f32>() + scaled).to::<f16>());
            } else {
                c.store([r, s], scaled.to::<f16>());
            }
        };
        if SCHEDULER == Scheduler::StreamK {
            let rows = |i: usize, j: usize| if SWAP { min(BN, c.dim(1) - j * BN) } else { min(BM, c.dim(0) - i * BM) };
            stream_k::<f32, BK, { if SWAP { BN } else { BM } }, { if SWAP { BM } else { BN } }, REDUCE_ROWS, MIN_K_STEPS>(
                tiles,
                a.dim(1),
                workspace,
                semaphores,
                sums_of,
                rows,
                epilogue,
            );
        } else {
            for_each_tile::<SCHEDULER, GROUP>(tiles, |i, j| epilogue(sums_of(i, j, 0usize, a.dim(1)), i, j, 0usize, BM));
        }
    }
}
