//! Each element by itself, or a fixed few of them.

use crate::check::{length, rows, shape};
use crate::kernels::elementwise as k;
use crate::queue::Queue;
use tilewright::{AsSlice, AsSliceMut, Result};

/// `c = a + b`, of matrices of any shape.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless all have the same length.
///
/// # Examples
/// ```
/// let mut c = [0.0f32; 2];
/// tilewright_challenges::matrix_addition(&tilewright::Runtime::cpu(), &[1.0, 2.0], &[3.0, 4.0], &mut c)?;
/// assert_eq!(c, [4.0, 6.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn matrix_addition<'a>(
    on: &impl Queue,
    a: impl AsSlice<'a, f32>,
    b: impl AsSlice<'a, f32>,
    c: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    let (a, b, c) = (a.as_slice_arg(), b.as_slice_arg(), c.as_slice_mut_arg());
    length("matrix_addition", "a", a.len(), &[c.len()])?;
    length("matrix_addition", "b", b.len(), &[c.len()])?;
    on.launch(k::add(a, b, c))
}

/// `y = 1 / (1 + e^-x)`, which is 0 and 1 for large arguments. NaN stays NaN.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless both have the same length.
///
/// # Examples
/// ```
/// let mut y = [9.0f32; 3];
/// tilewright_challenges::sigmoid(&tilewright::Runtime::cpu(), &[0.0, 1000.0, -1000.0], &mut y)?;
/// assert_eq!(y, [0.5, 1.0, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn sigmoid<'a>(on: &impl Queue, x: impl AsSlice<'a, f32>, y: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("sigmoid", "x", x.len(), &[y.len()])?;
    on.launch(k::logistic(x, y))
}

/// `y = x * sigmoid(x)`
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless both have the same length.
///
/// # Examples
/// ```
/// let mut y = [9.0f32; 2];
/// tilewright_challenges::silu(&tilewright::Runtime::cpu(), &[0.0, 100.0], &mut y)?;
/// assert_eq!(y, [0.0, 100.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn silu<'a>(on: &impl Queue, x: impl AsSlice<'a, f32>, y: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("silu", "x", x.len(), &[y.len()])?;
    on.launch(k::silu(x, y))
}

/// `y = silu(gate) * value`. They may be the halves of one array.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless all have the same length.
///
/// # Examples
/// ```
/// let mut y = [9.0f32; 2];
/// tilewright_challenges::swiglu(&tilewright::Runtime::cpu(), &[0.0, 100.0], &[7.0, 0.5], &mut y)?;
/// assert_eq!(y, [0.0, 50.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn swiglu<'a>(
    on: &impl Queue,
    gate: impl AsSlice<'a, f32>,
    value: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    let (gate, value, y) = (gate.as_slice_arg(), value.as_slice_arg(), y.as_slice_mut_arg());
    length("swiglu", "gate", gate.len(), &[y.len()])?;
    length("swiglu", "value", value.len(), &[y.len()])?;
    on.launch(k::swiglu(gate, value, y))
}

/// `y = value * gelu(gate)`, by the exact form of GELU, `gate / 2 * (1 + erf(gate / sqrt(2)))`. They may be the halves
/// of one array.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless all have the same length.
///
/// # Examples
/// ```
/// let mut y = [9.0f32; 2];
/// tilewright_challenges::geglu(&tilewright::Runtime::cpu(), &[3.0, 0.5], &[0.0, 10.0], &mut y)?;
/// assert_eq!(y, [0.0, 5.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn geglu<'a>(
    on: &impl Queue,
    value: impl AsSlice<'a, f32>,
    gate: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    let (value, gate, y) = (value.as_slice_arg(), gate.as_slice_arg(), y.as_slice_mut_arg());
    length("geglu", "value", value.len(), &[y.len()])?;
    length("geglu", "gate", gate.len(), &[y.len()])?;
    on.launch(k::geglu(value, gate, y))
}

/// `y = min(max(x, lo), hi)`. NaN stays NaN. If `lo` is greater than `hi`, the result is `hi`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless both have the same length.
///
/// # Examples
/// ```
/// let mut y = [9.0f32; 3];
/// tilewright_challenges::value_clipping(&tilewright::Runtime::cpu(), &[-5.0, 0.5, 5.0], &mut y, -1.0, 2.0)?;
/// assert_eq!(y, [-1.0, 0.5, 2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn value_clipping<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    lo: f32,
    hi: f32,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("value_clipping", "x", x.len(), &[y.len()])?;
    on.launch(k::clip(x, lo, hi, y))
}

/// `y[2 i] = a[i]`, `y[2 i + 1] = b[i]`
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless `a` and `b` have the same length and `y` has twice that.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 4];
/// tilewright_challenges::interleave(&tilewright::Runtime::cpu(), &[1.0, 2.0], &[3.0, 4.0], &mut y)?;
/// assert_eq!(y, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn interleave<'a>(
    on: &impl Queue,
    a: impl AsSlice<'a, f32>,
    b: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    let (a, b, y) = (a.as_slice_arg(), b.as_slice_arg(), y.as_slice_mut_arg());
    length("interleave", "b", b.len(), &[a.len()])?;
    length("interleave", "y", y.len(), &[2, a.len()])?;
    on.launch(k::interleaved(a, b, y))
}

/// `gray = 0.299 red + 0.587 green + 0.114 blue`, of pixels of three numbers.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless `rgb` has three times as many elements as `gray`.
///
/// # Examples
/// ```
/// let mut gray = [0.0f32; 2];
/// let rgb = [0.0f32, 0.0, 0.0, 1000.0, 0.0, 0.0];
/// tilewright_challenges::rgb_to_grayscale(&tilewright::Runtime::cpu(), &rgb, &mut gray)?;
/// assert_eq!(gray, [0.0, 299.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn rgb_to_grayscale<'a>(on: &impl Queue, rgb: impl AsSlice<'a, f32>, gray: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (rgb, gray) = (rgb.as_slice_arg(), gray.as_slice_mut_arg());
    length("rgb_to_grayscale", "rgb", rgb.len(), &[3, gray.len()])?;
    on.launch(k::grayscale(rgb, gray))
}

/// `y = x * cosines + rotated * sines`, where `rotated` has minus the second half of each row of `x`, then the first
/// half.
///
/// Shapes: all are `[rows, columns]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless `columns` is even and all lengths are the same whole rows.
///
/// # Examples
/// ```
/// let (cosines, sines) = ([0.0f32, 0.0], [1.0f32, 1.0]);
/// let mut y = [0.0f32; 2];
/// tilewright_challenges::rope_embedding(&tilewright::Runtime::cpu(), &[3.0, 4.0], &cosines, &sines, &mut y, 2)?;
/// assert_eq!(y, [-4.0, 3.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn rope_embedding<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    cosines: impl AsSlice<'a, f32>,
    sines: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    columns: usize,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    let (cosines, sines) = (cosines.as_slice_arg(), sines.as_slice_arg());
    let op = "rope_embedding";
    shape(op, columns.is_multiple_of(2), || format!("{columns} columns have no halves"))?;
    let rows = rows(op, "x", x.len(), columns)?;
    length(op, "cosines", cosines.len(), &[rows, columns])?;
    length(op, "sines", sines.len(), &[rows, columns])?;
    length(op, "y", y.len(), &[rows, columns])?;
    on.launch(k::rope(x, cosines, sines, y, rows, columns / 2))
}

/// `y = x`, each element times the scale of the square it is in.
///
/// Shapes: `x` and `y` are `[rows, columns]`, `scales` is `[ceil(rows / side), ceil(columns / side)]`: a scale for each
/// square of `side` rows and columns.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these, or `side` is 0.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 3];
/// tilewright_challenges::weight_dequantization(
///     &tilewright::Runtime::cpu(), &[1.0, 2.0, 3.0], &[10.0, 100.0], &mut y, [1, 3], 2)?;
/// assert_eq!(y, [10.0, 20.0, 300.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn weight_dequantization<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    scales: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    [rows, columns]: [usize; 2],
    side: usize,
) -> Result<()> {
    let (x, scales, y) = (x.as_slice_arg(), scales.as_slice_arg(), y.as_slice_mut_arg());
    let op = "weight_dequantization";
    shape(op, side > 0, || "squares have a side of 0".into())?;
    length(op, "x", x.len(), &[rows, columns])?;
    length(op, "scales", scales.len(), &[rows.div_ceil(side), columns.div_ceil(side)])?;
    length(op, "y", y.len(), &[rows, columns])?;
    on.launch(k::dequantized(x, scales, y, rows, columns, side))
}
