//! Norms of rows, and their gradients. Elements of 16 bits are computed in f32 and rounded once.

use tilewright_macros::{tile_library, tile_module};

pub use gradients::*;
pub use rows::*;
pub use wide_gradients::*;

/// Means and sums of squares by Welford's method, and the norm of a row of any elements.
#[tile_library]
pub mod moments {
    /// Of the values that a lane has seen: their mean, the sum of squared differences from it, and their number.
    struct Moments {
        mean: Tile<f32>,
        squares: Tile<f32>,
        count: Tile<f32>,
    }

    /// A sum divided by the number of its summands, of which `share` is the reciprocal. Equal summands are their mean.
    fn mean(sum: Tile<f32>, number: f32, share: f32) -> Tile<f32> {
        let near = sum * share;
        fma(fma(-near, number, sum), share, near)
    }

    fn none<const R: usize, const C: usize>() -> Moments {
        Moments { mean: zeros::<f32>([R, C]), squares: zeros::<f32>([R, C]), count: zeros::<f32>([R, C]) }
    }

    /// With one more value where `inside`, by Welford's method. `inverse` is 1 over the number of calls so far and
    /// this.
    fn with(m: Moments, v: Tile<f32>, inside: Tile<bool>, inverse: f32) -> Moments {
        let difference = where_(inside, v - m.mean, 0.0);
        let mean = m.mean + difference * inverse;
        let squares = m.squares + difference * where_(inside, v - mean, 0.0);
        Moments { mean, squares, count: m.count + where_(inside, 1.0, 0.0) }
    }

    /// The moments of all lanes along an axis.
    fn along<const AXIS: usize>(m: Moments) -> Moments {
        let count = sum(m.count, AXIS).expand(AXIS);
        let mean = sum(m.mean * m.count, AXIS).expand(AXIS) / maximum(count, 1.0);
        let difference = m.mean - mean;
        Moments { mean, squares: sum(m.squares + m.count * difference * difference, AXIS).expand(AXIS), count }
    }

    /// Rows less their means (where CENTERED), times `scale(mean square)` of the difference. `v` is zero where not
    /// `inside`.
    fn normal<const CENTERED: bool>(
        v: Tile<f32>,
        inside: Tile<bool>,
        columns: usize,
        scale: impl Fn(Tile<f32>) -> Tile<f32>,
    ) -> Tile<f32> {
        let (number, share) = (columns as f32, 1.0 / columns as f32);
        let mut d = v;
        if CENTERED {
            d = where_(inside, v - mean(sum(v, 1).expand(1), number, share), 0.0);
        }
        d * scale(sum(d * d, 1).expand(1) * share)
    }

    /// Normalizes rows of at most BLOCK elements, ROWS at a time. `put(rows, columns, inside, v)` takes each value,
    /// less the mean of its row (where CENTERED), times `scale(mean square)` of the difference.
    /// `value(rows, columns, inside)`, zero where not `inside`, is asked once for each element.
    ///
    /// A program that is PERSISTENT goes on to further rows. It prefetches the next rows before it computes the current
    /// ones.
    fn normalize_short<T, const CENTERED: bool, const PERSISTENT: bool, const ROWS: usize, const BLOCK: usize>(
        rows: usize,
        columns: usize,
        scale: impl Fn(Tile<f32>) -> Tile<f32>,
        value: impl Fn(Tile<usize>, Tile<usize>, Tile<bool>) -> Tile<T>,
        put: impl Fn(Tile<usize>, Tile<usize>, Tile<bool>, Tile<f32>),
    ) {
        let c = arange(BLOCK).expand(0);
        let first = program_id(0) * ROWS;
        let r = (first + arange(ROWS)).expand(1);
        let inside = (r < rows) & (c < columns);
        if PERSISTENT {
            let step = num_programs(0) * ROWS;
            let mut ahead = value(r, c, inside);
            for at in range(first, rows, step) {
                let r = (at + arange(ROWS)).expand(1);
                let inside = (r < rows) & (c < columns);
                let v = ahead.to::<f32>();
                ahead = value(r + step, c, (r + step < rows) & (c < columns));
                put(r, c, inside, normal::<CENTERED>(v, inside, columns, scale));
            }
        } else {
            put(r, c, inside, normal::<CENTERED>(value(r, c, inside).to::<f32>(), inside, columns, scale));
        }
    }

    /// The same of rows of any length: `put(rows, start, columns, inside, v)`. Each lane keeps its moments. Then the
    /// row is read once more by `again`, from its end, which the cache still has.
    fn normalize_long<T, const CENTERED: bool, const ROWS: usize, const BLOCK: usize>(
        rows: usize,
        columns: usize,
        scale: impl Fn(Tile<f32>) -> Tile<f32>,
        value: impl Fn(Tile<usize>, Tile<usize>, Tile<bool>) -> Tile<T>,
        again: impl Fn(Tile<usize>, Tile<usize>, Tile<bool>) -> Tile<T>,
        put: impl Fn(Tile<usize>, usize, Tile<usize>, Tile<bool>, Tile<f32>),
    ) {
        // Moments take three times the registers of a tile.
        const STEP: usize = if BLOCK > 4096 { BLOCK / 4 } else { BLOCK };
        let c = arange(STEP).expand(0);
        for at in range(program_id(0) * ROWS, rows, num_programs(0) * ROWS) {
            let r = (at + arange(ROWS)).expand(1);
            let mut m = none::<ROWS, STEP>();
            let mut blocks = 0.0;
            for start in (0..columns).step_by(STEP) {
                let inside = (r < rows) & (start + c < columns);
                let v = value(r, start + c, inside).to::<f32>();
                blocks += 1.0;
                if CENTERED {
                    m = with(m, v, inside, 1.0 / blocks);
                } else {
                    m.squares += where_(inside, v * v, 0.0);
                }
            }
            let all = along::<1>(m);
            let factor = scale(all.squares / columns as f32);
            for block in (0..cdiv(columns, STEP)).rev() {
                let start = block * STEP;
                let inside = (r < rows) & (start + c < columns);
                put(r, start, start + c, inside, (again(r, start + c, inside).to::<f32>() - all.mean) * factor);
            }
        }
    }

    /// The same of rows of any length, which are read at once where they fit the tile. A program has ROWS rows.
    fn normalize<T, const CENTERED: bool, const ROWS: usize, const BLOCK: usize>(
        rows: usize,
        columns: usize,
        scale: impl Fn(Tile<f32>) -> Tile<f32>,
        value: impl Fn(Tile<usize>, Tile<usize>, Tile<bool>) -> Tile<T>,
        put: impl Fn(Tile<usize>, usize, Tile<usize>, Tile<bool>, Tile<f32>),
    ) {
        if columns <= BLOCK {
            normalize_short::<T, CENTERED, false, ROWS, BLOCK>(rows, columns, scale, value, |r, c, inside, v| {
                put(r, 0, c, inside, v);
            });
        } else {
            normalize_long::<T, CENTERED, ROWS, BLOCK>(rows, columns, scale, value, value, put);
        }
    }
}

/// Norms of the rows of a row-major matrix.
#[tile_module(use crate::norms::moments)]
pub mod rows {
    /// An array of `bias` without elements is one of zeros.
    #[tile_kernel(
        /// Each row less its mean, over its standard deviation.
        kernel(layer_norm, CENTERED = true),
        /// Each row over the root of its mean square.
        kernel(rms_norm, CENTERED = false),
        types(T = [f32, f16, bf16]),
        tune(ROWS = [128], BLOCK = [4], warps = [4]),
        tune(ROWS = [64], BLOCK = [16], warps = [4]),
        tune(ROWS = [32], BLOCK = [64], warps = [4]),
        tune(ROWS = [16], BLOCK = [128], warps = [4]),
        tune(ROWS = [8], BLOCK = [256], warps = [4]),
        tune(ROWS = [4], BLOCK = [512], warps = [4]),
        tune(BLOCK = [768, 1024], warps = [1]),
        tune(BLOCK = [1536, 2048, 3072, 4096], warps = [2]),
        tune(BLOCK = [5120, 6144, 8192, 12288], warps = [4]),
        tune(BLOCK = [16384], warps = [8]),
        // Before the widest tile: the first one that takes a row is the choice without tuning.
        tune(LONG = [true], BLOCK = [4096], PER_SM = [0, 4], warps = [8]),
        tune(BLOCK = [32768], warps = [16]),
        tune(BLOCK = [1024], PER_SM = [64], arch = [cpu]),
        tune(LONG = [true], BLOCK = [1024], PER_SM = [64], arch = [cpu]),
        requires = [LONG || columns <= BLOCK],
        grid = [if PER_SM > 0 { min(cdiv(rows, ROWS), num_sms() * PER_SM) } else { cdiv(rows, ROWS) }],
    )]
    pub fn normalized<
        T: Float,
        const CENTERED: bool,
        const BLOCK: usize,
        const ROWS: usize = 1,
        const PER_SM: usize = 0,
        const LONG: bool = false,
    >(
        x: &[T],
        weight: &[T],
        bias: &[T],
        y: &mut [T],
        rows: usize,
        columns: usize,
        eps: f32,
    ) {
        let value = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| load(x, r * columns + c).mask(inside);
        let scale = |s: Tile<f32>| rsqrt(s + eps);
        if !LONG {
            let c = arange(BLOCK).expand(0);
            let bias_of = |c: Tile<usize>| {
                let mut b = zeros::<T>([1, BLOCK]);
                if bias.len() > 0 {
                    b = load(bias, c).mask(c < columns);
                }
                b
            };
            let (early_w, early_b) = (load(weight, c).mask(c < columns), bias_of(c));
            normalize_short::<T, CENTERED, { PER_SM > 0 }, ROWS, BLOCK>(
                rows,
                columns,
                scale,
                value,
                |r, c, inside, v| {
                    // The weights of wide rows have no registers until here.
                    let (mut w, mut b) = (early_w, early_b);
                    if BLOCK > 4096 {
                        w = load(weight, c).mask(c < columns);
                        b = bias_of(c);
                    }
                    let scaled = if CENTERED { fma(v, w.to::<f32>(), b.to::<f32>()) } else { v * w.to::<f32>() };
                    store(y, r * columns + c, scaled.to::<T>()).mask(inside);
                },
            );
        } else {
            normalize_long::<T, CENTERED, ROWS, BLOCK>(rows, columns, scale, value, value, |r, start, c, inside, v| {
                let mut scaled = v * load(weight, c).mask(c < columns).to::<f32>();
                if bias.len() > 0 {
                    scaled = scaled + load(bias, c).mask(c < columns).to::<f32>();
                }
                store(y, r * columns + c, scaled.to::<T>()).mask(inside);
            });
        }
    }

    /// `sum` gets `x + residual`, rounded, unless it has no elements; `y` gets the norm of that.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(ROWS = [128], BLOCK = [4], warps = [4]),
        tune(ROWS = [64], BLOCK = [16], warps = [4]),
        tune(ROWS = [32], BLOCK = [64], warps = [4]),
        tune(ROWS = [16], BLOCK = [128], warps = [4]),
        tune(ROWS = [8], BLOCK = [256], warps = [4]),
        tune(ROWS = [4], BLOCK = [512], warps = [4]),
        tune(BLOCK = [768, 1024], warps = [1]),
        tune(BLOCK = [1536, 2048, 3072, 4096], warps = [2]),
        tune(BLOCK = [5120, 6144, 8192, 12288], warps = [4]),
        tune(BLOCK = [16384], warps = [8]),
        tune(LONG = [true], BLOCK = [4096], warps = [8]),
        tune(BLOCK = [32768], warps = [16]),
        tune(LONG = [false, true], BLOCK = [1024], arch = [cpu]),
        requires = [LONG || columns <= BLOCK],
        grid = [cdiv(rows, ROWS)],
        alias(residual, sum),
    )]
    pub fn add_rms_norm<T: Float, const BLOCK: usize, const ROWS: usize = 1, const LONG: bool = false>(
        x: &[T],
        residual: &[T],
        weight: &[T],
        sum: &mut [T],
        y: &mut [T],
        rows: usize,
        columns: usize,
        eps: f32,
    ) {
        let added = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| {
            let v = load(x, r * columns + c).mask(inside).to::<f32>();
            (v + load(residual, r * columns + c).mask(inside).to::<f32>()).to::<T>()
        };
        let value = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| {
            let v = added(r, c, inside);
            if sum.len() > 0 {
                store(sum, r * columns + c, v).mask(inside);
            }
            v
        };
        let scale = |s: Tile<f32>| rsqrt(s + eps);
        if !LONG {
            let c = arange(BLOCK).expand(0);
            let early = load(weight, c).mask(c < columns);
            normalize_short::<T, false, false, ROWS, BLOCK>(rows, columns, scale, value, |r, c, inside, v| {
                // The weights of wide rows have no registers until here.
                let w = if BLOCK > 4096 { load(weight, c).mask(c < columns) } else { early };
                store(y, r * columns + c, (v * w.to::<f32>()).to::<T>()).mask(inside);
            });
        } else {
            let again = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| {
                let mut v = zeros::<T>([ROWS, c.dim(1)]);
                if sum.len() > 0 {
                    v = load(sum, r * columns + c).mask(inside);
                } else {
                    v = added(r, c, inside);
                }
                v
            };
            normalize_long::<T, false, ROWS, BLOCK>(rows, columns, scale, value, again, |r, start, c, inside, v| {
                let w = load(weight, c).mask(c < columns).to::<f32>();
                store(y, r * columns + c, (v * w).to::<T>()).mask(inside);
            });
        }
    }
}

/// The gradients of norms, in two launches: those of rows, with sums over the rows of a program, and the sums of these.
#[tile_module]
pub mod gradients {
    /// The gradient `dx`, and in `sums` of each program the sums over its rows of `dy` times the normalized row and,
    /// where CENTERED, behind those of all programs, of `dy`: `[programs, columns]` each.
    #[tile_kernel(
        /// Of `layer_norm`.
        kernel(layer_norm_gradient, CENTERED = true),
        /// Of `rms_norm`.
        kernel(rms_norm_gradient, CENTERED = false),
        types(T = [f32, f16, bf16]),
        tune(ROWS = [64], BLOCK = [8], warps = [4]),
        tune(ROWS = [16], BLOCK = [64], warps = [4]),
        tune(ROWS = [8], BLOCK = [128], warps = [4]),
        tune(ROWS = [4], BLOCK = [256], warps = [4]),
        tune(BLOCK = [512], warps = [2]),
        tune(BLOCK = [1024], warps = [2, 4]),
        tune(BLOCK = [2048, 3072, 4096], warps = [4]),
        tune(BLOCK = [6144, 8192], warps = [8]),
        tune(BLOCK = [1024, 8192], arch = [cpu]),
        requires = [columns <= BLOCK],
        grid = [programs],
        emulate = all,
    )]
    pub fn of_rows<T: Float, const CENTERED: bool, const BLOCK: usize, const ROWS: usize = 1>(
        x: &[T],
        weight: &[T],
        dy: &[T],
        dx: &mut [T],
        sums: &mut [f32],
        rows: usize,
        columns: usize,
        programs: usize,
        eps: f32,
    ) {
        let (number, share) = (columns as f32, 1.0 / columns as f32);
        let c = arange(BLOCK);
        let (of_weight, of_bias) = (program_id(0) * columns, (programs + program_id(0)) * columns);
        // ROWS rows at a time.
        let (first, step, column) = (program_id(0) * ROWS, programs * ROWS, c.expand(0));
        let mut w = load(weight, column).mask(column < columns);
        let (mut dw, mut db) = (zeros::<f32>([ROWS, BLOCK]), zeros::<f32>([ROWS, BLOCK]));
        // The next rows of the program are loaded before it computes with those before.
        let r = (first + arange(ROWS)).expand(1);
        let exists = (r < rows) & (column < columns);
        let mut x_ahead = load(x, r * columns + column).mask(exists);
        let mut dy_ahead = load(dy, r * columns + column).mask(exists);
        for at in range(first, rows, step) {
            let r = (at + arange(ROWS)).expand(1);
            let inside = (r < rows) & (column < columns);
            let (v, g) = (x_ahead.to::<f32>(), dy_ahead.to::<f32>());
            // The weights of wide rows have no registers beside the sums.
            if BLOCK > 2048 {
                w = load(weight, column).mask(column < columns);
            }
            let (next, exists) = ((r + step) * columns + column, (r + step < rows) & (column < columns));
            x_ahead = load(x, next).mask(exists);
            dy_ahead = load(dy, next).mask(exists);
            let mut d = v;
            if CENTERED {
                d = where_(inside, v - sum(v, 1).expand(1) / number, 0.0);
            }
            // Rows that are not there add 0, with an `eps` of 0, too.
            let scale = where_(r < rows, rsqrt(sum(d * d, 1).expand(1) * share + eps), 0.0);
            let (normal, scaled) = (d * scale, g * w.to::<f32>());
            let mut gradient = scaled - normal * (sum(normal * scaled, 1).expand(1) * share);
            if CENTERED {
                gradient = gradient - sum(scaled, 1).expand(1) * share;
            }
            store(dx, r * columns + column, (gradient * scale).to::<T>()).mask(inside);
            dw += g * normal;
            if CENTERED {
                db += g;
            }
        }
        store(sums, of_weight + c, sum(dw, 0)).mask(c < columns);
        if CENTERED {
            store(sums, of_bias + c, sum(db, 0)).mask(c < columns);
        }
    }

    /// The sums of `programs` rows of `sums`, and of those behind them unless `db` has no elements.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(ROWS = [64], COLUMNS = [32], warps = [8]),
        tune(ROWS = [128], COLUMNS = [16], warps = [8]),
        tune(ROWS = [8], COLUMNS = [256], warps = [4]),
        grid = [cdiv(columns, COLUMNS), if db.len() > 0 { 2 } else { 1 }],
    )]
    pub fn sums_of_programs<T: Float, const ROWS: usize, const COLUMNS: usize>(
        sums: &[f32],
        dw: &mut [T],
        db: &mut [T],
        columns: usize,
        programs: usize,
    ) {
        let c = program_id(0) * COLUMNS + arange(COLUMNS);
        let first = program_id(1) * programs;
        let mut all = zeros::<f32>([ROWS, COLUMNS]);
        for start in range(0, programs, ROWS) {
            let r = (start + arange(ROWS)).expand(1);
            all += load(sums, (first + r) * columns + c.expand(0)).mask((r < programs) & (c.expand(0) < columns));
        }
        let total = sum(all, 0).to::<T>();
        if program_id(1) == 0 {
            store(dw, c, total).mask(c < columns);
        } else {
            store(db, c, total).mask(c < columns);
        }
    }
}

/// The gradients of norms of rows that no program has at once, in four launches: moments of parts of rows, moments of
/// rows, the gradients from these, with sums over the rows of a program, and the sums of these.
#[tile_module]
pub mod wide_gradients {
    /// `moments` are `[4, rows, parts]`. Of each part of BLOCK columns they are the mean of `x`, the sum of squared
    /// differences from it, the sum of the differences times `dy * weight`, and the sum of `dy * weight`. Unless
    /// CENTERED, the mean counts as 0, and the first and the last are not stored.
    #[tile_kernel(
        /// Of `layer_norm`.
        kernel(layer_norm_partial_moments, CENTERED = true),
        /// Of `rms_norm`.
        kernel(rms_norm_partial_moments, CENTERED = false),
        types(T = [f32, f16, bf16]),
        tune(BLOCK = [4096], warps = [4, 8]),
        requires = [columns <= parts * BLOCK],
        grid = [rows * parts],
    )]
    pub fn of_parts<T: Float, const CENTERED: bool, const BLOCK: usize>(
        x: &[T],
        weight: &[T],
        dy: &[T],
        moments: &mut [f32],
        rows: usize,
        columns: usize,
        parts: usize,
    ) {
        let (r, part) = (program_id(0) / parts, program_id(0) % parts);
        let c = part * BLOCK + arange(BLOCK);
        let (inside, at, all) = (c < columns, program_id(0), rows * parts);
        let mut d = load(x, r * columns + c).mask(inside).to::<f32>();
        let scaled = load(dy, r * columns + c).mask(inside).to::<f32>() * load(weight, c).mask(inside).to::<f32>();
        if CENTERED {
            let mean = sum(d) / min(BLOCK, columns - part * BLOCK) as f32;
            d = where_(inside, d - mean, 0.0);
            store(moments, at, mean);
            store(moments, 3 * all + at, sum(scaled));
        }
        store(moments, all + at, sum(d * d));
        store(moments, 2 * all + at, sum(d * scaled));
    }

    /// `of_rows` are `[4, rows]`: the mean, the reciprocal of the deviation, and the means of `normal * dy * weight`
    /// and of `dy * weight`, where `normal` is the normalized row. Unless CENTERED, the mean counts as 0, and the last
    /// are not stored. `width` is the number of columns of each part but the last one.
    #[tile_kernel(
        /// Of `layer_norm`.
        kernel(layer_norm_moments, CENTERED = true),
        /// Of `rms_norm`.
        kernel(rms_norm_moments, CENTERED = false),
        tune(ROWS = [8], PARTS = [16], warps = [1]),
        grid = [cdiv(rows, ROWS)],
    )]
    pub fn of_whole_rows<const CENTERED: bool, const ROWS: usize, const PARTS: usize>(
        moments: &[f32],
        of_rows: &mut [f32],
        rows: usize,
        columns: usize,
        parts: usize,
        width: usize,
        eps: f32,
    ) {
        let (all, share) = (rows * parts, 1.0 / columns as f32);
        let r = program_id(0) * ROWS + arange(ROWS);
        let (row, part) = (r.expand(1), arange(PARTS).expand(0));
        let last = (columns - (parts - 1) * width) as f32;
        let number = |p: Tile<usize>| where_(p + 1 < parts, width as f32, last);
        let mut mean = zeros::<f32>([ROWS, 1]);
        if CENTERED {
            let mut total = zeros::<f32>([ROWS, PARTS]);
            for start in range(0, parts, PARTS) {
                let p = start + part;
                total += load(moments, row * parts + p).mask((row < rows) & (p < parts)) * number(p);
            }
            mean = sum(total, 1).expand(1) * share;
        }
        let (mut squares, mut along) = (zeros::<f32>([ROWS, PARTS]), zeros::<f32>([ROWS, PARTS]));
        let mut across = zeros::<f32>([ROWS, PARTS]);
        for start in range(0, parts, PARTS) {
            let p = start + part;
            let (at, inside) = (row * parts + p, (row < rows) & (p < parts));
            squares += load(moments, all + at).mask(inside);
            along += load(moments, 2 * all + at).mask(inside);
            if CENTERED {
                let difference = load(moments, at).mask(inside) - mean;
                let scaled = load(moments, 3 * all + at).mask(inside);
                squares += where_(inside, difference * difference * number(p), 0.0);
                along += difference * scaled;
                across += scaled;
            }
        }
        let scale = rsqrt(sum(squares, 1) * share + eps);
        store(of_rows, rows + r, scale).mask(r < rows);
        store(of_rows, 2 * rows + r, sum(along, 1) * scale * share).mask(r < rows);
        if CENTERED {
            store(of_rows, row, mean).mask(row < rows);
            store(of_rows, 3 * rows + r, sum(across, 1) * share).mask(r < rows);
        }
    }

    /// The gradient `dx`, and the `sums` of `programs` groups of rows, as those of the programs of
    /// `layer_norm_gradient`. Each program has the rows of one group in BLOCK columns.
    #[tile_kernel(
        /// Of `layer_norm`.
        kernel(layer_norm_gradient_of_columns, CENTERED = true),
        /// Of `rms_norm`.
        kernel(rms_norm_gradient_of_columns, CENTERED = false),
        types(T = [f32, f16, bf16]),
        tune(ROWS = [4], BLOCK = [1024], warps = [4]),
        tune(ROWS = [4], BLOCK = [512], warps = [4]),
        tune(ROWS = [2], BLOCK = [1024], warps = [4]),
        grid = [cdiv(columns, BLOCK) * programs],
    )]
    pub fn of_columns<T: Float, const CENTERED: bool, const ROWS: usize, const BLOCK: usize>(
        x: &[T],
        weight: &[T],
        dy: &[T],
        of_rows: &[f32],
        dx: &mut [T],
        sums: &mut [f32],
        rows: usize,
        columns: usize,
        programs: usize,
    ) {
        let blocks = cdiv(columns, BLOCK);
        let (program, block) = (program_id(0) / blocks, program_id(0) % blocks);
        let c = block * BLOCK + arange(BLOCK);
        let column = c.expand(0);
        let w = load(weight, column).mask(column < columns).to::<f32>();
        let (mut dw, mut db) = (zeros::<f32>([ROWS, BLOCK]), zeros::<f32>([ROWS, BLOCK]));
        for at in range(program * ROWS, rows, programs * ROWS) {
            let r = (at + arange(ROWS)).expand(1);
            let (exists, inside) = (r < rows, (r < rows) & (column < columns));
            let v = load(x, r * columns + column).mask(inside).to::<f32>();
            let g = load(dy, r * columns + column).mask(inside).to::<f32>();
            let scale = load(of_rows, rows + r).mask(exists);
            let along = load(of_rows, 2 * rows + r).mask(exists);
            let (mut normal, mut gradient) = (v, g * w);
            if CENTERED {
                normal = v - load(of_rows, r).mask(exists);
                gradient = gradient - load(of_rows, 3 * rows + r).mask(exists);
            }
            normal = normal * scale;
            store(dx, r * columns + column, ((gradient - normal * along) * scale).to::<T>()).mask(inside);
            dw += g * normal;
            if CENTERED {
                db += g;
            }
        }
        store(sums, program * columns + c, sum(dw, 0)).mask(c < columns);
        if CENTERED {
            store(sums, (programs + program) * columns + c, sum(db, 0)).mask(c < columns);
        }
    }
}
