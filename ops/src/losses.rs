//! Losses of rows of logits, and their gradients.

use super::{Executor, check};
use crate::by_type::by_type;
use tilewright_core::{AsSlice, AsSliceMut, Call, SliceArg, SliceMutArg, bf16, f16};
use tilewright_kernels::losses as k;
use tilewright_runtime::{Error, Result};

by_type! {
    /// The element types of logits: `f32`, `f16` and `bf16`. The trait is sealed.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Result, Runtime, ops};
    ///
    /// /// The loss of each row of `classes` logits.
    /// fn losses<T: ops::Logit>(rt: &Runtime, logits: &Buffer<T>, targets: &Buffer<i32>) -> Result<Vec<f32>> {
    ///     let mut losses = Buffer::<f32>::zeros(rt, targets.len())?;
    ///     ops::cross_entropy(rt, logits, targets, &mut losses, &mut [])?;
    ///     losses.to_vec()
    /// }
    /// let rt = Runtime::cpu();
    /// let (logits, targets) = (Buffer::from_slice(&rt, &[0.0f32, 0.0])?, Buffer::from_slice(&rt, &[1])?);
    /// assert!((losses(&rt, &logits, &targets)?[0] - 2.0f32.ln()).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    /// Other crates cannot implement it:
    /// ```compile_fail,E0277
    /// struct Mine;
    /// impl tilewright_ops::Logit for Mine {}
    /// ```
    pub trait Logit: LossKernels<'a> for [f32, f16, bf16] {
        fn cross_entropy(
            logits: SliceArg<'a, Self>,
            targets: SliceArg<'a, i32>,
            losses: SliceMutArg<'a, f32>,
            lse: SliceMutArg<'a, f32>,
            rows: usize,
            classes: usize,
        ) -> Call<'a> {
            k::cross_entropy(logits, targets, losses, lse, rows, classes)
        }
        fn gradient(
            logits: SliceArg<'a, Self>,
            targets: SliceArg<'a, i32>,
            lse: SliceArg<'a, f32>,
            d_losses: SliceArg<'a, f32>,
            d_logits: SliceMutArg<'a, Self>,
            rows: usize,
            classes: usize,
        ) -> Call<'a> {
            k::cross_entropy_gradient(logits, targets, lse, d_losses, d_logits, rows, classes)
        }
    }
}

/// The classes of logits that have a row for each target.
fn classes(what: &'static str, logits: usize, rows: usize) -> Result<usize> {
    match logits.checked_rem(rows) {
        Some(0) => Ok(logits / rows),
        None if logits == 0 => Ok(0),
        _ => {
            let why = format!("logits has {logits} elements, which are no rows of equal length for {rows} targets");
            Err(Error::Shape { what, why })
        }
    }
}

/// The cross entropy of each row of logits and its target: `losses[r] = lse[r] - logits[r][targets[r]]`, where `lse` is
/// the logarithm of the sum of the row's exponentials. 16-bit types are computed in f32.
///
/// Shapes: `logits` is `[rows, classes]`, `targets`, `losses` and `lse` are `[rows]`. A `lse` of no elements is not
/// stored. [`cross_entropy_backward`] needs it.
///
/// A row whose target is negative is ignored: its loss is 0. A target that is no class gives NaN, as do a row with a
/// NaN or a positive infinity and one of negative infinities alone. A logit of negative infinity is a class of
/// probability 0.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let logits = [0.0f32, 0.0, 1.0, 3.0];
/// let (mut losses, mut lse) = ([9.0; 2], [9.0; 2]);
/// ops::cross_entropy(&Runtime::cpu(), &logits, &[1, -1], &mut losses, &mut lse)?;
/// assert!((losses[0] - 2.0f32.ln()).abs() < 1e-6 && losses[1] == 0.0);
/// assert!((lse[1] - (1.0f32.exp() + 3.0f32.exp()).ln()).abs() < 1e-6);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn cross_entropy<'a, T: Logit>(
    on: &impl Executor,
    logits: impl AsSlice<'a, T>,
    targets: impl AsSlice<'a, i32>,
    losses: impl AsSliceMut<'a, f32>,
    lse: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    const WHAT: &str = "cross_entropy";
    let (logits, targets) = (logits.as_slice_arg(), targets.as_slice_arg());
    let (losses, lse) = (losses.as_slice_mut_arg(), lse.as_slice_mut_arg());
    let rows = targets.len();
    let classes = classes(WHAT, logits.len(), rows)?;
    check::same_length(WHAT, &[("targets", rows), ("losses", losses.len())])?;
    let lse = check::optional(WHAT, ("lse", lse), ("targets", rows))?;
    on.launch(T::cross_entropy(logits, targets, losses, lse, rows, classes))
}

/// The gradient of [`cross_entropy`]: `d_logits[r][c] = d_losses[r] * (exp(logits[r][c] - lse[r]) - t)`, where `t` is 1
/// if `c` is `targets[r]`, else 0. A row that is ignored gets zeros. 16-bit types are computed in f32 and rounded once.
///
/// The rounding of `lse` is a relative error of the exponential: half an ulp of `lse[r]`, which is 4e-6 at 100 and 0.5
/// at 1e7. On a GPU a row has at most 65535 * 2048 classes.
///
/// Shapes: `logits` and `d_logits` are `[rows, classes]`, `targets`, `lse` and `d_losses` are `[rows]`. `d_logits` may
/// be the memory of `logits`.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let (logits, lse) = ([0.0f32, 0.0], [2.0f32.ln()]);
/// let mut d_logits = [9.0; 2];
/// ops::cross_entropy_backward(&Runtime::cpu(), &logits, &[1], &lse, &[4.0], &mut d_logits)?;
/// assert!((d_logits[0] - 2.0).abs() < 1e-6 && (d_logits[1] + 2.0).abs() < 1e-6);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn cross_entropy_backward<'a, T: Logit>(
    on: &impl Executor,
    logits: impl AsSlice<'a, T>,
    targets: impl AsSlice<'a, i32>,
    lse: impl AsSlice<'a, f32>,
    d_losses: impl AsSlice<'a, f32>,
    d_logits: impl AsSliceMut<'a, T>,
) -> Result<()> {
    const WHAT: &str = "cross_entropy_backward";
    let (logits, targets, lse) = (logits.as_slice_arg(), targets.as_slice_arg(), lse.as_slice_arg());
    let (d_losses, d_logits) = (d_losses.as_slice_arg(), d_logits.as_slice_mut_arg());
    let rows = targets.len();
    let classes = classes(WHAT, logits.len(), rows)?;
    check::same_length(WHAT, &[("targets", rows), ("lse", lse.len()), ("d_losses", d_losses.len())])?;
    check::same_length(WHAT, &[("logits", logits.len()), ("d_logits", d_logits.len())])?;
    on.launch(T::gradient(logits, targets, lse, d_losses, d_logits, rows, classes))
}
