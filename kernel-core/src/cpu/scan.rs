//! Scans: for each element the combination of all elements up to it along an axis.

use super::pool::Buffer;
use super::tile::Tile;

/// Combines each element with all before it along `axis`, or, if `reverse`, with all after it. `f` is associative. Its
/// first argument is the element that the scan meets first.
#[inline(always)]
pub fn scan<T: Copy>(t: &Tile<T>, axis: usize, reverse: bool, f: impl Fn(T, T) -> T) -> Tile<T> {
    steps(t, axis, reverse, None, f)
}

/// The same without the element itself: `first` comes before the first element that the scan meets.
#[inline(always)]
pub fn scan_exclusive<T: Copy>(t: &Tile<T>, axis: usize, reverse: bool, first: T, f: impl Fn(T, T) -> T) -> Tile<T> {
    steps(t, axis, reverse, Some(first), f)
}

/// A row of elements at a time, which LLVM vectorizes where the axis is not the last.
#[inline(always)]
fn steps<T: Copy>(t: &Tile<T>, axis: usize, reverse: bool, first: Option<T>, f: impl Fn(T, T) -> T) -> Tile<T> {
    let (_, extent, inner) = t.extents().around(axis);
    let (mut elements, mut last) = (Buffer::new(t.as_slice().len()), Buffer::new(inner));
    let (out, upto, block) = (elements.uninit(), last.uninit(), (extent * inner).max(1));
    for (x, out) in t.as_slice().chunks_exact(block).zip(out.chunks_exact_mut(block)) {
        for k in 0..extent {
            let row = if reverse { extent - 1 - k } else { k } * inner..;
            let (x, out) = (&x[row.clone()][..inner], &mut out[row][..inner]);
            for ((o, &x), u) in out.iter_mut().zip(x).zip(&mut *upto) {
                // SAFETY: the first row of the block has initialized it.
                let before = if k == 0 { first } else { Some(unsafe { u.assume_init() }) };
                let combined = before.map_or(x, |b| f(b, x));
                u.write(combined);
                o.write(if first.is_some() { before.unwrap_or(x) } else { combined });
            }
        }
    }
    // SAFETY: the tile is whole blocks of `extent` rows, each of which was written.
    unsafe { Tile::new(t.extents(), elements) }
}
