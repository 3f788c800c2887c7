//! The product of quantized matrices, quantized again: `C = saturate(round(sum over k of (A[i, k] - zero_a) (B[k, j] -
//! zero_b) * scale_a * scale_b * inverse_c) + zero_c)`. The sum is converted to f32. Products are computed from left to
//! right and rounded to f32. `round` is to nearest even. `inverse_c` is 1 / scale_c.
//!
//! The sum is `sum(A B) - zero_b sum(A's row) - zero_a sum(B's column) + k zero_a zero_b`, and wraps in i32. B is
//! transposed: its columns are rows. Zero points are f32, which represents all i8: integers are part of the tuner's
//! keys.

use tilewright_macros::tile_module;

/// Products whose operands and results are quantized.
#[tile_module(use crate::library::tiles, use crate::library::partials, use crate::library::tile_scheduler)]
pub mod quantized {
    /// A tile `[R, C]` of the result at row `r` and column `s`, from the sums of products. A missing row or column sum
    /// is 0.
    fn quantized<const R: usize, const C: usize>(
        sums: Tile<i32>,
        row_sums: &[i32],
        column_sums: &[i32],
        r: usize,
        s: usize,
        k: usize,
        scale_a: f32,
        scale_b: f32,
        inverse_c: f32,
        zero_a: f32,
        zero_b: f32,
        zero_c: f32,
    ) -> Tile<i8> {
        let (zero_a, zero_b, zero_c) = (zero_a.to::<i32>(), zero_b.to::<i32>(), zero_c.to::<i32>());
        let rows = load(row_sums, r + arange(R)).expand(1);
        let columns = load(column_sums, s + arange(C)).expand(0);
        let exact = sums - zero_b * rows - zero_a * columns + k.to::<i32>() * zero_a * zero_b;
        // In this order, each rounded: one product of all scales rounds ties the other way.
        let scaled = exact.to::<f32>() * scale_a * scale_b * inverse_c;
        // 1.5 * 2^23 (0x4b400000) added to a small number leaves its nearest integer in the lowest bits.
        let near = bitcast::<i32>(clamp(scaled, -1024.0, 1024.0) + 12582912.0) - 0x4b400000;
        clamp(near + zero_c, -128, 127).to::<i8>()
    }

    /// `y[i] = sum of row i of x`.
    #[tile_kernel(
        tune(ROWS = [4], COLS = [1024], warps = [4]),
        tune(ROWS = [1], COLS = [4096], warps = [4]),
        tune(ROWS = [16], COLS = [256], warps = [4]),
        tune(ROWS = [64], COLS = [64], warps = [4]),
        grid = [cdiv(y.len(), ROWS)],
    )]
    pub fn int8_row_sums<const ROWS: usize, const COLS: usize>(x: View<i8, 2>, y: &mut [i32]) {
        let first = program_id(0) * ROWS;
        let mut acc = zeros::<i32>([ROWS, COLS]);
        for c in (0..x.dim(1)).step_by(COLS) {
            acc += x.tile([first, c], [ROWS, COLS]).to::<i32>();
        }
        store(y, first + arange(ROWS), sum(acc, 1));
    }

    /// The result, of sums that are there already; `k` is the number of products of each sum.
    #[tile_kernel(tune(ROWS = [8], COLS = [256], warps = [4]), grid = [cdiv(c.dim(0), ROWS) * cdiv(c.dim(1), COLS)])]
    pub fn quantize<const ROWS: usize, const COLS: usize>(
        sums: View<i32, 2>,
        mut c: ViewMut<i8, 2>,
        row_sums: &[i32],
        column_sums: &[i32],
        k: usize,
        scale_a: f32,
        scale_b: f32,
        inverse_c: f32,
        zero_a: f32,
        zero_b: f32,
        zero_c: f32,
    ) {
        let across = cdiv(c.dim(1), COLS);
        let (r, s) = (program_id(0) / across * ROWS, program_id(0) % across * COLS);
        c.store(
            [r, s],
            quantized::<ROWS, COLS>(
                sums.tile([r, s], [ROWS, COLS]),
                row_sums,
                column_sums,
                r,
                s,
                k,
                scale_a,
                scale_b,
                inverse_c,
                zero_a,
                zero_b,
                zero_c,
            ),
        );
    }

    /// `row_sums` and `column_sums` may be empty where the other's zero point is 0.
    #[tile_kernel(
        tune(BM = [128], BN = [128, 256], BK = [128], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        tune(BM = [128], BN = [128], BK = [64], GROUP = [8], PER_SM = [1], warps = [8], arch = [80]),
        tune(BM = [64], BN = [128, 64], BK = [128], GROUP = [8], PER_SM = [2], warps = [4], blocks_per_sm = [2], arch = [90]),
        tune(BM = [128], BN = [192], BK = [128], GROUP = [8], PER_SM = [1], warps = [8], arch = [90]),
        grid = [min(cdiv(c.dim(0), BM) * cdiv(c.dim(1), BN), num_sms() * PER_SM)],
    )]
    pub fn matmul_int8<const BM: usize, const BN: usize, const BK: usize, const GROUP: usize, const PER_SM: usize>(
        a: View<i8, 2>,
        b: View<i8, 2>,
        mut c: ViewMut<i8, 2>,
        row_sums: &[i32],
        column_sums: &[i32],
        scale_a: f32,
        scale_b: f32,
        inverse_c: f32,
        zero_a: f32,
        zero_b: f32,
        zero_c: f32,
    ) {
        let tiles = (cdiv(c.dim(0), BM), cdiv(c.dim(1), BN));
        for_each_tile::<{ Scheduler::Persistent }, GROUP>(tiles, |i, j| {
            let (r, s) = (i * BM, j * BN);
            let mut acc = zeros::<i32>([BM, BN]);
            for k in (0..a.dim(1)).step_by(BK) {
                acc = dot(a.tile([r, k], [BM, BK]), trans(b.tile([s, k], [BN, BK])), acc);
            }
            c.store(
                [r, s],
                quantized::<BM, BN>(
                    acc,
                    row_sums,
                    column_sums,
                    r,
                    s,
                    a.dim(1),
                    scale_a,
                    scale_b,
                    inverse_c,
                    zero_a,
                    zero_b,
                    zero_c,
                ),
            );
        });
    }
}
