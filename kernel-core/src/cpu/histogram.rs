//! Histograms.

use super::Mem;
use super::tile::{Tile, each};

/// A tile of rank 1 with this shape: for each bin, the sum of the weights of the counted `elements` in it.
/// Elements that are in none do not count.
#[inline(always)]
pub fn histogram<T: Mem>(
    shape: &[usize],
    elements: usize,
    bin: impl Fn(usize) -> u64,
    counts: impl Fn(usize) -> bool,
    weight: impl Fn(usize) -> T,
) -> Tile<T> {
    let mut sums = vec![T::ZERO; shape.iter().product()];
    for i in (0..elements).filter(|&i| counts(i)) {
        if let Some(sum) = usize::try_from(bin(i)).ok().and_then(|b| sums.get_mut(b)) {
            *sum = T::atomic_add(*sum, weight(i));
        }
    }
    each(shape, |b| sums[b])
}
