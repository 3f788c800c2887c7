//! Softmax over a whole array of any length, in two launches.
//!
//! 1. `softmax_1d_partial`: every program keeps, lane by lane, the maximum so far and the sum of exponentials relative
//!    to it, over every num_programs-th block, and leaves one (maximum, sum) in scratch.
//! 2. `softmax_1d_apply`: every program combines all the pairs, the same way, then normalizes its blocks.
//!
//! Exponentials are powers of two of differences times log2(e), one instruction each. Their rounding changes a result
//! by some 1e-6 of itself.

use tilewright_macros::tile_module;

pub use whole::*;

/// The kernels of both launches.
#[tile_module]
pub mod whole {
    // A literal: kernels know no other constants.
    #[allow(clippy::approx_constant)]
    const LOG2_E: f32 = 1.442_695;

    // The tile is [ROWS, LANES] over consecutive memory, with a thread's elements down the columns: the rescaling of
    // the running sum then costs one exponential for ROWS elements. f32::MIN stands for "nothing yet" because -inf
    // minus -inf is NaN; an array of nothing but -inf still ends as 0 / 0.
    #[tile_kernel(
        tune(ROWS = [4, 8], LANES = [1024], warps = [8]),
        tune(ROWS = [4], LANES = [2048], warps = [16]),
        tune(ROWS = [4], LANES = [512], warps = [4]),
        grid = [maxima.len()],
    )]
    pub fn softmax_1d_partial<const ROWS: usize, const LANES: usize>(x: &[f32], maxima: &mut [f32], sums: &mut [f32]) {
        let lane = arange(ROWS).expand(1) * LANES + arange(LANES).expand(0);
        let mut m = full([1, LANES], f32::MIN);
        let mut s = zeros::<f32>([1, LANES]);
        for start in range(program_id(0) * (ROWS * LANES), x.len(), num_programs(0) * (ROWS * LANES)) {
            let v = load(x, start + lane).other(f32::NEG_INFINITY);
            let higher = maximum(m, max(v, 0).expand(0));
            s = s * exp2((m - higher) * LOG2_E) + sum(exp2((v - higher) * LOG2_E), 0).expand(0);
            m = higher;
        }
        let m_i = max(m);
        store(maxima, program_id(0), m_i);
        store(sums, program_id(0), sum(s * exp2((m - m_i) * LOG2_E)));
    }

    // Blocks from the last to the first: the first launch has left the end of the array in the L2 cache.
    #[tile_kernel(
        tune(BLOCK = [4096], PER_SM = [4, 8], warps = [8]),
        tune(BLOCK = [2048], PER_SM = [8], warps = [8]),
        grid = [min(cdiv(x.len(), BLOCK), num_sms() * PER_SM)],
        pdl = [x],
    )]
    pub fn softmax_1d_apply<const BLOCK: usize, const PER_SM: usize>(
        x: &[f32],
        maxima: &[f32],
        sums: &[f32],
        y: &mut [f32],
    ) {
        // The first tile is on its way while the first launch ends and the partials are combined.
        let blocks = cdiv(x.len(), BLOCK);
        let first = (blocks - 1 - program_id(0)) * BLOCK + arange(BLOCK);
        let v = load(x, first);
        let mut m = f32::MIN;
        let mut s = 0.0;
        for start in range(0, maxima.len(), 1024) {
            let part = load(maxima, start + arange(1024)).other(f32::MIN);
            let higher = max(m, max(part));
            s = s * exp2((m - higher) * LOG2_E)
                + sum(load(sums, start + arange(1024)) * exp2((part - higher) * LOG2_E));
            m = higher;
        }
        let scale = 1.0 / s;
        store(y, first, exp2((v - m) * LOG2_E) * scale).evict_first();
        for t in range(program_id(0) + num_programs(0), blocks, num_programs(0)) {
            let i = (blocks - 1 - t) * BLOCK + arange(BLOCK);
            store(y, i, exp2((load(x, i) - m) * LOG2_E) * scale).evict_first();
        }
    }
}
