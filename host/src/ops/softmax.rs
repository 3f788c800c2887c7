//! Softmax.

use super::{Launch, check};
use crate::choose::Tunable;
use crate::error::Result;
use crate::tuner::measure::Output;
use tilewright_core::cpu::fork::PerProcess;
use tilewright_core::{AsSlice, AsSliceMut, SliceArg, SliceMutArg};
use tilewright_kernels::softmax_1d::{softmax_1d_apply, softmax_1d_partial};
use tilewright_kernels::softmax_rows::{softmax_row, softmax_rows_packed, softmax_rows_wide};

/// Softmax over a whole array of any length.
///
/// Two launches, of which the second begins while the first ends. Two floats of scratch for each program of the first.
///
/// A result below 2^-126 is 0. Where `x` has a NaN or an infinity, or nothing but minus infinity, every result is a
/// NaN.
///
/// Shapes: `x`, `y` of equal length.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [0.0f32; 4];
/// ops::softmax_1d(&Runtime::cpu(), &[3.0; 4], &mut y)?;
/// assert_eq!(y, [0.25; 4]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn softmax_1d<'a>(on: &impl Launch, x: impl AsSlice<'a, f32>, y: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    check::same_length("softmax_1d", &[("x", x.len()), ("y", y.len())])?;
    if x.is_empty() {
        return Ok(());
    }
    // A pair is two loads in every program of the second launch: as many programs as keep the device busy, no more.
    let pairs = x.len().div_ceil(4096).clamp(1, 4 * on.num_sms());
    let mut maxima = on.stream().scratch::<f32>(pairs)?;
    let mut sums = on.stream().scratch::<f32>(pairs)?;
    on.launch(softmax_1d_partial(x, &mut maxima, &mut sums))?;
    // SAFETY: the launch in front reads `x` and writes maxima and sums, which this one reads after its wait, as it stores
    // after it.
    unsafe { on.launch_early(softmax_1d_apply(x, &maxima, &sums, y)) }
}

/// Softmax of every row of a row-major, contiguous matrix of any width.
///
/// Three kernels do it: several rows in a tile, one row in a tile, and rows wider than a tile. Which is fastest is
/// measured once for each size (see [`crate::Autotune`]).
///
/// A result below 2^-126 is 0. Where a row has a NaN or an infinity, or nothing but minus infinity, all its results are
/// NaN.
///
/// Shapes: `x` and `y` are `rows * cols`.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let x = [3.0f32, 3.0, 0.0, -200.0];
/// let mut y = [0.0f32; 4];
/// ops::softmax_rows(&Runtime::cpu(), &x, &mut y, 2, 2)?;
/// assert_eq!(y, [0.5, 0.5, 1.0, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn softmax_rows<'a>(
    on: &impl Launch,
    x: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
    rows: usize,
    cols: usize,
) -> Result<()> {
    const WHAT: &str = ROWS;
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    let area = check::area(WHAT, rows, cols)?;
    check::length(WHAT, "x", x.len(), area, &format!("a {rows} x {cols} matrix"))?;
    check::length(WHAT, "y", y.len(), area, &format!("a {rows} x {cols} matrix"))?;
    if area == 0 {
        return Ok(());
    }
    if let Some(kernel) = on.pin().and_then(|(k, _)| KERNELS.into_iter().find(|name| *name == k.name)) {
        return launch_rows(on, kernel, x, y, rows, cols);
    }
    let kernels = by_width(cols);
    // SAFETY: the candidates alone use `y` during the choice: it is borrowed mutably here.
    let outputs = [unsafe { Output::new(&y) }];
    let op = Tunable { name: WHAT, types: "", version: version(), sizes: &[rows, cols], candidates: &kernels };
    let choice = on.choose_among(&op, &outputs, |i| {
        // SAFETY: one launch has it at a time.
        launch_rows(on, kernels[i], x, unsafe { again(&y) }, rows, cols)
    })?;
    launch_rows(on, kernels[choice], x, y, rows, cols)
}

/// What the choice among them is filed under.
pub(super) const ROWS: &str = "softmax_rows";
pub(super) const KERNELS: [&str; 3] = ["softmax_row", "softmax_rows_packed", "softmax_rows_wide"];

/// The likely one first: it is taken where nothing was measured.
fn by_width(cols: usize) -> [&'static str; 3] {
    let [one, packed, wide] = KERNELS;
    match cols {
        0..=512 => [packed, one, wide],
        513..=32768 => [one, packed, wide],
        _ => [wide, one, packed],
    }
}

fn launch_rows(
    on: &impl Launch,
    kernel: &str,
    x: SliceArg<f32>,
    y: SliceMutArg<f32>,
    rows: usize,
    cols: usize,
) -> Result<()> {
    match kernel {
        "softmax_rows_packed" => on.launch(softmax_rows_packed(x, y, rows, cols)),
        "softmax_rows_wide" => on.launch(softmax_rows_wide(x, y, rows, cols)),
        _ => on.launch(softmax_row(x, y, rows, cols)),
    }
}

/// The output once more, for one more measured run.
///
/// # Safety
/// One launch has it at a time: it is enqueued before the next one is made.
unsafe fn again<'b>(y: &'b SliceMutArg<'_, f32>) -> SliceMutArg<'b, f32> {
    // SAFETY: the same borrow, which one launch has at a time by the caller's contract.
    unsafe { SliceMutArg::from_raw(y.addr(), y.len(), y.place()) }
}

/// Changes with any of the kernels.
fn version() -> &'static str {
    static VERSION: PerProcess<String> = PerProcess::new();
    VERSION.get_or_init(|| {
        Tunable::version_of(&[softmax_row::DESCS, softmax_rows_packed::DESCS, softmax_rows_wide::DESCS])
    })
}
