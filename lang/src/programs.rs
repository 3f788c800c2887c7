//! Which program does what.

use crate::stub;
use crate::value::Int;

/// The number of this program along `axis` of the grid, from 0 on.
///
/// `axis` is 0, 1 or 2: the grid has three dimensions, and those that `grid = [..]` leaves out have one program. Another
/// axis is an error. The result is uniform: the same in the whole program.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let i = program_id(0) * 256 + arange(256);
///     store(y, i, load(x, i));
/// }
/// ```
pub fn program_id(axis: usize) -> usize {
    let _ = axis;
    stub()
}

/// The number of programs along `axis` of the grid.
///
/// `axis` is 0, 1 or 2. Another axis is an error.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let mut total = zeros::<f32>([256]);
///     for block in range(program_id(0), cdiv(x.len(), 256), num_programs(0)) {
///         total += load(x, block * 256 + arange(256));
///     }
///     store(y, program_id(0), sum(total));
/// }
/// ```
pub fn num_programs(axis: usize) -> usize {
    let _ = axis;
    stub()
}

/// The row and the column of the `t`-th of `tm * tn` tiles. The order goes down the columns of `group` rows of tiles, then
/// to the next `group` rows, so that programs that run at a time share operands in the L2 cache.
///
/// `t` and the extents are scalars, and `group` is a constant of at least 1; anything else is an error.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(at: &mut [usize], rows: usize, columns: usize) {
///     let (i, j) = swizzle2d(program_id(0), (rows, columns), 8);
///     store(at, program_id(0), i * columns + j);
/// }
/// ```
pub fn swizzle2d(t: usize, extents: (usize, usize), group: usize) -> (usize, usize) {
    let _ = (t, extents, group);
    stub()
}

/// `a / b`, rounded up: how many blocks of `b` cover `a`.
///
/// Both are integers of one type, scalars or tiles. A division by zero gives 0.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], blocks: &mut [usize]) {
///     store(blocks, 0, cdiv(x.len(), 256));
/// }
/// ```
pub fn cdiv<T: Int>(a: T, b: T) -> T {
    let _ = (a, b);
    stub()
}

/// The number of multiprocessors of the device. A grid alone may call it; a kernel has
/// [`num_programs`].
pub fn num_sms() -> usize {
    stub()
}
