//! Rows of a table by index, rotary position embeddings, and their gradients. Elements of 16 bits are computed in f32.

use tilewright_macros::tile_module;

pub use rotary::*;
pub use tables::*;

/// Rows of a table.
#[tile_module]
pub mod tables {
    /// The tokens and the columns of a program. Programs that follow each other have other tokens, unless rows begin
    /// between lines of memory: then they have the blocks of the same tokens, so that a line that two blocks share is
    /// stored at about the same time.
    fn elements_of<const TOKENS: usize, const BLOCK: usize>(columns: usize) -> (Tile<usize>, Tile<usize>) {
        let (mut t, mut block) = (program_id(0), program_id(1));
        if columns > BLOCK && columns % 64 != 0 {
            // No memory has the elements of 2^32 programs. Divisions of 64 bits take long.
            let (me, blocks) = ((block * num_programs(0) + t) as u32, cdiv(columns, BLOCK) as u32);
            t = (me / blocks) as usize;
            block = (me % blocks) as usize;
        }
        (t * TOKENS + arange(TOKENS), block * BLOCK + arange(BLOCK))
    }

    /// Row `ids[t]` of the table for each token `t`. A negative index gives zeros, one that is no row gives NaN.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(TOKENS = [16], BLOCK = [64], warps = [4]),
        tune(TOKENS = [8], BLOCK = [128], warps = [4]),
        tune(ROW = [true], TOKENS = [1], BLOCK = [1024], warps = [2]),
        tune(WIDE = [true], TOKENS = [4], BLOCK = [256], warps = [4]),
        requires = [WIDE || columns <= BLOCK, !ROW || (columns > 768 && columns % 64 != 0)],
        grid = [cdiv(ids.len(), TOKENS), cdiv(columns, BLOCK)],
    )]
    pub fn embedding<
        T: Float,
        const TOKENS: usize,
        const BLOCK: usize,
        const ROW: bool = false,
        const WIDE: bool = false,
    >(
        table: &[T],
        ids: &[i32],
        y: &mut [T],
        rows: usize,
        columns: usize,
    ) {
        let (t, c) = elements_of::<TOKENS, BLOCK>(columns);
        let id = load(ids, t).other(-1);
        let is_row = (id >= 0) & (id.to::<i64>() < rows as i64);
        let inside = (t < ids.len()).expand(1) & (c < columns).expand(0);
        let v = load(table, id.to::<usize>().expand(1) * columns + c.expand(0)).mask(is_row.expand(1) & inside);
        let other = where_(id < 0, 0.0, where_(is_row, 0.0, f32::NAN)).to::<T>();
        let v = where_(is_row.expand(1), v, other.expand(1));
        store(y, t.expand(1) * columns + c.expand(0), v).mask(inside);
    }

    /// Adds each row of `dy` to the row of the gradient that its index names. Indices that are no rows are left out.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(TOKENS = [16], BLOCK = [64], warps = [4]),
        tune(TOKENS = [8], BLOCK = [128], warps = [4]),
        tune(ROW = [true], TOKENS = [1], BLOCK = [1024], warps = [2]),
        tune(WIDE = [true], TOKENS = [4], BLOCK = [256], warps = [4]),
        requires = [WIDE || columns <= BLOCK, !ROW || (columns > 768 && columns % 64 != 0)],
        grid = [cdiv(ids.len(), TOKENS), cdiv(columns, BLOCK)],
    )]
    pub fn embedding_gradient<
        T: Float,
        const TOKENS: usize,
        const BLOCK: usize,
        const ROW: bool = false,
        const WIDE: bool = false,
    >(
        ids: &[i32],
        dy: &[T],
        d_table: &mut [f32],
        rows: usize,
        columns: usize,
    ) {
        let (t, c) = elements_of::<TOKENS, BLOCK>(columns);
        let id = load(ids, t).other(-1);
        let is_row = (id >= 0) & (id.to::<i64>() < rows as i64);
        let inside = (t < ids.len()).expand(1) & (c < columns).expand(0);
        let d = load(dy, t.expand(1) * columns + c.expand(0)).mask(inside).to::<f32>();
        let at = id.to::<usize>().expand(1) * columns + c.expand(0);
        atomic_add(d_table, at, d).mask(is_row.expand(1) & inside).relaxed();
    }
}

/// Rotations of pairs of elements by angles that depend on the position of a token.
#[tile_module]
pub mod rotary {
    /// Of each head of each token the first `2 * half` elements in pairs, which rotate by the angles of a row of the
    /// tables, times `direction`; the others as they are. A position that is no row gives NaN. Without positions, token
    /// `t` has row `t % rows`.
    #[tile_kernel(
        /// Element `i` is paired with element `half + i`.
        kernel(rope, INTERLEAVED = false),
        /// Element `2 i` is paired with element `2 i + 1`.
        kernel(rope_interleaved, INTERLEAVED = true),
        types(T = [f32, f16, bf16]),
        tune(HEADS = [8], HALF = [32], warps = [1]),
        tune(HEADS = [8], HALF = [64], warps = [2]),
        tune(HEADS = [16], HALF = [32], warps = [2]),
        tune(HEADS = [16], HALF = [64], warps = [4]),
        tune(MANY = [true], HEADS = [32], HALF = [32, 64], warps = [4]),
        tune(MANY = [true], WIDE = [true], HEADS = [8], HALF = [128], warps = [4]),
        requires = [(MANY || heads <= HEADS) && (WIDE || half <= HALF)],
        grid = [tokens, cdiv(heads, HEADS)],
        alias(x, y),
    )]
    pub fn rotated<
        T: Float,
        const INTERLEAVED: bool,
        const HEADS: usize,
        const HALF: usize,
        const MANY: bool = false,
        const WIDE: bool = false,
    >(
        x: &[T],
        positions: &[i32],
        cosines: &[f32],
        sines: &[f32],
        y: &mut [T],
        tokens: usize,
        heads: usize,
        columns: usize,
        half: usize,
        rows: usize,
        direction: f32,
    ) {
        let token = program_id(0);
        let mut row = 0usize;
        let mut is_row = true;
        if positions.len() > 0 {
            let position = load(positions, token);
            is_row = position >= 0 && (position as i64) < rows as i64;
            row = position as usize;
        } else {
            row = token % rows;
        }
        let head = program_id(1) * HEADS + arange(HEADS);
        let first = ((token * heads + head) * columns).expand(1);
        let is_head = (head < heads).expand(1);
        let rotate = |start: usize| {
            let j = start + arange(HALF);
            let is_known = (j < half) & is_row;
            let cosine = load(cosines, row * half + j).mask(is_known).other(f32::NAN).expand(0);
            let sine = (direction * load(sines, row * half + j).mask(is_known).other(f32::NAN)).expand(0);
            if INTERLEAVED {
                let c = 2 * start + arange(2 * HALF);
                let (at, inside) = (first + c.expand(0), is_head & (c < 2 * half).expand(0));
                let (a, b) = split(reshape(load(x, at).mask(inside), [HEADS, HALF, 2]));
                let (a, b) = (a.to::<f32>(), b.to::<f32>());
                let pairs = interleave(fma(a, cosine, -(b * sine)), fma(b, cosine, a * sine));
                store(y, at, pairs.to::<T>()).mask(inside);
            } else {
                let (at, inside) = (first + j.expand(0), is_head & (j < half).expand(0));
                let a = load(x, at).mask(inside).to::<f32>();
                let b = load(x, at + half).mask(inside).to::<f32>();
                store(y, at, fma(a, cosine, -(b * sine)).to::<T>()).mask(inside);
                store(y, at + half, fma(b, cosine, a * sine).to::<T>()).mask(inside);
            }
        };
        if WIDE {
            for start in (0..half).step_by(HALF) {
                rotate(start);
            }
        } else {
            rotate(0usize);
        }
        for start in (2 * half..columns).step_by(HALF) {
            let c = (start + arange(HALF)).expand(0);
            let inside = is_head & (c < columns);
            store(y, first + c, load(x, first + c).mask(inside)).mask(inside);
        }
    }
}
