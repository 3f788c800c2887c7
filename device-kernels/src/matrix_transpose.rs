//! `y[c, r] = x[r, c]` for a contiguous row-major matrix.

use kernel_macros::tile_kernel;

// One square tile a program: read along x's rows, written along y's rows; `trans` goes through shared memory.
// The grid is one-dimensional because a second dimension ends at 65535 tiles.
#[tile_kernel(
    tune(TILE = [32, 64], warps = [4]),
    tune(TILE = [64], warps = [8]),
    grid = [cdiv(rows, TILE) * cdiv(cols, TILE)],
)]
pub fn matrix_transpose<const TILE: usize>(x: &[f32], y: &mut [f32], rows: usize, cols: usize) {
    let across = cdiv(cols, TILE);
    let r = (program_id(0) / across) * TILE + arange(TILE);
    let c = (program_id(0) % across) * TILE + arange(TILE);
    let inside_x = (r.expand(1) < rows) & (c.expand(0) < cols);
    let tile = load(x, r.expand(1) * cols + c.expand(0)).mask(inside_x).streaming();
    let inside_y = (c.expand(1) < cols) & (r.expand(0) < rows);
    store(y, c.expand(1) * rows + r.expand(0), trans(tile)).mask(inside_y);
}
