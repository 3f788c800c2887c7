//! Products of groups of rows, each group with a matrix of its own, as the experts of a mixture have it.

use tilewright_macros::tile_module;

/// Products of groups of rows.
#[tile_module(use crate::library::tiles, use crate::library::partials, use crate::library::tile_scheduler)]
pub mod groups {
    /// `C[r] = A[r] B[g]` for the rows `r` of each group `g`, as
    /// [`for_each_tile_of_groups`](crate::library::tile_scheduler) divides them. Rows behind the last group are left as
    /// they are. Sums are accumulated in f32. `c` is row-major, with as many columns as a matrix of `b`.
    #[tile_kernel(
        /// `b` has the matrices as they are.
        kernel(grouped_matmul_nn, TB = false),
        /// `b` has their transposes.
        kernel(grouped_matmul_nt, TB = true),
        types(T = [f16, bf16]),
        tune(BM = [128], BN = [256], BK = [64], warps = [8], arch = [90]),
        tune(BM = [64], BN = [256], BK = [64], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [64], warps = [8], arch = [90]),
        tune(BM = [64], BN = [128], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [64], BN = [64], BK = [64], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [128], BN = [128], BK = [32], warps = [8], arch = [80]),
        tune(BM = [64], BN = [64], BK = [32], PER_SM = [4], warps = [4], arch = [80]),
        tune(BM = [16], BN = [64], BK = [64], PER_SM = [4], warps = [4], arch = [80]),
        tune(BM = [64], BN = [128], BK = [256], arch = [cpu]),
        grid = [
            min(
                (cdiv(a.dim(0), BM) + b.dim(0)) * cdiv(if TB { b.dim(1) } else { b.dim(2) }, BN),
                num_sms() * PER_SM,
            ),
        ],
    )]
    pub fn grouped_matmul<
        T: Float,
        const TB: bool,
        const BM: usize,
        const BN: usize,
        const BK: usize,
        const PER_SM: usize = 1,
        const GROUP: usize = 8,
    >(
        a: View<T, 2>,
        b: View<T, 3>,
        ends: &[i32],
        c: &mut [T],
    ) {
        let n = if TB { b.dim(1) } else { b.dim(2) };
        for_each_tile_of_groups::<BM, GROUP>(ends, b.dim(0), a.dim(0), cdiv(n, BN), |g, (r, end), j| {
            let mut acc = zeros::<f32>([BM, BN]);
            for k in range(0, a.dim(1), BK) {
                let x = a.tile([r, k], [BM, BK]);
                if TB {
                    acc = dot(x, trans(reshape(b.tile([g, j * BN, k], [1, BN, BK]), [BN, BK])), acc);
                } else {
                    acc = dot(x, reshape(b.tile([g, k, j * BN], [1, BK, BN]), [BK, BN]), acc);
                }
            }
            let (rows, columns) = (r + arange(BM), j * BN + arange(BN));
            let inside = (rows < end).expand(1) & (columns < n).expand(0);
            store(c, rows.expand(1) * n + columns.expand(0), acc.to::<T>()).mask(inside);
        });
    }
}
