//! Operations in place.

use super::{Executor, check};
use tilewright_core::{AsSliceMut, SliceMutArg};
use tilewright_kernels as k;
use tilewright_runtime::Result;

/// Reverses an array in place.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut x = [1.0f32, 2.0, 3.0];
/// ops::reverse_array(&Runtime::cpu(), &mut x)?;
/// assert_eq!(x, [3.0, 2.0, 1.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn reverse_array<'a>(on: &impl Executor, x: impl AsSliceMut<'a, f32>) -> Result<()> {
    on.launch(k::reverse_array::reverse_array(x))
}

/// Inverts the colors of RGBA bytes in place: 255 minus each color, alpha kept. Images at addresses divisible by 4
/// take the fast path.
///
/// Shapes: `image` is `4 * width * height` bytes.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut image = [0u8, 100, 255, 200];
/// ops::color_inversion(&Runtime::cpu(), &mut image, 1, 1)?;
/// assert_eq!(image, [255, 155, 0, 200]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn color_inversion<'a>(
    on: &impl Executor,
    image: impl AsSliceMut<'a, u8>,
    width: usize,
    height: usize,
) -> Result<()> {
    const WHAT: &str = "color_inversion";
    let image = image.as_slice_mut_arg();
    let pixels = check::area(WHAT, width, height)?;
    let bytes = check::area(WHAT, pixels, 4)?;
    check::length(WHAT, "image", image.len(), bytes, &format!("a {width} x {height} RGBA image"))?;
    if image.addr() % 4 != 0 {
        return on.launch(k::color_inversion::color_inversion_bytes(image));
    }
    // SAFETY: the same memory, borrowed for as long, as elements of 4 bytes at an address divisible by 4; any bytes are
    // a u32.
    let pixels = unsafe { SliceMutArg::<u32>::from_raw(image.addr(), pixels, image.device()) };
    on.launch(k::color_inversion::color_inversion(pixels))
}
