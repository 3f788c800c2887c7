//! Hash chains.

use super::{Launch, check};
use crate::error::Result;
use tilewright_core::{AsSlice, AsSliceMut};
use tilewright_kernels as k;

/// `rounds` rounds of 32-bit FNV-1a over the four bytes of each value, low byte first.
///
/// Shapes: `input`, `output` of equal length.
pub fn rainbow_table<'a>(
    on: &impl Launch,
    input: impl AsSlice<'a, i32>,
    output: impl AsSliceMut<'a, u32>,
    rounds: u32,
) -> Result<()> {
    let (input, output) = (input.as_slice_arg(), output.as_slice_mut_arg());
    check::same_length("rainbow_table", &[("input", input.len()), ("output", output.len())])?;
    on.launch(k::rainbow_table::rainbow::rainbow_table(input, output, rounds))
}
