//! `y[c, r] = x[r, c]` for a contiguous row-major matrix.

use tilewright_macros::tile_kernel;

// One square tile a program: read along x's rows, written along y's rows; `trans` goes through shared memory. With
// BY_ROWS of 1, neighboring programs are neighbors in x, else in y. The second grid has two dimensions, which saves a
// division; it takes 65535 columns of tiles at most.
#[tile_kernel(
    tune(TILE = [64], BY_ROWS = [1, 0], warps = [8]),
    tune(TILE = [64], BY_ROWS = [0], warps = [16]),
    tune(TILE = [32], BY_ROWS = [1, 0], warps = [4]),
    grid = [
        if BY_ROWS == 1 { cdiv(rows, TILE) * cdiv(cols, TILE) } else { cdiv(rows, TILE) },
        if BY_ROWS == 1 { 1 } else { cdiv(cols, TILE) },
    ],
)]
pub fn matrix_transpose<const TILE: usize, const BY_ROWS: usize>(x: &[f32], y: &mut [f32], rows: usize, cols: usize) {
    let (i, j) = if BY_ROWS == 1 {
        let across = cdiv(cols, TILE);
        (program_id(0) / across, program_id(0) % across)
    } else {
        (program_id(0), program_id(1))
    };
    let r = i * TILE + arange(TILE);
    let c = j * TILE + arange(TILE);
    let inside_x = (r.expand(1) < rows) & (c.expand(0) < cols);
    let tile = load(x, r.expand(1) * cols + c.expand(0)).mask(inside_x);
    let inside_y = (c.expand(1) < cols) & (r.expand(0) < rows);
    store(y, c.expand(1) * rows + r.expand(0), trans(tile)).mask(inside_y);
}
