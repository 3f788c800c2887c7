//! Scans: each element is combined with all before it.

use crate::check::{length, rows, shape};
use crate::kernels::scans as k;
use crate::queue::{Queue, Workspace};
use tilewright::{AsSlice, AsSliceMut, Result};

/// No kernel of a scan over an array has smaller blocks: each program needs a word, or two.
const BLOCK: usize = 4096;

/// `y[i] = x[0] + .. + x[i]`. Sums are those of f32 in blocks.
///
/// The sums of blocks are added in an order that may change from call to call, and the last bits of arrays of several
/// blocks with it.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless both arrays have the same length.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 3];
/// tilewright_challenges::prefix_sum(&tilewright::Runtime::cpu(), &[1.0, 2.0, 4.0], &mut y)?;
/// assert_eq!(y, [1.0, 3.0, 7.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn prefix_sum<'a>(on: &impl Queue, x: impl AsSlice<'a, f32>, y: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("prefix_sum", "y", y.len(), &[x.len()])?;
    let mut w = Workspace::of_words(on, x.len().div_ceil(BLOCK))?;
    on.launch(k::prefix_sums(x, y, &mut w.words, &mut w.counter))
}

/// The sum of the elements before each one, itself left out, in its segment. A segment begins where a flag is not 0.
///
/// The sums of blocks are added in an order that may change from call to call, and the last bits of arrays of several
/// blocks with it.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless all arrays have the same length.
///
/// # Examples
/// ```
/// let mut y = [9.0f32; 5];
/// let (x, flags) = ([1.0f32, 2.0, 3.0, 4.0, 5.0], [0, 0, 1, 0, 0]);
/// tilewright_challenges::segmented_prefix_sum(&tilewright::Runtime::cpu(), &x, &flags, &mut y)?;
/// assert_eq!(y, [0.0, 1.0, 0.0, 3.0, 7.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn segmented_prefix_sum<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, f32>,
    flags: impl AsSlice<'a, i32>,
    y: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    let (x, flags, y) = (x.as_slice_arg(), flags.as_slice_arg(), y.as_slice_mut_arg());
    length("segmented_prefix_sum", "flags", flags.len(), &[x.len()])?;
    length("segmented_prefix_sum", "y", y.len(), &[x.len()])?;
    let mut w = Workspace::of_words(on, 2 * x.len().div_ceil(BLOCK))?;
    on.launch(k::segmented_sums(x, flags, y, &mut w.words, &mut w.counter))
}

/// The elements of `x` that are greater than 0, in order; the rest of `y` is 0.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless both arrays have the same length.
///
/// # Examples
/// ```
/// let mut y = [9.0f32; 4];
/// tilewright_challenges::stream_compaction(&tilewright::Runtime::cpu(), &[-1.0, 2.0, 0.0, 1.0], &mut y)?;
/// assert_eq!(y, [2.0, 1.0, 0.0, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn stream_compaction<'a>(on: &impl Queue, x: impl AsSlice<'a, f32>, y: impl AsSliceMut<'a, f32>) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    length("stream_compaction", "y", y.len(), &[x.len()])?;
    let mut w = Workspace::of_words(on, 2 * x.len().div_ceil(BLOCK))?;
    on.launch(k::compact(x, y, &mut w.words, &mut w.counter))
}

/// `y[0]` = the greatest sum of `window` successive elements. Sums are modulo 2^32; that of no elements is 0.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless `x` has a window of this length and `y` has one element.
///
/// # Examples
/// ```
/// let mut y = [9];
/// tilewright_challenges::max_subarray_sum(&tilewright::Runtime::cpu(), &[1, -2, 3, 4], &mut y, 3)?;
/// assert_eq!(y, [5]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn max_subarray_sum<'a>(
    on: &impl Queue,
    x: impl AsSlice<'a, i32>,
    y: impl AsSliceMut<'a, i32>,
    window: usize,
) -> Result<()> {
    let (x, y) = (x.as_slice_arg(), y.as_slice_mut_arg());
    let (op, n) = ("max_subarray_sum", x.len());
    shape(op, window <= n, || format!("the window has {window} elements, and x has {n}"))?;
    length(op, "y", y.len(), &[1])?;
    let mut sums = on.stream().scratch::<i32>(n)?;
    let mut w = Workspace::of_words(on, n.div_ceil(BLOCK))?;
    on.launch(k::prefix_sums(x, &mut sums, &mut w.words, &mut w.counter))?;
    let mut w = Workspace::new(on)?;
    on.launch(k::greatest_window(&sums, window, &mut w.words, &mut w.counter, y))
}

/// `h[t] = a[t] * h[t - 1] + x[t]` of each row, where the value before the row is 0. Blocks of a row are composed maps,
/// in which 0 times infinity counts as 0. After an element that is not finite, and if the product of some successive
/// elements of `a` is infinite, a row may differ from the recurrence.
///
/// Shapes: all arrays are `[rows, columns]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless the arrays have the same length, of whole rows.
///
/// # Examples
/// ```
/// let mut h = [0.0f32; 4];
/// let (a, x) = ([0.5f32; 4], [1.0f32, 2.0, 3.0, 4.0]);
/// tilewright_challenges::linear_recurrence(&tilewright::Runtime::cpu(), &a, &x, &mut h, 2)?;
/// assert_eq!(h, [1.0, 2.5, 3.0, 5.5]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn linear_recurrence<'a>(
    on: &impl Queue,
    a: impl AsSlice<'a, f32>,
    x: impl AsSlice<'a, f32>,
    h: impl AsSliceMut<'a, f32>,
    columns: usize,
) -> Result<()> {
    let (a, x, h) = (a.as_slice_arg(), x.as_slice_arg(), h.as_slice_mut_arg());
    let op = "linear_recurrence";
    let rows = rows(op, "x", x.len(), columns)?;
    length(op, "a", a.len(), &[x.len()])?;
    length(op, "h", h.len(), &[x.len()])?;
    on.launch(k::recurrences(a, x, h, rows, columns))
}

/// Generalized advantage estimates of each row: `A[t] = r[t] + gamma * V[t + 1] - V[t] + gamma * lambda * A[t + 1]`.
/// Behind the end of the row values and advantages are 0.
///
/// Shapes: all arrays are `[rows, columns]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) unless the arrays have the same length, of whole rows.
///
/// # Examples
/// ```
/// let mut y = [0.0f32; 2];
/// tilewright_challenges::gae_reverse_scan(&tilewright::Runtime::cpu(), &[1.0, 2.0], &[4.0, 8.0], &mut y, 0.5, 0.5, 2)?;
/// assert_eq!(y, [1.0 + 4.0 - 4.0 - 1.5, -6.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn gae_reverse_scan<'a>(
    on: &impl Queue,
    rewards: impl AsSlice<'a, f32>,
    values: impl AsSlice<'a, f32>,
    advantages: impl AsSliceMut<'a, f32>,
    gamma: f32,
    lambda: f32,
    columns: usize,
) -> Result<()> {
    let (rewards, values, y) = (rewards.as_slice_arg(), values.as_slice_arg(), advantages.as_slice_mut_arg());
    let op = "gae_reverse_scan";
    let rows = rows(op, "rewards", rewards.len(), columns)?;
    length(op, "values", values.len(), &[rewards.len()])?;
    length(op, "advantages", y.len(), &[rewards.len()])?;
    on.launch(k::advantages(rewards, values, y, rows, columns, gamma, gamma * lambda))
}

/// The inputs of a selective scan.
///
/// # Examples
/// [`ssm_selective_scan`] has one.
#[derive(Clone, Copy, Debug)]
pub struct SelectiveScan<X> {
    /// `[batch, steps, channels]`
    pub u: X,
    /// `[batch, steps, channels]`
    pub delta: X,
    /// `[channels, states]`
    pub a: X,
    /// `[batch, steps, states]`
    pub b: X,
    /// `[batch, steps, states]`
    pub c: X,
    /// `[channels]`
    pub skip: X,
}

/// A selective state space model. A channel `d` has `states` states, which begin as 0:
/// `h[t, n] = exp(delta[t, d] * a[d, n]) * h[t - 1, n] + delta[t, d] * b[t, n] * u[t, d]`. Its result `y[t, d]` is the
/// sum of `c[t, n] * h[t, n]`, and `skip[d] * u[t, d]`.
///
/// Blocks of steps are composed maps, in which 0 times infinity counts as 0. After a value that is not finite, and
/// where the product of the factors of some steps that follow each other is infinite, a channel may differ from the
/// recurrence.
///
/// Shapes: `y` is `[batch, steps, channels]`, those of the inputs are at [`SelectiveScan`]. `extents` is
/// `[batch, steps, channels, states]`.
///
/// # Errors
/// [`Error::Shape`](tilewright::Error::Shape) where lengths differ from these.
///
/// # Examples
/// ```
/// use tilewright_challenges::{SelectiveScan, ssm_selective_scan};
///
/// let mut y = [0.0f32; 2];
/// let (u, delta, one) = ([3.0f32, 5.0], [1.0f32; 2], [1.0f32; 2]);
/// let x = SelectiveScan { u: &u[..], delta: &delta[..], a: &[0.0][..], b: &[1.0, 2.0][..], c: &one[..], skip: &one[..1] };
/// ssm_selective_scan(&tilewright::Runtime::cpu(), x, &mut y, [1, 2, 1, 1])?;
/// assert_eq!(y, [3.0 + 3.0, 3.0 + 10.0 + 5.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn ssm_selective_scan<'a>(
    on: &impl Queue,
    x: SelectiveScan<impl AsSlice<'a, f32>>,
    y: impl AsSliceMut<'a, f32>,
    [batch, steps, channels, states]: [usize; 4],
) -> Result<()> {
    let op = "ssm_selective_scan";
    let (u, delta, a) = (x.u.as_slice_arg(), x.delta.as_slice_arg(), x.a.as_slice_arg());
    let (b, c, skip, y) = (x.b.as_slice_arg(), x.c.as_slice_arg(), x.skip.as_slice_arg(), y.as_slice_mut_arg());
    for (name, found) in [("u", u.len()), ("delta", delta.len()), ("y", y.len())] {
        length(op, name, found, &[batch, steps, channels])?;
    }
    length(op, "a", a.len(), &[channels, states])?;
    length(op, "b", b.len(), &[batch, steps, states])?;
    length(op, "c", c.len(), &[batch, steps, states])?;
    length(op, "skip", skip.len(), &[channels])?;
    on.launch(k::selective_scan(u, delta, a, b, c, skip, y, batch, steps, channels, states))
}
