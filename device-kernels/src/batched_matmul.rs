//! `C[i] = A[i] B[i]` for every `i` of a batch.

use tilewright_macros::tile_module;

#[tile_module(use crate::library::tiles, use crate::library::partials, use crate::library::tile_scheduler)]
pub mod batched {
    /// Sums are accumulated in f32. Programs take the batches one after another, and the tiles of a batch in the order
    /// of a single product.
    #[tile_kernel(
        /// Of f16 and bf16.
        kernel(batched_matmul, T = [f16, bf16]),
        /// Of f32, by fused multiply-adds.
        kernel(batched_matmul_f32, T = f32),
        tune(BM = [128], BN = [256], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [90], kernels = [batched_matmul]),
        tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [batched_matmul]),
        tune(BM = [128], BN = [128], BK = [32], GROUP = [8], PER_SM = [2], warps = [8], arch = [80], kernels = [batched_matmul]),
        tune(BM = [64], BN = [64], BK = [32], GROUP = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(BM = [128], BN = [192], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [90], kernels = [batched_matmul]),
        tune(BM = [64], BN = [128], BK = [64], GROUP = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [batched_matmul]),
        tune(BM = [64], BN = [64], BK = [64], GROUP = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90], kernels = [batched_matmul]),
        tune(BM = [32], BN = [32], BK = [64], GROUP = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(BM = [16], BN = [64], BK = [64], GROUP = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(BM = [64], BN = [16], BK = [64], GROUP = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(BM = [64], BN = [32], BK = [64], GROUP = [8], PER_SM = [4], warps = [4], blocks_per_sm = [4], arch = [90], kernels = [batched_matmul]),
        tune(BM = [32], BN = [32], BK = [16, 32], GROUP = [8], PER_SM = [8], warps = [4], arch = [80], kernels = [batched_matmul]),
        tune(BM = [64], BN = [64], BK = [16], GROUP = [8], PER_SM = [3], warps = [4], blocks_per_sm = [3], arch = [80], kernels = [batched_matmul]),
        tune(BM = [128], BN = [128], BK = [8], GROUP = [8], PER_SM = [2], warps = [8], arch = [80], kernels = [batched_matmul_f32]),
        tune(BM = [64], BN = [64], BK = [16], GROUP = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(BM = [32], BN = [32], BK = [32], GROUP = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(BM = [32], BN = [32], BK = [16], GROUP = [8], PER_SM = [8], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(BM = [32], BN = [64], BK = [16], GROUP = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(BM = [64], BN = [32], BK = [16], GROUP = [8], PER_SM = [4], warps = [4], arch = [80], kernels = [batched_matmul_f32]),
        tune(BM = [16], BN = [64], BK = [16], GROUP = [8], PER_SM = [8], warps = [2], arch = [80], kernels = [batched_matmul_f32]),
        tune(BM = [64], BN = [16], BK = [16], GROUP = [8], PER_SM = [8], warps = [2], arch = [80], kernels = [batched_matmul_f32]),
        grid = [min(c.dim(0) * cdiv(c.dim(1), BM) * cdiv(c.dim(2), BN), num_sms() * PER_SM)],
    )]
    pub fn batches<
        T: Float,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const GROUP: usize,
        const PER_SM: usize,
    >(
        a: View<T, 3>,
        b: View<T, 3>,
        mut c: ViewMut<T, 3>,
    ) {
        let tiles = (cdiv(c.dim(1), BM), cdiv(c.dim(2), BN));
        for_each_tile_of_batches::<GROUP>(c.dim(0), tiles, |batch, i, j| {
            let mut acc = zeros::<f32>([BM, BN]);
            for k in (0..a.dim(2)).step_by(BK) {
                let x = reshape(a.tile([batch, i * BM, k], [1, BM, BK]), [BM, BK]);
                let y = reshape(b.tile([batch, k, j * BN], [1, BK, BN]), [BK, BN]);
                acc = dot(x, y, acc);
            }
            c.store([batch, i * BM, j * BN], reshape(acc.to::<T>(), [1, BM, BN]));
        });
    }
}
