//! Hash chains.

use super::{Executor, check};
use tilewright_core::{AsSlice, AsSliceMut};
use tilewright_kernels as k;
use tilewright_runtime::Result;

/// `rounds` rounds of 32-bit FNV-1a over the four bytes of each value, low byte first.
///
/// Shapes: `input`, `output` of equal length.
///
/// # Examples
/// ```
/// use tilewright::{Runtime, ops};
///
/// let mut hashes = [0u32];
/// ops::rainbow_table(&Runtime::cpu(), &[1], &mut hashes, 1)?;
/// let fnv = |h: u32, byte: u32| (h ^ byte).wrapping_mul(0x0100_0193);
/// assert_eq!(hashes, [[1, 0, 0, 0].into_iter().fold(0x811c_9dc5, fnv)]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn rainbow_table<'a>(
    on: &impl Executor,
    input: impl AsSlice<'a, i32>,
    output: impl AsSliceMut<'a, u32>,
    rounds: u32,
) -> Result<()> {
    let (input, output) = (input.as_slice_arg(), output.as_slice_mut_arg());
    check::same_length("rainbow_table", &[("input", input.len()), ("output", output.len())])?;
    on.launch(k::rainbow_table::rainbow::rainbow_table(input, output, rounds))
}
