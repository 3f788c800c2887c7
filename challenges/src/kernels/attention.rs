//! Attention of one query a head over a cache of 8-bit keys and values, in two launches.

use tilewright::tile_module;

pub use decoding::*;

#[tile_module]
pub mod decoding {
    /// Parts of a head that the second launch combines.
    const SPLITS: usize = 64;

    /// Every `splits`-th block of positions. Each row of the tile keeps a maximum, a sum of exponentials and weighted
    /// values of its own until the end. `sums` has two numbers a part, the maximum and the sum.
    #[tile_kernel(
        tune(ROWS = [16], DIM = [128], warps = [4]),
        tune(ROWS = [32], DIM = [64], warps = [4]),
        tune(ROWS = [8], DIM = [256], warps = [4]),
        tune(ROWS = [4], DIM = [1024], warps = [8]),
        requires = [dim <= DIM],
        grid = [heads * splits],
        emulate = all,
    )]
    pub fn attend_int8<const ROWS: usize, const DIM: usize>(
        q: &[f32],
        keys: &[i8],
        values: &[i8],
        key_scales: &[f32],
        value_scales: &[f32],
        sums: &mut [f32],
        parts: &mut [f32],
        heads: usize,
        positions: usize,
        dim: usize,
        splits: usize,
        scale: f32,
    ) {
        let (part, head) = (program_id(0), program_id(0) / splits);
        let d = arange(DIM).expand(0);
        let query = load(q, head * dim + d).mask(d < dim) * scale;
        let mut m_i = full([ROWS, 1], f32::MIN);
        let mut weight = zeros::<f32>([ROWS, 1]);
        let mut weighted = zeros::<f32>([ROWS, DIM]);
        for start in range(part % splits * ROWS, positions, splits * ROWS) {
            let p = (start + arange(ROWS)).expand(1);
            let (inside, i) = ((p < positions) & (d < dim), (head * positions + p) * dim + d);
            let key_scale = load(key_scales, head * positions + p).mask(p < positions);
            let score = sum(load(keys, i).mask(inside).to::<f32>() * query, 1).expand(1) * key_scale;
            let score = where_(p < positions, score, f32::NEG_INFINITY);
            let m_new = maximum(m_i, score);
            let (alpha, e) = (exp(m_i - m_new), exp(score - m_new));
            let value_scale = load(value_scales, head * positions + p).mask(p < positions);
            weighted = weighted * alpha + load(values, i).mask(inside).to::<f32>() * (e * value_scale);
            (weight, m_i) = (weight * alpha + e, m_new);
        }
        let m = max(m_i);
        let alpha = exp(m_i - m);
        store(sums, 2 * part, m);
        store(sums, 2 * part + 1, sum(weight * alpha));
        let d = arange(DIM);
        store(parts, part * dim + d, sum(weighted * alpha, 0)).mask(d < dim);
    }

    /// Without positions the result is 0.
    #[tile_kernel(
        tune(DIM = [128], warps = [4]),
        requires = [splits <= 64],
        grid = [heads, cdiv(dim, DIM)],
    )]
    pub fn combine_parts<const DIM: usize>(
        sums: &[f32],
        parts: &[f32],
        y: &mut [f32],
        heads: usize,
        dim: usize,
        splits: usize,
    ) {
        let (head, s) = (program_id(0), arange(SPLITS).expand(1));
        let d = program_id(1) * DIM + arange(DIM);
        let part = head * splits + s;
        let m_i = load(sums, 2 * part).mask(s < splits).other(f32::MIN);
        let alpha = exp(m_i - max(m_i));
        let weight = sum(load(sums, 2 * part + 1).mask(s < splits) * alpha);
        let inside = (s < splits) & (d.expand(0) < dim);
        let weighted = sum(load(parts, part * dim + d.expand(0)).mask(inside) * alpha, 0);
        store(y, head * dim + d, if weight == 0.0 { zeros::<f32>([DIM]) } else { weighted / weight }).mask(d < dim);
    }
}
