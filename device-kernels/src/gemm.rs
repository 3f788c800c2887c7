//! `C = alpha A B + beta C` of f16, accumulated in f32.

use tilewright_macros::tile_module;

/// Scaled products, by each scheduler.
#[tile_module(use crate::library::tiles, use crate::library::partials, use crate::library::tile_scheduler)]
pub mod scaled {
    /// `old` may be `c` itself: each program reads the elements that it writes. The compiler copies a tile of `old`
    /// ahead (AHEAD). With a `beta` of 0, `scaled_product` does not read `old`: a NaN in it does not count.
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
        tune(SCHEDULER = [StreamK], BM = [64], BN = [64], BK = [128], REDUCE = [16], MIN_K_STEPS = [2], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [32], BN = [128], BK = [64], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [4], warps = [8], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [32], BN = [64], BK = [128], BY_COLUMNS = [true], REDUCE = [16], MIN_K_STEPS = [2], warps = [4], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [16], BN = [128], BK = [64], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [4, 128], warps = [4], arch = [90]),
        tune(SCHEDULER = [StreamK], BM = [16], BN = [64], BK = [128], BY_COLUMNS = [true], REDUCE = [32], MIN_K_STEPS = [2, 64], warps = [4], arch = [90]),
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
        alias(old, c),
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
        const BY_COLUMNS: bool = false,
        const REDUCE: usize = 8,
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
        let sums_of = |i: usize, j: usize, from: usize, to: usize| {
            let mut acc = zeros::<f32>([BM, BN]);
            for k in range(from, to, BK) {
                let x = operand::<f16, false, BM, BK, false>(a, i * BM, k);
                acc = dot(x, operand::<f16, false, BK, BN, BY_COLUMNS>(b, k, j * BN), acc);
            }
            acc
        };
        let epilogue = |sums: Tile<f32>, r: usize, s: usize| {
            if BETA {
                let shape = [sums.dim(0), sums.dim(1)];
                let before = if AHEAD { old.tile([r, s], shape) } else { c.tile([r, s], shape) };
                c.store([r, s], (beta * before.to::<f32>() + alpha * sums).to::<f16>());
            } else {
                c.store([r, s], (alpha * sums).to::<f16>());
            }
        };
        output_tiles::<f32, SCHEDULER, BM, BN, BK, GROUP, BY_COLUMNS, REDUCE, MIN_K_STEPS>(
            (c.dim(0), c.dim(1), a.dim(1)),
            workspace,
            semaphores,
            sums_of,
            epilogue,
        );
    }
}
