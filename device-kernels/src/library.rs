//! What kernels of several modules do with tiles.

use kernel_macros::tile_library;

#[tile_library]
pub mod tiles {
    /// `[R, C]` of `v` at row `r` and column `c`; with T of 1, of its transpose. With ONCE of 1 nobody else reads it.
    fn operand<E, const T: usize, const R: usize, const C: usize, const ONCE: usize>(v: View<E, 2>, r: usize, c: usize) -> Tile<E> {
        if ONCE == 1 {
            if T == 1 { trans(v.tile([c, r], [C, R]).streaming()) } else { v.tile([r, c], [R, C]).streaming() }
        } else {
            if T == 1 { trans(v.tile([c, r], [C, R])) } else { v.tile([r, c], [R, C]) }
        }
    }

    /// Non-negative sums as they are, negative ones `below` times: 1 for a plain product, 0 for ReLU, any slope for a leaky one.
    fn activated(sums: Tile<f32>, below: f32) -> Tile<f32> {
        // Zero times an infinity is no zero.
        if below == 0.0 {
            where_(sums < 0.0, 0.0, sums)
        } else if below != 1.0 {
            where_(sums < 0.0, below * sums, sums)
        } else {
            sums
        }
    }

    /// The same of integers, which have ReLU alone.
    fn activated_integers(sums: Tile<i32>, below: f32) -> Tile<i32> {
        if below == 0.0 { where_(sums < 0, 0, sums) } else { sums }
    }

    /// The nearest tf32; of the largest numbers the one below, which is finite.
    fn tf32(x: Tile<f32>) -> Tile<f32> {
        let bits = bitcast::<u32>(x);
        let up = where_((bits & 0x7FFFFFFF) < 0x7F7FF000, bits + 0x1000, bits);
        bitcast::<f32>(up & 0xFFFFE000)
    }

    /// What is left of `x` beside `high`, its nearest tf32, as one. An infinity less itself is no number.
    fn low_part(x: Tile<f32>, high: Tile<f32>) -> Tile<f32> {
        where_(abs(x) == f32::INFINITY, 0.0, tf32(x - high))
    }
}
