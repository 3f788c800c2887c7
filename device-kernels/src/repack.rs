//! Copies of matrices into rows that start where tensor maps can: elements are taken by their size.

use kernel_macros::tile_kernel;

/// `y = x`.
#[tile_kernel(
    types(T = [u8, u16, u32]),
    tune(ROWS = [16], COLS = [256], warps = [8]),
    grid = [cdiv(y.dim(0), ROWS) * cdiv(y.dim(1), COLS)],
)]
pub fn repack<T: Int, const ROWS: usize, const COLS: usize>(x: View<T, 2>, mut y: ViewMut<T, 2>) {
    let across = cdiv(y.dim(1), COLS);
    let (r, c) = (program_id(0) / across * ROWS, program_id(0) % across * COLS);
    y.store([r, c], x.tile([r, c], [ROWS, COLS]));
}

/// `y[c, r] = x[r, c]`.
#[tile_kernel(
    types(T = [u8, u16, u32]),
    tune(TILE = [64], warps = [8]),
    grid = [cdiv(y.dim(0), TILE) * cdiv(y.dim(1), TILE)],
)]
pub fn repack_transposed<T: Int, const TILE: usize>(x: View<T, 2>, mut y: ViewMut<T, 2>) {
    let across = cdiv(y.dim(1), TILE);
    let (r, c) = (program_id(0) / across * TILE, program_id(0) % across * TILE);
    y.store([r, c], trans(x.tile([c, r], [TILE, TILE])));
}
