//! Sorting along an axis.

use super::tile::{Tile, each};
use std::cmp::Ordering;

/// The elements along `axis` in the order in which `before` says that one comes before another. Equal ones stay in order.
#[inline(always)]
pub fn sort<T: Copy>(t: &Tile<T>, axis: usize, before: impl Fn(T, T) -> bool) -> Tile<T> {
    let (x, (_, extent, inner)) = (t.as_slice(), t.extents().around(axis));
    let mut out = x.to_vec();
    let order = |a: &T, b: &T| match (before(*a, *b), before(*b, *a)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    };
    let mut line = Vec::with_capacity(extent);
    for block in out.chunks_exact_mut((extent * inner).max(1)) {
        for j in 0..inner {
            line.clear();
            line.extend((0..extent).map(|k| block[k * inner + j]));
            line.sort_by(order);
            line.iter().enumerate().for_each(|(k, &v)| block[k * inner + j] = v);
        }
    }
    each(t.shape(), |i| out[i])
}
