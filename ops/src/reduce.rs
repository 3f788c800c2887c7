//! Many elements, one result.

use super::{Executor, check};
use tilewright_core::{AsSlice, AsSliceMut, AsView, f16};
use tilewright_kernels as k;
use tilewright_runtime::{Result, Scratch};

/// Partial results per multiprocessor: no kernel starts more programs than that.
const PARTIALS_PER_SM: usize = 16;

/// A word for the partial result of each program, and a semaphore.
fn workspace_of(on: &impl Executor) -> Result<(Scratch<u64>, Scratch<u32>)> {
    let programs = PARTIALS_PER_SM * on.num_sms();
    // SAFETY: the kernels below reduce over the programs of a grid by the library `grid`, whose last program puts the
    // words and the semaphore back.
    Ok(unsafe { (on.stream().zeroed_scratch(programs)?, on.stream().zeroed_scratch(1)?) })
}

/// `y[0] = sum of x`. The same array on the same device gives the same bits in every launch of one configuration, which
/// measurements choose; with [`ExecOptions::batch_invariant`](crate::ExecOptions::batch_invariant) in every launch.
///
/// One launch; scratch for a partial sum per program.
///
/// Shapes: `y` has one element.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [0.0f32];
/// ops::reduction(&Runtime::cpu(), &[1.0, 2.0, 3.0], &mut y)?;
/// assert_eq!(y, [6.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn reduction<'a>(on: &impl Executor, x: impl AsSlice<'a, f32>, y: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    check::length("reduction", "y", y.len(), 1, "a sum")?;
    let (mut workspace, mut semaphore) = workspace_of(on)?;
    on.launch(k::reduction::reduction(x, &mut workspace, &mut semaphore, y))
}

/// `y[0] = how many elements of x equal k`, modulo 2^32.
///
/// One launch; scratch for a partial count per program.
///
/// Shapes: `y` has one element.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [0];
/// ops::count_array_element(&Runtime::cpu(), &[7, 1, 7, 7], &mut y, 7)?;
/// assert_eq!(y, [3]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn count_array_element<'a>(
    on: &impl Executor,
    x: impl AsSlice<'a, i32>,
    y: impl AsSliceMut<'a, i32>,
    k: i32,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    check::length("count_array_element", "y", y.len(), 1, "a count")?;
    let (mut workspace, mut semaphore) = workspace_of(on)?;
    on.launch(k::count_array_element::count_array_element(x, &mut workspace, &mut semaphore, y, k))
}

/// [`count_array_element`] over a matrix with strides.
///
/// Shapes: `y` has one element.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime, ops};
///
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[7, 1, 7, 7, 7, 0])?;
/// // The first two columns of a 2 x 3 matrix.
/// let columns = x.slice(..)?.strided([2, 2], [3, 1])?;
/// let mut y = [0];
/// ops::count_2d_array_element(&rt, columns, &mut y, 7)?;
/// assert_eq!(y, [3]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn count_2d_array_element<'a>(
    on: &impl Executor,
    x: impl AsView<'a, i32, 2>,
    y: impl AsSliceMut<'a, i32>,
    k: i32,
) -> Result<()> {
    let (x, y) = (x.as_view_arg(), y.as_slice_mut_arg());
    check::length("count_2d_array_element", "y", y.len(), 1, "a count")?;
    if let Some(x) = x.as_contiguous() {
        return count_array_element(on, x, y, k);
    }
    let (mut workspace, mut semaphore) = workspace_of(on)?;
    on.launch(k::count_2d_array_element::count_2d_array_element(x, &mut workspace, &mut semaphore, y, k))
}

/// `y[0] = sum of a[i] * b[i]`, accumulated in f32 and rounded once. The same arrays on the same device give the same
/// bits in every launch of one configuration, as in [`reduction`].
///
/// One launch; scratch for a partial sum per program.
///
/// Shapes: `a`, `b` of equal length; `y` has one element.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, f16, ops};
///
/// let [a, b] = [[1.0, 2.0], [3.0, 4.0]].map(|v| v.map(f16::from_f32));
/// let mut y = [f16::ZERO];
/// ops::dot_product(&Runtime::cpu(), &a, &b, &mut y)?;
/// assert_eq!(y[0].to_f32(), 11.0);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn dot_product<'a>(
    on: &impl Executor,
    a: impl AsSlice<'a, f16>,
    b: impl AsSlice<'a, f16>,
    y: impl AsSliceMut<'a, f16>,
) -> Result<()> {
    let (a, b, y) = (a.as_slice_arg(), b.as_slice_arg(), y.as_slice_mut_arg());
    check::same_length("dot_product", &[("a", a.len()), ("b", b.len())])?;
    check::length("dot_product", "y", y.len(), 1, "a sum")?;
    let (mut workspace, mut semaphore) = workspace_of(on)?;
    on.launch(k::dot_product::dot_product(a, b, &mut workspace, &mut semaphore, y))
}
