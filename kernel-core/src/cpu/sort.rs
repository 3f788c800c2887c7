//! Sorting along an axis.

use super::pool::Buffer;
use super::shape::Shape;
use super::tile::Tile;
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
    let mut extents = t.shape().to_vec();
    extents[axis] = kept;
    let shape = Shape::new(&extents);
    let mut elements = Buffer::new(shape.elements());
    let order = |a: &T, b: &T| match (before(*a, *b), before(*b, *a)) {
        (true, _) => Ordering::Less,
        (_, true) => Ordering::Greater,
        _ => Ordering::Equal,
    };
    let mut line = Vec::with_capacity(extent);
    let blocks = x.chunks_exact((extent * inner).max(1));
    for (block, out) in blocks.zip(elements.uninit().chunks_exact_mut((kept * inner).max(1))) {
        for j in 0..inner {
            line.clear();
            line.extend((0..extent).map(|k| block[k * inner + j]));
            line.sort_by(order);
            line.iter().take(kept).enumerate().for_each(|(k, &v)| {
                out[k * inner + j].write(v);
            });
        }
    }
    // SAFETY: for each block of the tile `kept` rows of `inner` elements were written, as many as the shape has.
    unsafe { Tile::new(shape, elements) }
}
