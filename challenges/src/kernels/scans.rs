//! Scans: each element is combined with all before it. One scan over an array is one launch, whose programs look back;
//! rows are scanned block by block, by programs of their own.

use tilewright::{tile_library, tile_module};

pub use arrays::*;
pub use rows::*;

#[tile_library]
pub mod running {
    /// The last element of a tile.
    fn last_of<T, const BLOCK: usize>(t: Tile<T>, zero: T) -> T {
        sum(where_(arange(BLOCK) == BLOCK - 1, t, zero))
    }

    /// `x * y`, where 0 times infinity is 0: products of many factors overflow where the recurrence itself stays
    /// finite.
    fn product(x: Tile<f32>, y: Tile<f32>) -> Tile<f32> {
        let is_zero = ((x == 0.0) & (y == y)) | ((y == 0.0) & (x == x));
        where_(is_zero, 0.0, x * y)
    }

    /// The map `s -> a * s + b`, and then `s -> c * s + d`.
    fn compose(a: Tile<f32>, b: Tile<f32>, c: Tile<f32>, d: Tile<f32>) -> (Tile<f32>, Tile<f32>) {
        (product(a, c), product(b, c) + d)
    }

    /// Calls `put(i, s)` with `s[i] = factor * s[i - 1] + shift`, of the pairs `term(i)`, for `i` from 0 to before `n`.
    /// With REVERSED, `s[i + 1]` takes the place of `s[i - 1]`. The value before all is 0.
    fn recurrence<const REVERSED: bool, const BLOCK: usize>(
        n: usize,
        term: impl Fn(Tile<usize>) -> (Tile<f32>, Tile<f32>),
        put: impl Fn(Tile<usize>, Tile<f32>),
    ) {
        let blocks = cdiv(n, BLOCK);
        let mut carry = 0.0f32;
        for step in 0..blocks {
            let i = (if REVERSED { blocks - 1 - step } else { step }) * BLOCK + arange(BLOCK);
            let (factor, shift) = term(i);
            let maps = (where_(i < n, factor, 1.0), where_(i < n, shift, 0.0));
            let (factor, shift) = if REVERSED {
                scan(maps, 0, |(a, b), (c, d)| compose(a, b, c, d)).reverse()
            } else {
                scan(maps, 0, |(a, b), (c, d)| compose(a, b, c, d))
            };
            let s = product(factor, full([BLOCK], carry)) + shift;
            put(i, s);
            carry = sum(where_(arange(BLOCK) == (if REVERSED { 0 } else { BLOCK - 1 }), s, 0.0));
        }
    }
}

#[tile_module(use tilewright::grid, use crate::kernels::scans::running)]
pub mod arrays {
    /// The sums of `x` up to each element. Those of integers wrap.
    #[tile_kernel(
        types(T = [f32, i32]),
        tune(BLOCK = [16384, 8192], warps = [16]),
        tune(BLOCK = [8192, 4096], warps = [8]),
        requires = [words.len() >= cdiv(x.len(), BLOCK)],
        grid = [cdiv(x.len(), BLOCK)],
    )]
    pub fn prefix_sums<T: Num, const BLOCK: usize>(x: &[T], y: &mut [T], words: &mut [u64], counter: &mut [u32]) {
        let order = begin_order(counter);
        let i = order * BLOCK + arange(BLOCK);
        let sums = cumsum(load(x, i), 0);
        let zero = 0 as T;
        look_back(
            words,
            order,
            last_of::<T, BLOCK>(sums, zero),
            zero,
            |a, b| a + b,
            |before| {
                store(y, i, before + sums).evict_first();
            },
        );
    }

    /// A sum that begins anew where its flag is set, and then one more.
    fn joined<F, V>((f, a): (F, V), (g, b): (F, V)) -> (F, V) {
        (f | g, where_(g != 0, b, a + b))
    }

    /// The sums of the elements before each one, from the last flag on. An element whose flag is set has none before
    /// it.
    #[tile_kernel(
        tune(BLOCK = [4096], warps = [8, 16]),
        requires = [words.len() >= 2 * cdiv(x.len(), BLOCK)],
        grid = [cdiv(x.len(), BLOCK)],
    )]
    pub fn segmented_sums<const BLOCK: usize>(
        x: &[f32],
        flags: &[i32],
        y: &mut [f32],
        words: &mut [u64],
        counter: &mut [u32],
    ) {
        let order = begin_order(counter);
        let i = order * BLOCK + arange(BLOCK);
        let (v, flag) = (load(x, i), where_(load(flags, i) != 0, 1, 0));
        let (has_begun, sums) = scan((flag, v), 0, |p, q| joined(p, q)).exclusive((0, 0.0));
        let (begins, through) = joined((has_begun, sums), (flag, v));
        let total = (max(begins), last_of::<f32, BLOCK>(through, 0.0));
        look_back_pair(
            words,
            order,
            total,
            (0, 0.0),
            |p, q| joined(p, q),
            |(_, before)| {
                let of_segment = where_(has_begun != 0, sums, before + sums);
                store(y, i, where_(flag != 0, 0.0, of_segment)).evict_first();
            },
        );
    }

    /// The elements above 0, in order. Each other element makes a zero behind them: the first one the last zero.
    #[tile_kernel(
        tune(BLOCK = [8192], warps = [16]),
        tune(BLOCK = [8192, 4096], warps = [8]),
        requires = [words.len() >= 2 * cdiv(x.len(), BLOCK)],
        grid = [cdiv(x.len(), BLOCK)],
    )]
    pub fn compact<const BLOCK: usize>(x: &[f32], y: &mut [f32], words: &mut [u64], counter: &mut [u32]) {
        let order = begin_order(counter);
        let i = order * BLOCK + arange(BLOCK);
        let v = load(x, i);
        let one = (v > 0.0).to::<u32>();
        let counts = cumsum(one, 0);
        let total = last_of::<u32, BLOCK>(counts, 0) as usize;
        look_back(
            words,
            order,
            total,
            0usize,
            |a, b| a + b,
            |before| {
                let place = before + (counts - one).to::<usize>();
                let at = where_(v > 0.0, place, x.len() - 1 - (i - place));
                store(y, at, where_(v > 0.0, v, 0.0)).mask(i < x.len());
            },
        );
    }

    /// The greatest sum of `window` elements in a row, of `sums` up to each element.
    #[tile_kernel(
        tune(BLOCK = [4096], PER_SM = [4], warps = [8]),
        grid = [max(1, min(min(cdiv(sums.len(), BLOCK), num_sms() * PER_SM), words.len()))],
    )]
    pub fn greatest_window<const BLOCK: usize, const PER_SM: usize>(
        sums: &[i32],
        window: usize,
        words: &mut [u64],
        counter: &mut [u32],
        y: &mut [i32],
    ) {
        let order = begin_order(counter);
        let windows = sums.len() - window + 1;
        let mut best = full([BLOCK], i32::MIN);
        for start in range(program_id(0) * BLOCK, windows, num_programs(0) * BLOCK) {
            // The sum before the first element is past the end: 0.
            let i = start + arange(BLOCK);
            let of_window = load(sums, i + window - 1) - load(sums, i - 1);
            best = maximum(best, where_(i < windows, of_window, i32::MIN));
        }
        reduce_programs(words, order, max(best), i32::MIN, |a, b| maximum(a, b), |all| store(y, 0, all));
    }
}

#[tile_module(use crate::kernels::scans::running)]
pub mod rows {
    /// `h[t] = a[t] * h[t - 1] + x[t]`, of each row.
    #[tile_kernel(
        tune(BLOCK = [4096], warps = [8]),
        tune(BLOCK = [8192], warps = [16]),
        tune(BLOCK = [1024], warps = [4]),
        grid = [rows],
    )]
    pub fn recurrences<const BLOCK: usize>(a: &[f32], x: &[f32], h: &mut [f32], rows: usize, columns: usize) {
        let first = program_id(0) * columns;
        recurrence::<false, BLOCK>(
            columns,
            |t| (load(a, first + t).mask(t < columns), load(x, first + t).mask(t < columns)),
            |t, s| {
                store(h, first + t, s).mask(t < columns);
            },
        );
    }

    /// `A[t] = r[t] + gamma * V[t + 1] - V[t] + decay * A[t + 1]`, of each row, behind which all is 0.
    #[tile_kernel(
        tune(BLOCK = [4096], warps = [8]),
        tune(BLOCK = [8192], warps = [16]),
        tune(BLOCK = [1024], warps = [4]),
        grid = [rows],
    )]
    pub fn advantages<const BLOCK: usize>(
        rewards: &[f32],
        values: &[f32],
        y: &mut [f32],
        rows: usize,
        columns: usize,
        gamma: f32,
        decay: f32,
    ) {
        let first = program_id(0) * columns;
        recurrence::<true, BLOCK>(
            columns,
            |t| {
                let next = load(values, first + t + 1).mask(t + 1 < columns);
                let value = load(values, first + t).mask(t < columns);
                (full([BLOCK], decay), load(rewards, first + t).mask(t < columns) + gamma * next - value)
            },
            |t, s| {
                store(y, first + t, s).mask(t < columns);
            },
        );
    }

    /// `h[t, d, n] = exp(delta[t, d] * a[d, n]) * h[t - 1, d, n] + delta[t, d] * b[t, n] * u[t, d]`, and `y[t, d]` is
    /// the sum of `c[t, n] * h[t, d, n]` over `n`, and `skip[d] * u[t, d]`. States that do not fit the tile come in
    /// blocks.
    #[tile_kernel(
        tune(STEPS = [64, 32], CHANNELS = [2], STATES = [16], warps = [8]),
        tune(STEPS = [32], CHANNELS = [4], STATES = [16], warps = [8]),
        grid = [cdiv(channels, CHANNELS) * batch],
    )]
    pub fn selective_scan<const STEPS: usize, const CHANNELS: usize, const STATES: usize>(
        u: &[f32],
        delta: &[f32],
        a: &[f32],
        b: &[f32],
        c: &[f32],
        skip: &[f32],
        y: &mut [f32],
        batch: usize,
        steps: usize,
        channels: usize,
        states: usize,
    ) {
        let across = cdiv(channels, CHANNELS);
        let d = program_id(0) % across * CHANNELS + arange(CHANNELS);
        for first in (0..max(states, 1)).step_by(STATES) {
            let n = first + arange(STATES);
            let known = (d < channels).expand(1) & (n < states).expand(0);
            let rate = load(a, d.expand(1) * states + n.expand(0)).mask(known);
            let mut carry = zeros::<f32>([CHANNELS, STATES]);
            for start in (0..steps).step_by(STEPS) {
                let t = start + arange(STEPS);
                let row = (program_id(0) / across * steps + t).expand(1);
                let (at, inside) = (row * channels + d.expand(0), (t < steps).expand(1) & (d < channels).expand(0));
                let (of_state, has_state) =
                    (row * states + n.expand(0), (t < steps).expand(1) & (n < states).expand(0));
                let (v, dt) = (load(u, at).mask(inside), load(delta, at).mask(inside));
                let input = (dt * v).expand(2) * load(b, of_state).mask(has_state).expand(1);
                // States beyond the last one stay 0 where `u` or `delta` is infinite or NaN.
                let input = where_(has_state.expand(1), input, 0.0);
                let maps = (where_(has_state.expand(1), exp(dt.expand(2) * rate.expand(0)), 1.0), input);
                let (factor, shift) = scan(maps, 0, |(a, b), (c, d)| compose(a, b, c, d));
                let h = product(factor, carry.expand(0)) + shift;
                let read = sum(h * load(c, of_state).mask(has_state).expand(1), 2);
                let rest = if first == 0 { load(skip, d).expand(0) * v } else { load(y, at).mask(inside) };
                store(y, at, read + rest).mask(inside);
                carry = sum(where_((arange(STEPS) == STEPS - 1).expand(1).expand(2), h, 0.0), 0);
            }
        }
    }
}
