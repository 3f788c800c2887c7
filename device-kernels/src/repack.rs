//! Copies of matrices into rows that TMA takes.

use tilewright_macros::tile_module;

#[tile_module]
pub mod copies {
    /// Elements are copied as unsigned integers of their size.
    #[tile_kernel(
        /// `y = x`.
        kernel(repack, TRANSPOSED = false),
        /// `y[c, r] = x[r, c]`.
        kernel(repack_transposed, TRANSPOSED = true),
        types(T = [u8, u16, u32]),
        tune(ROWS = [16], COLS = [256], warps = [8], kernels = [repack]),
        tune(ROWS = [64], COLS = [64], warps = [8], kernels = [repack_transposed]),
        grid = [cdiv(y.dim(0), ROWS) * cdiv(y.dim(1), COLS)],
    )]
    pub fn copy<T: Int, const TRANSPOSED: bool, const ROWS: usize, const COLS: usize>(
        x: View<T, 2>,
        mut y: ViewMut<T, 2>,
    ) {
        let across = cdiv(y.dim(1), COLS);
        let (r, c) = (program_id(0) / across * ROWS, program_id(0) % across * COLS);
        y.store([r, c], if TRANSPOSED { trans(x.tile([c, r], [COLS, ROWS])) } else { x.tile([r, c], [ROWS, COLS]) });
    }

    /// `y = x` as f16. Rows of `y` beyond those of `x` are ones.
    #[tile_kernel(
        types(T = [i8, f8e4m3, f8e5m2]),
        tune(ROWS = [8], COLS = [256], warps = [4]),
        grid = [cdiv(y.dim(1), COLS), cdiv(y.dim(0), ROWS)],
    )]
    pub fn widen<T, const ROWS: usize, const COLS: usize>(x: View<T, 2>, mut y: ViewMut<f16, 2>) {
        let (r, c) = (program_id(1) * ROWS, program_id(0) * COLS);
        let ones = (r + arange(ROWS).expand(1)) >= x.dim(0);
        y.store([r, c], where_(ones, 1.0, x.tile([r, c], [ROWS, COLS]).to::<f16>()));
    }
}
