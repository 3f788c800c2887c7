//! Products of few tiles and a long depth: several programs share a tile of the result, each with a part of the depth.

use super::Launch;
use super::product::Extents;
use crate::error::{Error, Result};
use kernel_core::{AsSliceMut, SliceMutArg, ViewMutArg};

/// The smallest tile of programs that share some.
pub(super) const LEAST_TILE: [u64; 2] = [16, 64];

/// With scratch memory for the sums of so many parts, and a ticket for every tile, of which the smallest are of that size.
pub(super) fn with_sums(
    on: &impl Launch,
    e: Extents,
    parts: u64,
    least: [u64; 2],
    launch: impl FnOnce(ViewMutArg<f32, 3>, SliceMutArg<u32>) -> Result<()>,
) -> Result<()> {
    let too_large = || Error::TooLarge { len: parts.saturating_mul(e.m).saturating_mul(e.n), size: size_of::<f32>() };
    let len = |n: Option<u64>| n.and_then(|n| usize::try_from(n).ok()).ok_or_else(too_large);
    let sums = len(parts.checked_mul(e.m).and_then(|n| n.checked_mul(e.n)))?;
    let tiles = len(e.m.div_ceil(least[0]).checked_mul(e.n.div_ceil(least[1])))?;
    let (mut sums, mut tickets) = (on.stream().scratch::<f32>(sums)?, on.stream().zeroed_scratch::<u32>(tiles)?);
    let sums = (&mut sums).as_slice_mut_arg().strided([parts, e.m, e.n], [e.m * e.n, e.n, 1]).ok_or_else(too_large)?;
    launch(sums, (&mut tickets).as_slice_mut_arg())
}
