//! The grid: programs, and their share of the work.

use crate::stub;
use crate::value::Int;

/// The number of this program along `axis` of the grid, from 0 on.
///
/// `axis` is 0, 1 or 2: the grid has three dimensions, and a dimension that `grid = [..]` leaves out has one program.
/// Another axis is an error. The result is uniform: the same in the whole program.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [2])]
/// fn k(y: &mut [usize]) {
///     let i = program_id(0) * 4 + arange(4);
///     store(y, i, program_id(0));
/// }
/// # }
/// let mut y = [9; 8];
/// Runtime::cpu().launch(k(&mut y))?;
/// assert_eq!(y, [0, 0, 0, 0, 1, 1, 1, 1]);
/// # Ok::<(), tilewright::Error>(())
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
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [2])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let mut total = zeros::<f32>([2]);
///     for block in range(program_id(0), cdiv(x.len(), 2), num_programs(0)) {
///         total += load(x, block * 2 + arange(2));
///     }
///     store(y, program_id(0), sum(total));
/// }
/// # }
/// let mut y = [0.0; 2]; // program 0 adds up blocks 0 and 2, program 1 block 1
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &mut y))?;
/// assert_eq!(y, [14.0, 7.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn num_programs(axis: usize) -> usize {
    let _ = axis;
    stub()
}

/// The row and the column of the `t`-th of `tm * tn` tiles. The order goes down the columns of `group` rows of tiles,
/// then to the next `group` rows, so that programs that run at a time share operands in the L2 cache.
///
/// `t` and the extents are scalars, and `group` is a constant of at least 1; anything else is an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [6])]
/// fn k(y: &mut [usize], rows: usize, columns: usize) {
///     let (i, j) = swizzle2d(program_id(0), (rows, columns), 2);
///     store(y, program_id(0), i * 10 + j);
/// }
/// # }
/// let mut y = [99; 6];
/// Runtime::cpu().launch(k(&mut y, 2, 3))?;
/// assert_eq!(y, [0, 10, 1, 11, 2, 12]);
/// # Ok::<(), tilewright::Error>(())
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
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], blocks: &mut [usize]) {
///     store(blocks, 0, cdiv(x.len(), 256));
/// }
/// # }
/// let mut blocks = [0];
/// Runtime::cpu().launch(k(&[0.0; 300], &mut blocks))?;
/// assert_eq!(blocks, [2]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn cdiv<T: Int>(a: T, b: T) -> T {
    let _ = (a, b);
    stub()
}

/// The least power of two that is `n` or more; of 0 it is 1.
///
/// In a kernel `n` is a constant. In a grid and in `requires` it may be an extent of an argument:
/// `requires = [BLOCK == next_power_of_two(x.dim(1))]`.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(y: &mut [usize]) {
///     const COLUMNS: usize = 3;
///     store(y, arange(4), arange(next_power_of_two(COLUMNS)));
/// }
/// # }
/// let mut y = [9; 4];
/// Runtime::cpu().launch(k(&mut y))?;
/// assert_eq!(y, [0, 1, 2, 3]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub const fn next_power_of_two(n: usize) -> usize {
    n.next_power_of_two()
}

/// The number of multiprocessors of the device. A grid alone may call it; a kernel has
/// [`num_programs`].
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [num_sms()])]
/// fn k(y: &mut [usize]) {
///     store(y, 0, num_programs(0));
/// }
/// # }
/// let (rt, mut y) = (Runtime::cpu(), [0]);
/// rt.launch(k(&mut y))?;
/// assert_eq!(y[0], rt.device().num_sms as u64);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn num_sms() -> usize {
    stub()
}
