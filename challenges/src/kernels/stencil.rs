//! Functions of a window of neighbors: correlations, maxima, means.

use tilewright::{tile_library, tile_module};

pub use planes::*;
pub use sequences::*;

#[tile_library]
pub mod windows {
    /// The taps of a window, combined: `step(acc, depth, row, column)` takes one more, and `join` the results of two
    /// columns of taps, so that a long sum is one of short sums. Rows are unrolled, so that outputs in neighboring rows
    /// share their loads.
    fn over_window<const Q: usize>(
        none: Tile<f32>,
        (depth, rows, columns): (usize, usize, usize),
        step: impl Fn(Tile<f32>, usize, usize, usize) -> Tile<f32>,
        join: impl Fn(Tile<f32>, Tile<f32>) -> Tile<f32>,
    ) -> Tile<f32> {
        let mut all = none;
        let whole = rows / Q * Q;
        for d in 0..depth {
            for c in 0..columns {
                let mut column = none;
                for r in (0..whole).step_by(Q) {
                    for q in static_range(0..Q) {
                        column = step(column, d, r + q, c);
                    }
                }
                for r in whole..rows {
                    column = step(column, d, r, c);
                }
                all = join(all, column);
            }
        }
        all
    }
}

#[tile_module(use crate::kernels::stencil::windows)]
pub mod planes {
    /// Cross-correlation of `[depth, rows, columns]` with taps of another such shape. The result `y` has a shape, and
    /// begins at `pad` rows and columns before the input's. Elements outside count as 0.
    #[tile_kernel(
        tune(B = [8], A = [128], Q = [4], warps = [4]),
        tune(B = [8], A = [64], Q = [4], warps = [2]),
        grid = [y_depth * cdiv(y_rows, B) * cdiv(y_columns, A)],
    )]
    pub fn correlate<const B: usize, const A: usize, const Q: usize>(
        x: &[f32],
        taps: &[f32],
        y: &mut [f32],
        rows: usize,
        columns: usize,
        tap_depth: usize,
        tap_rows: usize,
        tap_columns: usize,
        y_depth: usize,
        y_rows: usize,
        y_columns: usize,
        pad_rows: usize,
        pad_columns: usize,
    ) {
        let (across, down) = (cdiv(y_columns, A), cdiv(y_rows, B));
        let (depth, row) = (program_id(0) / (across * down), program_id(0) / across % down * B);
        let column = program_id(0) % across * A;
        let (r, c) = ((row + arange(B)).expand(1), (column + arange(A)).expand(0));
        let tap = |acc: Tile<f32>, i, j, k| {
            // A place before the first one wraps to a large number, which is no place either.
            let (at_row, at_column) = (r + j - pad_rows, c + k - pad_columns);
            let inside = (at_row < rows) & (at_column < columns);
            let v = load(x, ((depth + i) * rows + at_row) * columns + at_column).mask(inside);
            fma(v, full([B, A], load(taps, (i * tap_rows + j) * tap_columns + k)), acc)
        };
        let window = (tap_depth, tap_rows, tap_columns);
        let sums = over_window::<Q>(zeros::<f32>([B, A]), window, tap, |a, b| a + b);
        store(y, (depth * y_rows + r) * y_columns + c, sums).mask((r < y_rows) & (c < y_columns));
    }

    /// The greatest of each window of a plane. Elements outside do not count.
    #[tile_kernel(
        tune(B = [8], A = [128], warps = [4]),
        tune(B = [4], A = [64], warps = [2]),
        grid = [planes * cdiv(y_rows, B) * cdiv(y_columns, A)],
    )]
    pub fn max_pool<const B: usize, const A: usize>(
        x: &[f32],
        y: &mut [f32],
        planes: usize,
        rows: usize,
        columns: usize,
        y_rows: usize,
        y_columns: usize,
        side: usize,
        stride: usize,
        pad: usize,
    ) {
        let (across, down) = (cdiv(y_columns, A), cdiv(y_rows, B));
        let (plane, row) = (program_id(0) / (across * down), program_id(0) / across % down * B);
        let column = program_id(0) % across * A;
        let (r, c) = ((row + arange(B)).expand(1), (column + arange(A)).expand(0));
        let none = full([B, A], f32::NEG_INFINITY);
        let higher = |a, b| maximum(a, b).propagate_nan();
        let tap = |acc: Tile<f32>, i, j, k| {
            let (at_row, at_column) = (r * stride + j - pad, c * stride + k - pad);
            let inside = (at_row < rows) & (at_column < columns);
            let v = load(x, (plane * rows + at_row) * columns + at_column).mask(inside).other(f32::NEG_INFINITY);
            higher(acc, v)
        };
        let highest = over_window::<1>(none, (1, side, side), tap, higher);
        store(y, (plane * y_rows + r) * y_columns + c, highest).mask((r < y_rows) & (c < y_columns));
    }

    /// The mean of the four neighbors; the border stays.
    #[tile_kernel(
        tune(B = [8], A = [256], warps = [4]),
        tune(B = [16], A = [128], warps = [4]),
        grid = [cdiv(rows, B) * cdiv(columns, A)],
    )]
    pub fn jacobi<const B: usize, const A: usize>(x: &[f32], y: &mut [f32], rows: usize, columns: usize) {
        let (row, column) = (program_id(0) / cdiv(columns, A) * B, program_id(0) % cdiv(columns, A) * A);
        let (r, c) = ((row + arange(B)).expand(1), (column + arange(A)).expand(0));
        let at = r * columns + c;
        let inner = (r > 0) & (r + 1 < rows) & (c > 0) & (c + 1 < columns);
        let (up, down) = (load(x, at - columns).mask(inner), load(x, at + columns).mask(inner));
        let (left, right) = (load(x, at - 1).mask(inner), load(x, at + 1).mask(inner));
        let inside = (r < rows) & (c < columns);
        let mean = 0.25 * ((up + down) + (left + right));
        store(y, at, where_(inner, mean, load(x, at).mask(inside))).mask(inside);
    }
}

#[tile_module(use crate::kernels::stencil::windows)]
pub mod sequences {
    /// Each channel has taps of its own; the first is for the current step. Steps before the first count as 0.
    #[tile_kernel(
        tune(B = [16], A = [128], warps = [4]),
        tune(B = [8], A = [256], warps = [4]),
        grid = [batch * cdiv(steps, B) * cdiv(channels, A)],
    )]
    pub fn causal_convolution<const B: usize, const A: usize>(
        x: &[f32],
        taps: &[f32],
        bias: &[f32],
        y: &mut [f32],
        batch: usize,
        steps: usize,
        channels: usize,
        count: usize,
    ) {
        let (across, down) = (cdiv(channels, A), cdiv(steps, B));
        let (sample, step) = (program_id(0) / (across * down), program_id(0) / across % down * B);
        let c = (program_id(0) % across * A + arange(A)).expand(0);
        let t = (step + arange(B)).expand(1);
        let tap = |acc: Tile<f32>, i, k, l| {
            let inside = (t >= k) & (t - k < steps) & (c < channels);
            let v = load(x, (sample * steps + t - k) * channels + c).mask(inside);
            fma(v, load(taps, c * count + k).mask(c < channels).broadcast([B, A]), acc)
        };
        let sums = over_window::<4>(zeros::<f32>([B, A]), (1, count, 1), tap, |a, b| a + b);
        store(y, (sample * steps + t) * channels + c, sums + load(bias, c)).mask((t < steps) & (c < channels));
    }
}
