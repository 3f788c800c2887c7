//! Operations on whole matrices.

use super::{Executor, check};
use tilewright_core::{AsSlice, AsSliceMut};
use tilewright_kernels as k;
use tilewright_runtime::Result;

/// `y[c, r] = x[r, c]`.
///
/// Shapes: `x` is `rows * cols`, row-major and contiguous; `y` is as long.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [0.0f32; 6];
/// ops::matrix_transpose(&Runtime::cpu(), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &mut y, 2, 3)?;
/// assert_eq!(y, [1.0, 4.0, 2.0, 5.0, 3.0, 6.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn matrix_transpose<'a>(
    on: &impl Executor,
    x: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    rows: usize,
    cols: usize,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    let area = check::area("matrix_transpose", rows, cols)?;
    check::length("matrix_transpose", "x", x.len(), area, &format!("a {rows} x {cols} matrix"))?;
    check::length("matrix_transpose", "y", y.len(), area, &format!("a {cols} x {rows} matrix"))?;
    on.launch(k::matrix_transpose::matrix_transpose(x, y, rows, cols))
}
