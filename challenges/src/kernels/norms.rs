//! Norms of rows that are made of tables or of groups of channels, and norms of columns.

use tilewright::tile_module;

pub use columns::*;
pub use rows::*;

#[tile_module(use tilewright_kernels::norms::moments)]
pub mod rows {
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
        normalize::<f32, true, 1, BLOCK>(
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
        normalize::<f32, true, 1, BLOCK>(
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
#[tile_module(use tilewright_kernels::norms::moments)]
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
