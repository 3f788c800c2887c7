//! Merges of sorted arrays.

use tilewright::tile_module;

pub use merging::*;

#[tile_module]
pub mod merging {
    /// Results between two splits that are searched for in the arrays.
    const PART: usize = 1024;

    /// How many of the first `d` results are of `a`, which has `m` elements. `b` has `n`. `is_first(i, j)` says whether
    /// `a[i]` comes before `b[j]`.
    fn split_of<T>(d: Tile<T>, m: T, n: T, is_first: impl Fn(Tile<T>, Tile<T>) -> Tile<bool>) -> Tile<T> {
        let mut low = where_(d > n, d - n, 0);
        let mut high = minimum(d, m);
        for _ in range(0, T::BITS as i32 - clz(min(m, n)), 1) {
            let middle = low + (high - low) / 2;
            let is_below = low < high;
            let goes_on = is_first(middle, d - 1 - middle);
            high = where_(is_below & !goes_on, middle, high);
            low = where_(is_below & goes_on, middle + 1, low);
        }
        low
    }

    /// Of equals the one of `a` comes first, and NaN comes behind all.
    fn is_before(a: Tile<f32>, b: Tile<f32>) -> Tile<bool> {
        (a <= b) | isnan(b)
    }

    #[tile_kernel(tune(BLOCK = [256, 64], warps = [2]), grid = [cdiv(splits.len(), BLOCK)])]
    pub fn split_parts<const BLOCK: usize>(a: &[f32], b: &[f32], splits: &mut [u64]) {
        let part = program_id(0) * BLOCK + arange(BLOCK);
        let d = minimum(part * PART, a.len() + b.len());
        store(splits, part, split_of(d, a.len(), b.len(), |i, j| is_before(load(a, i), load(b, j))).to::<u64>());
    }

    #[tile_kernel(
        tune(BLOCK = [4096], warps = [8]),
        tune(BLOCK = [2048, 1024], warps = [4]),
        grid = [cdiv(y.len(), BLOCK)],
    )]
    pub fn merge<const BLOCK: usize>(a: &[f32], b: &[f32], splits: &[u64], y: &mut [f32]) {
        let start = program_id(0) * BLOCK;
        let end = min(start + BLOCK, y.len());
        let (i, next) = (load(splits, start / PART) as usize, load(splits, cdiv(end, PART)) as usize);
        // The parts of both arrays, one behind the other.
        let (m, all) = ((next - i) as u32, (end - start) as u32);
        let mut parts = shared_array::<f32>(BLOCK);
        let e = arange(BLOCK);
        let d = e.to::<u32>();
        let of_a = load(a, i + e).mask(d < m);
        let of_b = load(b, start - i + e - m as usize).mask((d >= m) & (d < all));
        store(parts, d, where_(d < m, of_a, of_b));
        let first = split_of(d, m, all - m, |i, j| is_before(load(parts, i), load(parts, m + j)));
        let second = m + (d - first);
        let is_of_a = (first < m) & ((second >= all) | is_before(load(parts, first), load(parts, second)));
        store(y, start + e, load(parts, where_(is_of_a, first, second))).mask(d < all);
    }
}
