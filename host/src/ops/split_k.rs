//! Products of few tiles and a long depth: several programs share a tile of the result, each with a part of the depth.

use super::{Launch, Multiply};
use super::product::Extents;
use crate::error::{Error, Result};
use kernel_core::{AsSliceMut, SliceMutArg, ViewArg, ViewMutArg};

/// The smallest tile of programs that share none: with as many of these as multiprocessors sharing is no gain.
const TILE: [u64; 2] = [64, 64];
/// The smallest of programs that do.
pub(super) const LEAST_TILE: [u64; 2] = [16, 64];
/// As many programs as are to be on a multiprocessor.
const PER_SM: u64 = 2;
/// To write the sums, and to read them again, takes as long as some thousand of depth.
const LEAST_DEPTH: u64 = 1024;
/// Whose last part is not as long as the others, of most depths.
pub(super) const PINNED_PARTS: u64 = 3;

/// How many programs should share a tile; none where that is no gain.
pub(super) fn parts<T: Multiply>(on: &impl Launch, e: Extents, b_transposed: bool) -> Option<u64> {
    let desc = T::split_desc(b_transposed)?;
    if let Some((kernel, _)) = on.pin() {
        return core::ptr::eq(kernel, desc).then_some(PINNED_PARTS);
    }
    let tiles = e.m.div_ceil(TILE[0]).saturating_mul(e.n.div_ceil(TILE[1])).max(1);
    let parts = (PER_SM * on.num_sms() / tiles).min(e.k / LEAST_DEPTH);
    (2 * tiles <= on.num_sms() && parts >= 2 && on.runtime().0.takes_maps(desc)).then_some(parts)
}

pub(super) fn multiply<T: Multiply>(
    on: &impl Launch,
    e: Extents,
    parts: u64,
    b_transposed: bool,
    (a, b): (ViewArg<T, 2>, ViewArg<T, 2>),
    c: ViewMutArg<T::Product, 2>,
    below: f32,
) -> Result<()> {
    with_sums(on, e, parts, LEAST_TILE, |sums, tickets| on.launch(T::split_call(b_transposed, a, b, sums, tickets, c, below)))
}

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
