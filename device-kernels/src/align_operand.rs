//! Aligned copies of operands: matrices whose rows TMA can copy.

use tilewright_macros::tile_module;

/// The copies of a matrix, as it is and transposed.
#[tile_module]
pub mod copies {
    /// The tile of `y` that block `at` has.
    fn copy_tile<T, const TRANSPOSED: bool, const ROWS: usize, const COLS: usize>(
        x: View<T, 2>,
        y: ViewMut<T, 2>,
        at: usize,
    ) {
        let across = cdiv(y.dim(1), COLS);
        let (r, c) = (at / across * ROWS, at % across * COLS);
        y.store([r, c], if TRANSPOSED { trans(x.tile([c, r], [COLS, ROWS])) } else { x.tile([r, c], [ROWS, COLS]) });
    }

    /// Elements are copied as unsigned integers of their size.
    #[tile_kernel(
        /// `y = x`.
        kernel(align_operand, TRANSPOSED = false),
        /// `y[c, r] = x[r, c]`.
        kernel(align_operand_transposed, TRANSPOSED = true),
        types(T = [u8, u16, u32]),
        tune(ROWS = [128], COLS = [32], warps = [8], kernels = [align_operand]),
        tune(ROWS = [64], COLS = [64], warps = [8], kernels = [align_operand]),
        tune(ROWS = [32], COLS = [128], warps = [8], kernels = [align_operand]),
        tune(ROWS = [16], COLS = [256], warps = [8], kernels = [align_operand]),
        tune(ROWS = [64], COLS = [64], warps = [8], kernels = [align_operand_transposed]),
        requires = [y.dim(1) <= COLS || COLS == 256 || TRANSPOSED],
        grid = [cdiv(y.dim(0), ROWS) * cdiv(y.dim(1), COLS)],
    )]
    pub fn copy<T: Int, const TRANSPOSED: bool, const ROWS: usize, const COLS: usize>(
        x: View<T, 2>,
        mut y: ViewMut<T, 2>,
    ) {
        copy_tile::<T, TRANSPOSED, ROWS, COLS>(x, y, program_id(0));
    }

    /// Two matrices in one launch.
    #[tile_kernel(
        /// `y = x` and `v = u`.
        kernel(align_operands_nn, TRANSPOSED_X = false, TRANSPOSED_U = false),
        /// `y = x` and `v[c, r] = u[r, c]`.
        kernel(align_operands_nt, TRANSPOSED_X = false, TRANSPOSED_U = true),
        /// `y[c, r] = x[r, c]` and `v = u`.
        kernel(align_operands_tn, TRANSPOSED_X = true, TRANSPOSED_U = false),
        /// `y[c, r] = x[r, c]` and `v[c, r] = u[r, c]`.
        kernel(align_operands_tt, TRANSPOSED_X = true, TRANSPOSED_U = true),
        types(T = [u8, u16, u32]),
        tune(ROWS = [64], COLS = [64], warps = [8]),
        grid = [cdiv(y.dim(0), ROWS) * cdiv(y.dim(1), COLS) + cdiv(v.dim(0), ROWS) * cdiv(v.dim(1), COLS)],
    )]
    pub fn copy_both<
        T: Int,
        const TRANSPOSED_X: bool,
        const TRANSPOSED_U: bool,
        const ROWS: usize,
        const COLS: usize,
    >(
        x: View<T, 2>,
        mut y: ViewMut<T, 2>,
        u: View<T, 2>,
        mut v: ViewMut<T, 2>,
    ) {
        let of_y = cdiv(y.dim(0), ROWS) * cdiv(y.dim(1), COLS);
        let me = program_id(0);
        if me < of_y {
            copy_tile::<T, TRANSPOSED_X, ROWS, COLS>(x, y, me);
        } else {
            copy_tile::<T, TRANSPOSED_U, ROWS, COLS>(u, v, me - of_y);
        }
    }

    /// `y = x` as f16. Rows of `y` beyond those of `x` are ones.
    #[tile_kernel(
        types(T = [i8, f8e4m3, f8e5m2]),
        tune(ROWS = [8], COLS = [256], warps = [4]),
        grid = [cdiv(y.dim(1), COLS), cdiv(y.dim(0), ROWS)],
    )]
    pub fn upcast_to_f16<T, const ROWS: usize, const COLS: usize>(x: View<T, 2>, mut y: ViewMut<f16, 2>) {
        let (r, c) = (program_id(1) * ROWS, program_id(0) * COLS);
        let ones = (r + arange(ROWS).expand(1)) >= x.dim(0);
        y.store([r, c], where_(ones, 1.0, x.tile([r, c], [ROWS, COLS]).to::<f16>()));
    }
}
