//! Sorting along an axis.

use super::tile::{Tile, each};
use std::cmp::Ordering;

/// The first `kept` elements along `axis` in the order in which `before` says that one comes before another. Equal ones
/// stay in order.
///
/// # Panics
/// There are fewer.
#[inline(always)]
pub fn sort<T: Copy>(t: &Tile<T>, axis: usize, kept: usize, before: impl Fn(T, T) -> bool) -> Tile<T> {
    let (x, (_, extent, inner)) = (t.as_slice(), t.extents().around(axis));
    assert!(kept <= extent, "a sort keeps elements that there are");
    let mut shape = t.shape().to_vec();
    shape[axis] = kept;
    let mut out = Vec::with_capacity(shape.iter().product());
    let order = |a: &T, b: &T| match (before(*a, *b), before(*b, *a)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    };
    let mut line = Vec::with_capacity(extent);
    for block in x.chunks_exact((extent * inner).max(1)) {
        let start = out.len();
        out.extend_from_slice(&block[..kept * inner]);
        for j in 0..inner {
            line.clear();
            line.extend((0..extent).map(|k| block[k * inner + j]));
            line.sort_by(order);
            line.iter().take(kept).enumerate().for_each(|(k, &v)| out[start + k * inner + j] = v);
        }
    }
    each(&shape, |i| out[i])
}
