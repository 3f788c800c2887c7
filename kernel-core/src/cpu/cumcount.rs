//! The number of each element among the equal elements.

use super::tile::{Tile, each};

/// A tile of this shape: for each element, how many of the elements before it that count are in the same one of `bins`.
/// Elements that are in none do not count, and have 0.
#[inline(always)]
pub fn cumcount(shape: &[usize], bins: usize, bin: impl Fn(usize) -> u64, counts: impl Fn(usize) -> bool) -> Tile<i32> {
    let mut found = vec![0; bins];
    each(shape, |i| match usize::try_from(bin(i)).ok().and_then(|b| found.get_mut(b)) {
        Some(found) if counts(i) => {
            *found += 1;
            *found - 1
        }
        _ => 0,
    })
}
