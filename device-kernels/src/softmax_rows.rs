//! Softmax of every row of a contiguous row-major matrix, and its gradient. Configurations differ in the widths they
//! are fast for. Elements of 16 bits are computed in f32 and rounded once.
//!
//! Exponentials are powers of two of differences times log2(e), one instruction each. Their rounding changes a result
//! by some 1e-6 of itself.

use tilewright_macros::tile_module;

pub use gradients::*;
pub use rows::*;

/// The kernels for narrow, middle and wide rows.
#[tile_module]
pub mod rows {
    // A literal: kernels know no other constants.
    #[allow(clippy::approx_constant)]
    const LOG2_E: f32 = 1.442_695;

    // One row a program, the whole row in one tile: read once. The thread blocks of a cluster hold a row that the
    // registers of one multiprocessor do not. A wider row is gone through twice, with a running
    // maximum and sum, tile by tile; `softmax_rows_wide` is better at that.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(BLOCK = [1024], warps = [4], blocks_per_sm = [16]),
        tune(BLOCK = [128, 512], warps = [1]),
        tune(BLOCK = [1024], warps = [2]),
        tune(BLOCK = [2048], warps = [4]),
        tune(BLOCK = [4096], warps = [4, 8]),
        tune(BLOCK = [8192], warps = [8]),
        tune(BLOCK = [16384], warps = [8, 16]),
        tune(BLOCK = [32768], warps = [16]),
        tune(BLOCK = [65536], warps = [4, 8], ctas = [4], arch = [90]),
        tune(BLOCK = [131072], warps = [4, 8], ctas = [8], arch = [90]),
        grid = [rows],
    )]
    pub fn softmax_row<T: Float, const BLOCK: usize>(x: &[T], y: &mut [T], rows: usize, cols: usize) {
        let row = program_id(0) * cols;
        let c = arange(BLOCK);
        if cols <= BLOCK {
            let v = load(x, row + c).mask(c < cols).other(f32::NEG_INFINITY as T).to::<f32>();
            let e = exp2((v - max(max(v), f32::MIN)) * LOG2_E);
            store(y, row + c, (e * (1.0 / sum(e))).to::<T>()).mask(c < cols);
        } else {
            let mut m = f32::MIN;
            let mut s = 0.0;
            for start in (0..cols).step_by(BLOCK) {
                let v = load(x, row + start + c).mask(start + c < cols).other(f32::NEG_INFINITY as T).to::<f32>();
                let higher = max(m, max(v));
                s = s * exp2((m - higher) * LOG2_E) + sum(exp2((v - higher) * LOG2_E));
                m = higher;
            }
            for start in (0..cols).step_by(BLOCK) {
                let v = load(x, row + start + c).mask(start + c < cols).to::<f32>();
                let e = exp2((v - m) * LOG2_E);
                store(y, row + start + c, (e * (1.0 / s)).to::<T>()).mask(start + c < cols);
            }
        }
    }

    // Narrow rows: ROWS of them in one tile. Programs go on to the next group of rows where there are very many.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(ROWS = [8], BLOCK = [64], PER_SM = [64], warps = [4]),
        tune(ROWS = [16], BLOCK = [32], PER_SM = [64], warps = [4]),
        tune(ROWS = [32], BLOCK = [16], PER_SM = [64], warps = [4]),
        tune(ROWS = [64], BLOCK = [8], PER_SM = [64], warps = [4]),
        tune(ROWS = [128], BLOCK = [4], PER_SM = [64], warps = [4]),
        tune(ROWS = [4], BLOCK = [128], PER_SM = [64], warps = [4]),
        tune(ROWS = [2], BLOCK = [256], PER_SM = [64], warps = [4]),
        // For 16 bits, of which as many bytes are twice the elements.
        tune(ROWS = [32], BLOCK = [32], PER_SM = [64], warps = [4]),
        tune(ROWS = [16], BLOCK = [64], PER_SM = [64], warps = [4]),
        tune(ROWS = [8], BLOCK = [128], PER_SM = [64], warps = [4]),
        tune(ROWS = [4], BLOCK = [256, 512], PER_SM = [64], warps = [4]),
        requires = [cols <= BLOCK],
        grid = [min(cdiv(rows, ROWS), num_sms() * PER_SM)],
    )]
    pub fn softmax_rows_packed<T: Float, const ROWS: usize, const BLOCK: usize, const PER_SM: usize>(
        x: &[T],
        y: &mut [T],
        rows: usize,
        cols: usize,
    ) {
        let c = arange(BLOCK).expand(0);
        for first in range(program_id(0) * ROWS, rows, num_programs(0) * ROWS) {
            let r = (first + arange(ROWS)).expand(1);
            let inside = (r < rows) & (c < cols);
            let v = load(x, r * cols + c).mask(inside).other(f32::NEG_INFINITY as T).to::<f32>();
            let e = exp2((v - maximum(max(v, 1).expand(1), f32::MIN)) * LOG2_E);
            store(y, r * cols + c, (e * (1.0 / sum(e, 1).expand(1))).to::<T>()).mask(inside);
        }
    }

    // Rows of any width, best for those too wide for one tile: forwards with a running maximum and sum in every lane
    // (no exchange between threads until the row ends; see `softmax_1d_partial`), then backwards, where the L2 cache
    // still has the row's end.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(ROWS = [4], LANES = [1024], warps = [8]),
        tune(ROWS = [4], LANES = [2048], warps = [16]),
        tune(ROWS = [2], LANES = [4096], warps = [32]),
        grid = [rows],
    )]
    pub fn softmax_rows_wide<T: Float, const ROWS: usize, const LANES: usize>(
        x: &[T],
        y: &mut [T],
        rows: usize,
        cols: usize,
    ) {
        let row = program_id(0) * cols;
        let c = arange(ROWS).expand(1) * LANES + arange(LANES).expand(0);
        let mut m = full([1, LANES], f32::MIN);
        let mut s = zeros::<f32>([1, LANES]);
        for start in (0..cols).step_by(ROWS * LANES) {
            let v = load(x, row + start + c).mask(start + c < cols).other(f32::NEG_INFINITY as T).to::<f32>();
            let higher = maximum(m, max(v, 0).expand(0));
            s = s * exp2((m - higher) * LOG2_E) + sum(exp2((v - higher) * LOG2_E), 0).expand(0);
            m = higher;
        }
        let m_i = max(m);
        let scale = 1.0 / sum(s * exp2((m - m_i) * LOG2_E));
        let tiles = cdiv(cols, ROWS * LANES);
        for t in 0..tiles {
            let start = (tiles - 1 - t) * (ROWS * LANES);
            let inside = start + c < cols;
            let v = load(x, row + start + c).mask(inside).to::<f32>();
            store(y, row + start + c, (exp2((v - m_i) * LOG2_E) * scale).to::<T>()).mask(inside).evict_first();
        }
    }
}

/// The gradient of a softmax, by its result.
#[tile_module]
pub mod gradients {
    /// `dx = y * (dy - sum of dy * y)` of every row. A row that no tile holds is read twice.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(ROWS = [128], BLOCK = [4], warps = [4]),
        tune(ROWS = [64], BLOCK = [16], warps = [4]),
        tune(ROWS = [32], BLOCK = [32], warps = [4]),
        tune(ROWS = [16], BLOCK = [64], warps = [4]),
        tune(ROWS = [8], BLOCK = [128, 256], warps = [4]),
        tune(ROWS = [4], BLOCK = [512], warps = [4]),
        tune(BLOCK = [1024], warps = [1]),
        tune(BLOCK = [2048], warps = [2]),
        tune(BLOCK = [4096], warps = [4]),
        tune(BLOCK = [8192, 16384], warps = [8]),
        tune(BLOCK = [32768], warps = [8], ctas = [2], arch = [90]),
        tune(BLOCK = [65536], warps = [8], ctas = [4], arch = [90]),
        tune(BLOCK = [131072], warps = [8], ctas = [8], arch = [90]),
        tune(LONG = [true], BLOCK = [8192], warps = [8]),
        requires = [LONG || cols <= BLOCK],
        grid = [cdiv(rows, ROWS)],
        alias(dy, dx),
    )]
    pub fn softmax_gradient<T: Float, const BLOCK: usize, const ROWS: usize = 1, const LONG: bool = false>(
        y: &[T],
        dy: &[T],
        dx: &mut [T],
        rows: usize,
        cols: usize,
    ) {
        let r = (program_id(0) * ROWS + arange(ROWS)).expand(1);
        let c = arange(BLOCK).expand(0);
        if !LONG {
            let inside = (r < rows) & (c < cols);
            let v = load(y, r * cols + c).mask(inside).to::<f32>();
            let d = load(dy, r * cols + c).mask(inside).to::<f32>();
            let along = sum(v * d, 1).expand(1);
            store(dx, r * cols + c, (v * (d - along)).to::<T>()).mask(inside);
        } else {
            let mut sums = zeros::<f32>([ROWS, BLOCK]);
            for start in (0..cols).step_by(BLOCK) {
                let inside = (r < rows) & (start + c < cols);
                let v = load(y, r * cols + start + c).mask(inside).to::<f32>();
                sums = fma(v, load(dy, r * cols + start + c).mask(inside).to::<f32>(), sums);
            }
            let along = sum(sums, 1).expand(1);
            // Backwards: the cache still has the end of the row.
            for block in (0..cdiv(cols, BLOCK)).rev() {
                let start = block * BLOCK;
                let inside = (r < rows) & (start + c < cols);
                let v = load(y, r * cols + start + c).mask(inside).to::<f32>();
                let d = load(dy, r * cols + start + c).mask(inside).to::<f32>();
                store(dx, r * cols + start + c, (v * (d - along)).to::<T>()).mask(inside);
            }
        }
    }
}
