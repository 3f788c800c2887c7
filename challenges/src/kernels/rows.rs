//! Products and choices of rows.

use tilewright::tile_module;

pub use gating::*;
pub use products::*;

#[tile_module]
pub mod products {
    /// Products with a vector: `y[r]` is the sum of `a[r, c] * x[c]`.
    #[tile_kernel(
        tune(ROWS = [1], BLOCK = [1024], warps = [4]),
        tune(ROWS = [1], BLOCK = [4096], warps = [8]),
        tune(ROWS = [4], BLOCK = [256], warps = [4]),
        grid = [cdiv(y.len(), ROWS)],
    )]
    pub fn row_products<const ROWS: usize, const BLOCK: usize>(a: &[f32], x: &[f32], y: &mut [f32]) {
        let (r, columns) = (program_id(0) * ROWS + arange(ROWS), x.len());
        let mut sums = zeros::<f32>([ROWS, BLOCK]);
        for start in (0..columns).step_by(BLOCK) {
            let c = (start + arange(BLOCK)).expand(0);
            let inside = (r.expand(1) < y.len()) & (c < columns);
            sums += load(a, r.expand(1) * columns + c).mask(inside) * load(x, c);
        }
        store(y, r, sum(sums, 1));
    }
}

#[tile_module]
pub mod gating {
    /// Integers in the order of the numbers. -0 is 0, and NaN comes after all.
    fn ordered(x: Tile<f32>) -> Tile<i32> {
        let bits = bitcast::<i32>(x + 0.0);
        where_(isnan(x), i32::MAX, bits ^ ((bits >> 31) & i32::MAX))
    }

    /// The `k` greatest of each row, in descending order, and their softmax. Of equals the first comes first: the next
    /// one is always the greatest that is less, or equal and further on, so that a row may have any length.
    #[tile_kernel(
        tune(ROWS = [4], BLOCK = [64], warps = [4]),
        tune(ROWS = [1], BLOCK = [1024], warps = [4]),
        grid = [cdiv(rows, ROWS)],
    )]
    pub fn top_softmax<const ROWS: usize, const BLOCK: usize>(
        logits: &[f32],
        weights: &mut [f32],
        indices: &mut [i32],
        rows: usize,
        columns: usize,
        k: usize,
    ) {
        let (r, c) = ((program_id(0) * ROWS + arange(ROWS)).expand(1), arange(BLOCK).expand(0));
        let mut last = full([ROWS, 1], i32::MAX);
        let mut place = full([ROWS, 1], -1);
        let (mut first, mut total) = (zeros::<f32>([ROWS, 1]), zeros::<f32>([ROWS, 1]));
        for j in 0..k {
            let mut best = full([ROWS, 1], i32::MIN);
            let mut at = zeros::<i32>([ROWS, 1]);
            for start in (0..columns).step_by(BLOCK) {
                let column = (start + c).to::<i32>();
                let inside = (r < rows) & (start + c < columns);
                let key = ordered(load(logits, r * columns + start + c).mask(inside));
                let is_left = (key < last) | ((key == last) & (column > place));
                let key = where_(inside & is_left, key, i32::MIN);
                let highest = max(key, 1).expand(1);
                let found = min(where_(key == highest, column, i32::MAX), 1).expand(1);
                at = where_(highest > best, found, at);
                best = maximum(best, highest);
            }
            let value = load(logits, r * columns + at.to::<usize>()).mask(r < rows);
            first = where_(full([ROWS, 1], j) == 0, value, first);
            let e = exp(value - first);
            total += e;
            store(weights, r * k + j, e).mask(r < rows);
            store(indices, r * k + j, at).mask(r < rows);
            (last, place) = (best, at);
        }
        for j in 0..k {
            store(weights, r * k + j, load(weights, r * k + j).mask(r < rows) / total).mask(r < rows);
        }
    }
}
