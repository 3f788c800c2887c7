//! Windows of neighbors.

use crate::check::{length, shape};
use crate::kernels::stencil as k;
use crate::queue::Queue;
use tilewright::{AsSlice, AsSliceMut, Result};

/// Cross-correlation of a matrix, where the taps are inside: `y[i, j] = sum of x[i + r, j + c] * taps[r, c]`.
///
/// Shapes: `x` is `[rows, columns]`, `taps` is `[tap_rows, tap_columns]`, `y` is `[rows - tap_rows + 1, columns -
/// tap_columns + 1]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these, or there are more taps than elements
/// along an axis, or none.
///
/// # Examples
/// ```
/// let (x, mut y) = ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [0.0f32; 2]);
/// tilewright_challenges::convolution_2d(
///     &tilewright::Runtime::cpu(), &x, &[1.0, 10.0, 100.0, 1000.0], &mut y, [2, 3], [2, 2])?;
/// assert_eq!(y, [5421.0, 6532.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn convolution_2d<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    taps: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    [rows, columns]: [usize; 2],
    [tap_rows, tap_columns]: [usize; 2],
) -> Result<()> {
    valid("convolution_2d", on, x, taps, y, [1, rows, columns], [1, tap_rows, tap_columns])
}

/// The same of three axes: `y[h, i, j] = sum of x[h + d, i + r, j + c] * taps[d, r, c]`.
///
/// # Errors
/// As [`convolution_2d`].
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 4];
/// tilewright_challenges::convolution_3d(
///     &tilewright::Runtime::cpu(), &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0], &[1.0, 10.0], &mut y, [3, 1, 2], [2, 1, 1])?;
/// assert_eq!(y, [31.0, 42.0, 53.0, 64.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn convolution_3d<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    taps: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    extents: [usize; 3],
    tap_extents: [usize; 3],
) -> Result<()> {
    valid("convolution_3d", on, x, taps, y, extents, tap_extents)
}

fn valid<'a>(
    op: &'static str,
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    taps: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    extents: [usize; 3],
    tap_extents: [usize; 3],
) -> Result<()> {
    let (x, taps, y) = (x.as_slice_arg(), taps.as_slice_arg(), y.as_slice_mut_arg());
    let fits = extents.iter().zip(&tap_extents).all(|(n, k)| (1..=*n).contains(k));
    shape(op, fits, || format!("taps {tap_extents:?} do not fit into {extents:?}"))?;
    let [d, r, c] = [0, 1, 2].map(|i| extents[i] - tap_extents[i] + 1);
    length(op, "x", x.len(), &extents)?;
    length(op, "taps", taps.len(), &tap_extents)?;
    length(op, "y", y.len(), &[d, r, c])?;
    let ([_, rows, columns], [i, j, l]) = (extents, tap_extents);
    on.launch(k::correlate(x, taps, y, rows, columns, i, j, l, d, r, c, 0, 0))
}

/// Cross-correlation of a matrix with taps around each element: `y[i, j] = sum of x[i + r - tap_rows / 2, j + c -
/// tap_columns / 2] * taps[r, c]`, where elements outside count as 0.
///
/// Shapes: `x` and `y` are `[rows, columns]`, `taps` is `[tap_rows, tap_columns]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 3];
/// tilewright_challenges::gaussian_blur(
///     &tilewright::Runtime::cpu(), &[4.0, 8.0, 4.0], &[0.25, 0.5, 0.25], &mut y, [1, 3], [1, 3])?;
/// assert_eq!(y, [4.0, 6.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn gaussian_blur<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    taps: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    [rows, columns]: [usize; 2],
    [tap_rows, tap_columns]: [usize; 2],
) -> Result<()> {
    let (x, taps, y) = (x.as_slice_arg(), taps.as_slice_arg(), y.as_slice_mut_arg());
    let op = "gaussian_blur";
    length(op, "x", x.len(), &[rows, columns])?;
    length(op, "taps", taps.len(), &[tap_rows, tap_columns])?;
    length(op, "y", y.len(), &[rows, columns])?;
    let pads = (tap_rows / 2, tap_columns / 2);
    on.launch(k::correlate(x, taps, y, rows, columns, 1, tap_rows, tap_columns, 1, rows, columns, pads.0, pads.1))
}

/// The window of [`max_pooling_2d`].
///
/// # Examples
/// ```
/// let of = tilewright_challenges::Pooling { side: 3, stride: 2, padding: 1 };
/// assert_eq!(of.outputs(256), Some(128));
/// assert_eq!(of.outputs(0), None, "the window is longer than the axis and its padding");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pooling {
    /// Rows and columns of the window.
    pub side: usize,
    /// Elements between the beginnings of windows.
    pub stride: usize,
    /// Rows and columns around the plane, of minus infinity.
    pub padding: usize,
}

impl Pooling {
    /// The number of windows along an axis of `n` elements that end within the padding. `None` if no window does, or
    /// for a window without elements, a stride of 0, or padding of more than half of its side.
    pub fn outputs(&self, n: usize) -> Option<usize> {
        let possible = self.side > 0 && self.stride > 0 && self.padding <= self.side / 2;
        let rest = n.checked_add(2 * self.padding.min(n.max(self.side)))?.checked_sub(self.side)?;
        possible.then(|| rest / self.stride + 1)
    }
}

/// The greatest element of each window of each plane. NaN is greater than all numbers.
///
/// Shapes: `x` is `[planes, rows, columns]`, `y` is `[planes, pooling.outputs(rows), pooling.outputs(columns)]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these, or [`Pooling::outputs`] has no answer.
///
/// # Examples
/// ```
/// use tilewright_challenges::{Pooling, max_pooling_2d};
///
/// let (x, mut y) = ([1.0f32, 2.0, -3.0, -4.0, 5.0, 6.0, -7.0, -8.0], [0.0; 2]);
/// let window = Pooling { side: 2, stride: 2, padding: 0 };
/// max_pooling_2d(&tilewright::Runtime::cpu(), &x, &mut y, [1, 2, 4], window)?;
/// assert_eq!(y, [6.0, -3.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn max_pooling_2d<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    [planes, rows, columns]: [usize; 3],
    pooling: Pooling,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    let op = "max_pooling_2d";
    length(op, "x", x.len(), &[planes, rows, columns])?;
    let outputs = pooling.outputs(rows).zip(pooling.outputs(columns));
    shape(op, outputs.is_some(), || format!("no window of {pooling:?} is within {rows} x {columns}"))?;
    let (y_rows, y_columns) = outputs.unwrap_or_default();
    length(op, "y", y.len(), &[planes, y_rows, y_columns])?;
    let Pooling { side, stride, padding } = pooling;
    on.launch(k::max_pool(x, y, planes, rows, columns, y_rows, y_columns, side, stride, padding))
}

/// One sweep of the Jacobi method: each element becomes the mean of its four neighbors. The border stays.
///
/// Shapes: `x` and `y` are `[rows, columns]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 9];
/// let x = [0.0, 1.0, 0.0, 2.0, 9.0, 3.0, 0.0, 6.0, 0.0];
/// tilewright_challenges::jacobi_stencil_2d(&tilewright::Runtime::cpu(), &x, &mut y, [3, 3])?;
/// assert_eq!(y, [0.0, 1.0, 0.0, 2.0, 3.0, 3.0, 0.0, 6.0, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn jacobi_stencil_2d<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    [rows, columns]: [usize; 2],
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("jacobi_stencil_2d", "x", x.len(), &[rows, columns])?;
    length("jacobi_stencil_2d", "y", y.len(), &[rows, columns])?;
    on.launch(k::jacobi(x, y, rows, columns))
}

/// `y[b, t, d] = bias[d] + sum of x[b, t - k, d] * taps[d, k]`, where steps before the first count as 0.
///
/// Shapes: `x` and `y` are `[batch, steps, channels]`, `taps` is `[channels, count]`, `bias` is `[channels]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 3];
/// tilewright_challenges::causal_depthwise_conv1d(
///     &tilewright::Runtime::cpu(), &[1.0, 2.0, 3.0], &[1.0, 10.0], &[0.5], &mut y, [1, 3, 1], 2)?;
/// assert_eq!(y, [1.5, 12.5, 23.5]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn causal_depthwise_conv1d<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    taps: impl AsSlice<'a, f32>,
    bias: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    [batch, steps, channels]: [usize; 3],
    count: usize,
) -> Result<()> {
    let (x, taps, bias, y) = (x.as_slice_arg(), taps.as_slice_arg(), bias.as_slice_arg(), y.as_slice_mut_arg());
    let op = "causal_depthwise_conv1d";
    length(op, "x", x.len(), &[batch, steps, channels])?;
    length(op, "taps", taps.len(), &[channels, count])?;
    length(op, "bias", bias.len(), &[channels])?;
    length(op, "y", y.len(), &[batch, steps, channels])?;
    on.launch(k::causal_convolution(x, taps, bias, y, batch, steps, channels, count))
}
