//! Convolution.

use super::{Executor, check};
use tilewright_core::{AsSlice, AsSliceMut};
use tilewright_kernels as k;
use tilewright_runtime::{Error, Result};

/// `y[o] = sum over k of x[o + k] * w[k]`: "valid", the kernel not flipped.
///
/// Shapes: `y` has `x.len() - w.len() + 1` elements. With an empty `x` or `w` nothing is done.
/// Errors: [`Error::InvalidArgument`] where `w` has more elements than `x`; otherwise as the other operations.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut y = [0.0f32; 3];
/// ops::convolution_1d(&Runtime::cpu(), &[1.0, 2.0, 4.0, 8.0], &[1.0, -1.0], &mut y)?;
/// assert_eq!(y, [-1.0, -2.0, -4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn convolution_1d<'a>(
    on: &impl Executor,
    x: impl AsSlice<'a, f32>,
    w: impl AsSlice<'a, f32>,
    y: impl AsSliceMut<'a, f32>,
) -> Result<()> {
    const WHAT: &str = "convolution_1d";
    let (x, w, y) = (x.as_slice_arg(), w.as_slice_arg(), y.as_slice_mut_arg());
    if x.is_empty() || w.is_empty() {
        return Ok(());
    }
    if w.len() > x.len() {
        let why = format!("the kernel has {} taps, more than the {} elements of the signal", w.len(), x.len());
        return Err(Error::InvalidArgument { what: WHAT, why });
    }
    check::length(WHAT, "y", y.len(), x.len() - w.len() + 1, "a valid convolution")?;
    // SAFETY: the lengths fit, as has just been checked.
    on.launch(unsafe { k::convolution_1d::convolution::convolution_1d(x, w, y) })
}
