//! Norms. One function normalizes a row, whatever its elements are made of; kernels say
//! how an element is loaded and what is done with its normalized value.

use tilewright::{tile_library, tile_module};

pub use columns::*;
pub use rows::*;

#[tile_library]
pub mod moments {
    /// Of the values that a lane has seen: their mean, the sum of squared differences from it, and their number.
    struct Moments {
        mean: Tile<f32>,
        squares: Tile<f32>,
        count: Tile<f32>,
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

    /// Those of all lanes along an axis.
    fn along<const AXIS: usize>(m: Moments) -> Moments {
        let count = sum(m.count, AXIS).expand(AXIS);
        let mean = sum(m.mean * m.count, AXIS).expand(AXIS) / maximum(count, 1.0);
        let difference = m.mean - mean;
        Moments { mean, squares: sum(m.squares + m.count * difference * difference, AXIS).expand(AXIS), count }
    }

    /// Normalizes ROWS rows: `put(rows, start, columns, inside, v)` takes the value at those places, less the mean of
    /// its row (where CENTERED), times `scale(mean square)` of what is left. `value(rows, columns, inside)` is asked
    /// once for a row that fits the tile. Of a longer row each lane keeps its moments; then the row is read again, from
    /// its end, which the cache still has.
    fn normalize<const CENTERED: bool, const ROWS: usize, const BLOCK: usize>(
        rows: usize,
        columns: usize,
        scale: impl Fn(Tile<f32>) -> Tile<f32>,
        value: impl Fn(Tile<usize>, Tile<usize>, Tile<bool>) -> Tile<f32>,
        put: impl Fn(Tile<usize>, usize, Tile<usize>, Tile<bool>, Tile<f32>),
    ) {
        let r = (program_id(0) * ROWS + arange(ROWS)).expand(1);
        let c = arange(BLOCK).expand(0);
        if columns <= BLOCK {
            let inside = (r < rows) & (c < columns);
            let mut v = where_(inside, value(r, c, inside), 0.0);
            if CENTERED {
                v = where_(inside, v - sum(v, 1).expand(1) / columns as f32, 0.0);
            }
            put(r, 0, c, inside, v * scale(sum(v * v, 1).expand(1) / columns as f32));
        } else {
            // Moments take three times the registers of a tile.
            const STEP: usize = if BLOCK > 4096 { BLOCK / 4 } else { BLOCK };
            let c = arange(STEP).expand(0);
            let mut m = none::<ROWS, STEP>();
            let mut blocks = 0.0;
            for start in (0..columns).step_by(STEP) {
                let inside = (r < rows) & (start + c < columns);
                let v = value(r, start + c, inside);
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
                put(r, start, start + c, inside, (value(r, start + c, inside) - all.mean) * factor);
            }
        }
    }
}

#[tile_module(use crate::kernels::norms::moments)]
pub mod rows {
    #[tile_kernel(
        tune(ROWS = [1], BLOCK = [1024], warps = [4]),
        tune(ROWS = [4], BLOCK = [512], warps = [4]),
        tune(ROWS = [1], BLOCK = [4096], warps = [8]),
        tune(ROWS = [1], BLOCK = [16384], warps = [16]),
        grid = [cdiv(rows, ROWS)],
    )]
    pub fn layer_norm<const ROWS: usize, const BLOCK: usize>(
        x: &[f32],
        weight: &[f32],
        bias: &[f32],
        y: &mut [f32],
        rows: usize,
        columns: usize,
        eps: f32,
    ) {
        let value = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| load(x, r * columns + c).mask(inside);
        normalize::<true, ROWS, BLOCK>(
            rows,
            columns,
            |s| rsqrt(s + eps),
            value,
            |r, start, c, inside, v| {
                store(y, r * columns + c, v * load(weight, c) + load(bias, c)).mask(inside);
            },
        );
    }

    #[tile_kernel(
        tune(ROWS = [1], BLOCK = [4096], warps = [8]),
        tune(ROWS = [1], BLOCK = [1024], warps = [4]),
        tune(ROWS = [1], BLOCK = [16384], warps = [16]),
        grid = [cdiv(rows, ROWS)],
    )]
    pub fn add_rms_norm<const ROWS: usize, const BLOCK: usize>(
        x: &[f32],
        residual: &[f32],
        weight: &[f32],
        y: &mut [f32],
        rows: usize,
        columns: usize,
        eps: f32,
    ) {
        let value = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| {
            load(x, r * columns + c).mask(inside) + load(residual, r * columns + c).mask(inside)
        };
        normalize::<false, ROWS, BLOCK>(
            rows,
            columns,
            |s| rsqrt(s + eps),
            value,
            |r, start, c, inside, v| {
                store(y, r * columns + c, v * load(weight, c)).mask(inside);
            },
        );
    }

    /// The sum of a row of each table, normalized. Positions repeat. A row that is in no table counts as zeros.
    #[tile_kernel(
        tune(BLOCK = [1024, 256], warps = [4]),
        tune(BLOCK = [4096], warps = [8]),
        grid = [tokens.len()],
    )]
    pub fn embed<const BLOCK: usize>(
        tokens: &[i32],
        positions: &[i32],
        token_table: &[f32],
        position_table: &[f32],
        gamma: &[f32],
        beta: &[f32],
        y: &mut [f32],
        columns: usize,
        eps: f32,
    ) {
        let (token, position) = (load(tokens, program_id(0)), load(positions, program_id(0) % positions.len()));
        let value = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| {
            let of_token = load(token_table, token as usize * columns + c).mask(inside & (token >= 0));
            of_token + load(position_table, position as usize * columns + c).mask(inside & (position >= 0))
        };
        normalize::<true, 1, BLOCK>(
            tokens.len(),
            columns,
            |s| rsqrt(s + eps),
            value,
            |r, start, c, inside, v| {
                store(y, r * columns + c, v * load(gamma, c) + load(beta, c)).mask(inside);
            },
        );
    }

    /// Rows of `per_group` channels of `area` elements. `groups` rows are a sample.
    #[tile_kernel(
        tune(BLOCK = [4096], warps = [8]),
        tune(BLOCK = [4096], warps = [16]),
        tune(BLOCK = [1024], warps = [4]),
        grid = [rows],
    )]
    pub fn group_norm<const BLOCK: usize>(
        x: &[f32],
        gamma: &[f32],
        beta: &[f32],
        y: &mut [f32],
        rows: usize,
        groups: usize,
        per_group: usize,
        area: usize,
        eps: f32,
    ) {
        let columns = per_group * area;
        let value = |r: Tile<usize>, c: Tile<usize>, inside: Tile<bool>| load(x, r * columns + c).mask(inside);
        normalize::<true, 1, BLOCK>(
            rows,
            columns,
            |s| rsqrt(s + eps),
            value,
            |r, start, c, inside, v| {
                let first = r % groups * per_group;
                if area % BLOCK == 0 {
                    let channel = first + start / area;
                    store(y, r * columns + c, v * load(gamma, channel) + load(beta, channel)).mask(inside);
                } else if columns <= 0xFFFF_FFFF {
                    let channel = first + (c.to::<u32>() / area as u32).to::<usize>();
                    store(y, r * columns + c, v * load(gamma, channel) + load(beta, channel)).mask(inside);
                } else {
                    let channel = first + c / area;
                    store(y, r * columns + c, v * load(gamma, channel) + load(beta, channel)).mask(inside);
                }
            },
        );
    }
}

/// Norms of columns: rows are split over programs, in two launches.
#[tile_module(use crate::kernels::norms::moments)]
pub mod columns {
    /// Rows that the second launch combines the moments of.
    const SPLITS: usize = 32;

    /// The moments of the columns in every `splits`-th block of rows: means, squares, counts, each `[splits, columns]`.
    #[tile_kernel(
        tune(ROWS = [16], COLS = [64], warps = [8]),
        tune(ROWS = [8], COLS = [128], warps = [8]),
        grid = [cdiv(columns, COLS), splits],
    )]
    pub fn column_moments<const ROWS: usize, const COLS: usize>(
        x: &[f32],
        moments: &mut [f32],
        rows: usize,
        columns: usize,
        splits: usize,
    ) {
        let c = (program_id(0) * COLS + arange(COLS)).expand(0);
        let mut m = none::<ROWS, COLS>();
        let mut blocks = 0.0;
        for start in range(program_id(1) * ROWS, rows, splits * ROWS) {
            let r = (start + arange(ROWS)).expand(1);
            let inside = (r < rows) & (c < columns);
            blocks += 1.0;
            m = with(m, load(x, r * columns + c).mask(inside), inside, 1.0 / blocks);
        }
        let all = along::<0>(m);
        let at = program_id(1) * columns + c;
        store(moments, at, all.mean).mask(c < columns);
        store(moments, splits * columns + at, all.squares).mask(c < columns);
        store(moments, 2 * splits * columns + at, all.count).mask(c < columns);
    }

    #[tile_kernel(
        tune(ROWS = [16], COLS = [64], warps = [8]),
        tune(ROWS = [8], COLS = [128], warps = [8]),
        grid = [cdiv(columns, COLS), splits],
        requires = [splits <= 32],
    )]
    pub fn normalize_columns<const ROWS: usize, const COLS: usize>(
        x: &[f32],
        moments: &[f32],
        gamma: &[f32],
        beta: &[f32],
        y: &mut [f32],
        rows: usize,
        columns: usize,
        splits: usize,
        eps: f32,
    ) {
        let (c, split) = ((program_id(0) * COLS + arange(COLS)).expand(0), arange(SPLITS).expand(1));
        let (at, known) = (split * columns + c, (split < splits) & (c < columns));
        let all = along::<0>(Moments {
            mean: load(moments, at).mask(known),
            squares: load(moments, splits * columns + at).mask(known),
            count: load(moments, 2 * splits * columns + at).mask(known),
        });
        let scale = rsqrt(all.squares / rows as f32 + eps) * load(gamma, c);
        let shift = load(beta, c);
        for start in range(program_id(1) * ROWS, rows, splits * ROWS) {
            let r = (start + arange(ROWS)).expand(1);
            let inside = (r < rows) & (c < columns);
            let v = load(x, r * columns + c).mask(inside) - all.mean;
            store(y, r * columns + c, v * scale + shift).mask(inside);
        }
    }
}
