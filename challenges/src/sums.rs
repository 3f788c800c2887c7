//! One number of many.

use crate::check::{length, shape};
use crate::kernels::sums as k;
use crate::queue::{Queue, Workspace};
use std::ops::Range;
use tilewright::{AsSlice, AsSliceMut, Result};

/// `y[0] = sum of a[i] * b[i]`; of nothing, 0. Sums are those of f32 in blocks.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless `a` and `b` have the same length and `y` has one element.
///
/// # Examples
/// ```
/// let mut y = [0.0f32];
/// tilewright_challenges::dot_product(&tilewright::Runtime::cpu(), &[1.0, 2.0], &[3.0, 4.0], &mut y)?;
/// assert_eq!(y, [11.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn dot_product<'a>(
    on: &impl Queue,
    a: impl AsSlice<'a, f32>,
    b: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    let (a, b, y) = (a.as_slice_arg(), b.as_slice_arg(), y.as_slice_mut_arg());
    length("dot_product", "b", b.len(), &[a.len()])?;
    length("dot_product", "y", y.len(), &[1])?;
    let mut w = Workspace::new(on)?;
    on.launch(k::sum_of_products(a, b, 1.0, 1.0, &mut w.words, &mut w.counter, y))
}

/// `y[0] = (b - a) * mean of samples`: the integral from `a` to `b` of a function with these values at random places.
/// Of no samples it is NaN.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless `y` has one element.
///
/// # Examples
/// ```
/// let mut y = [0.0f32];
/// tilewright_challenges::monte_carlo_integration(&tilewright::Runtime::cpu(), &[1.0, 2.0], &mut y, 0.0, 10.0)?;
/// assert_eq!(y, [15.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn monte_carlo_integration<'a>(
    on: &impl Queue,
    samples: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    a: f32,
    b: f32,
) -> Result<()> {
    let (samples, y) = (samples.as_slice_arg(), y.as_slice_mut_arg());
    length("monte_carlo_integration", "y", y.len(), &[1])?;
    let mut w = Workspace::new(on)?;
    let n = samples.len() as f32;
    on.launch(k::scaled_sum(samples, b - a, n, &mut w.words, &mut w.counter, y))
}

/// `y[0] = how many elements of x equal k`, modulo 2^32; of nothing, 0. An array of any rank is one array.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless `y` has one element.
///
/// # Examples
/// ```
/// let mut y = [9];
/// tilewright_challenges::count_elements(&tilewright::Runtime::cpu(), &[7, 1, 7], &mut y, 7)?;
/// assert_eq!(y, [2]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn count_elements<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, i32>,
    y: impl AsSliceMut<'a, i32>,
    k: i32,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("count_elements", "y", y.len(), &[1])?;
    let mut w = Workspace::new(on)?;
    let n = x.len();
    on.launch(k::count_equal(x, 0, n, k, &mut w.words, &mut w.counter, y))
}

/// `y[0] = sum of x[range]`, modulo 2^32; of nothing, 0.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless the range is in `x` and `y` has one element.
///
/// # Examples
/// ```
/// let mut y = [9];
/// tilewright_challenges::subarray_sum(&tilewright::Runtime::cpu(), &[1, 2, 3, 4], &mut y, 1..3)?;
/// assert_eq!(y, [5]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn subarray_sum<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, i32>,
    y: impl AsSliceMut<'a, i32>,
    range: Range<usize>,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("subarray_sum", "y", y.len(), &[1])?;
    within("subarray_sum", "elements", &range, x.len())?;
    let mut w = Workspace::new(on)?;
    on.launch(k::sum_between(x, range.start, range.end, 0, &mut w.words, &mut w.counter, y))
}

/// `y[0] = sum of a box of x`, modulo 2^32; of nothing, 0. The box is a range of each axis. A matrix has one plane.
///
/// Shapes: `x` is `[planes, rows, columns]`, which `extents` says.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless `x` has that length, the ranges are in it, and `y` has one
/// element.
///
/// # Examples
/// ```
/// let mut y = [9];
/// let x = [1, 2, 3, 4, 5, 6];
/// tilewright_challenges::subarray_sum_3d(&tilewright::Runtime::cpu(), &x, &mut y, [1, 2, 3], [0..1, 0..2, 1..3])?;
/// assert_eq!(y, [16]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn subarray_sum_3d<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, i32>,
    y: impl AsSliceMut<'a, i32>,
    extents: [usize; 3],
    [planes, rows, columns]: [Range<usize>; 3],
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    let op = "subarray_sum_3d";
    length(op, "x", x.len(), &extents)?;
    length(op, "y", y.len(), &[1])?;
    for (name, range, n) in
        [("planes", &planes, extents[0]), ("rows", &rows, extents[1]), ("columns", &columns, extents[2])]
    {
        within(op, name, range, n)?;
    }
    let mut w = Workspace::new(on)?;
    let [_, height, width] = extents;
    on.launch(k::box_sum(
        x,
        height,
        width,
        planes.start,
        planes.len(),
        rows.start,
        rows.len(),
        columns.start,
        columns.end,
        &mut w.words,
        &mut w.counter,
        y,
    ))
}

/// The range is one of `n` places.
fn within(what: &'static str, name: &str, range: &Range<usize>, n: usize) -> Result<()> {
    let holds = range.start <= range.end && range.end <= n;
    shape(what, holds, || format!("{name} {}..{} are not in {n}", range.start, range.end))
}
