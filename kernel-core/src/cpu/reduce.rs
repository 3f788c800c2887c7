//! Reductions, as trees: their rounding error grows with the logarithm of the extent, and every level is a loop over
//! consecutive elements, which LLVM vectorizes for every axis. `f` must be associative and commutative.

use super::pool::Buffer;
use super::tile::Tile;
use std::mem::MaybeUninit;

/// Combines the elements along `axis`, which is removed.
#[inline(always)]
pub fn reduce<T: Copy>(t: &Tile<T>, axis: usize, f: impl Fn(T, T) -> T) -> Tile<T> {
    let (_, extent, inner) = t.extents().around(axis);
    assert!(extent > 0, "nothing to reduce");
    let shape = t.extents().without(axis);
    let (mut scratch, mut elements) = (Buffer::new(extent.div_ceil(2) * inner), Buffer::new(shape.elements()));
    if inner > 0 {
        for (block, out) in t.as_slice().chunks_exact(extent * inner).zip(elements.uninit().chunks_exact_mut(inner)) {
            tree(block, inner, scratch.uninit(), out, &f);
        }
    }
    // SAFETY: the tile has as many blocks as the result has rows of `inner` elements, each of which `tree` writes.
    unsafe { Tile::new(shape, elements) }
}

/// Combines all elements.
#[inline(always)]
pub fn reduce_all<T: Copy>(t: &Tile<T>, f: impl Fn(T, T) -> T) -> T {
    let n = t.as_slice().len();
    assert!(n > 0, "nothing to reduce");
    let mut scratch = Buffer::new(n.div_ceil(2));
    let mut out = [MaybeUninit::uninit()];
    tree(t.as_slice(), 1, scratch.uninit(), &mut out, &f);
    // SAFETY: `tree` has written it.
    unsafe { out[0].assume_init() }
}

/// Combines rows of `width` elements into `out`: the lower half with the upper half, until one row is left. `scratch`
/// has room for the lower half, rounded up.
#[inline(always)]
fn tree<T: Copy>(
    rows: &[T],
    width: usize,
    scratch: &mut [MaybeUninit<T>],
    out: &mut [MaybeUninit<T>],
    f: &impl Fn(T, T) -> T,
) {
    let len = rows.len();
    let mut left = (len / width).div_ceil(2) * width;
    let (low, high) = rows.split_at(left);
    combine(low, high, scratch, f);
    while left > width {
        let half = (left / width).div_ceil(2) * width;
        let (low, high) = scratch[..left].split_at_mut(half);
        for (a, b) in low.iter_mut().zip(high) {
            // SAFETY: `combine` has initialized the first `left` elements, of which every level keeps a first part.
            a.write(unsafe { f(a.assume_init(), b.assume_init()) });
        }
        left = half;
    }
    out.copy_from_slice(&scratch[..width]);
}

/// The combinations of `low` and `high`; where `low` has a row more, that row.
#[inline(always)]
fn combine<T: Copy>(low: &[T], high: &[T], out: &mut [MaybeUninit<T>], f: &impl Fn(T, T) -> T) {
    let (paired, rest) = low.split_at(high.len());
    let (out, out_rest) = out.split_at_mut(high.len());
    for ((o, &a), &b) in out.iter_mut().zip(paired).zip(high) {
        o.write(f(a, b));
    }
    for (o, &a) in out_rest.iter_mut().zip(rest) {
        o.write(a);
    }
}

/// The index along `axis`, which is removed, of the first element that no other is better than. `better` is a strict
/// weak order.
#[inline(always)]
pub fn arg_reduce<T: Copy>(t: &Tile<T>, axis: usize, better: impl Fn(T, T) -> bool) -> Tile<i32> {
    let (_, extent, inner) = t.extents().around(axis);
    assert!(extent > 0, "nothing to reduce");
    let shape = t.extents().without(axis);
    let (mut best, mut elements) = (Buffer::new(inner), Buffer::new(shape.elements()));
    let out = elements.uninit();
    if inner == 1 {
        for (row, o) in t.as_slice().chunks_exact(extent).zip(out) {
            o.write(best_of_row(row, &better));
        }
    } else if inner > 0 {
        for (block, out) in t.as_slice().chunks_exact(extent * inner).zip(out.chunks_exact_mut(inner)) {
            best_of_columns(block, best.uninit(), out, &better);
        }
    }
    // SAFETY: the tile has as many blocks as the result has rows of `inner` elements, all of them written.
    unsafe { Tile::new(shape, elements) }
}

/// The linear index of the first element that no other is better than.
#[inline(always)]
pub fn arg_reduce_all<T: Copy>(t: &Tile<T>, better: impl Fn(T, T) -> bool) -> i32 {
    assert!(!t.as_slice().is_empty(), "nothing to reduce");
    best_of_row(t.as_slice(), &better)
}

#[inline(always)]
fn best_of_columns<T: Copy>(
    rows: &[T],
    best: &mut [MaybeUninit<T>],
    out: &mut [MaybeUninit<i32>],
    better: &impl Fn(T, T) -> bool,
) {
    for (k, row) in rows.chunks_exact(out.len()).enumerate() {
        for ((o, b), &v) in out.iter_mut().zip(best.iter_mut()).zip(row) {
            // SAFETY: row 0 has initialized both.
            let (index, old) = if k == 0 { (0, v) } else { unsafe { (o.assume_init(), b.assume_init()) } };
            let is_better = better(v, old);
            o.write(if is_better { k as i32 } else { index });
            b.write(if is_better { v } else { old });
        }
    }
}

/// Lanes take every 16th element; then the best lane, of equals the one with the lowest index.
#[inline(always)]
fn best_of_row<T: Copy>(row: &[T], better: &impl Fn(T, T) -> bool) -> i32 {
    const LANES: usize = 16;
    let (mut value, mut index) = (row[0], 0);
    let (chunks, rest) = row.as_chunks::<LANES>();
    if let Some((first, chunks)) = chunks.split_first() {
        let (mut values, mut indices) = (*first, std::array::from_fn::<i32, LANES, _>(|l| l as i32));
        for (k, chunk) in chunks.iter().enumerate() {
            for l in 0..LANES {
                let is_better = better(chunk[l], values[l]);
                indices[l] = if is_better { ((k + 1) * LANES + l) as i32 } else { indices[l] };
                values[l] = if is_better { chunk[l] } else { values[l] };
            }
        }
        (value, index) = (values[0], indices[0]);
        for l in 1..LANES {
            if better(values[l], value) || (!better(value, values[l]) && indices[l] < index) {
                (value, index) = (values[l], indices[l]);
            }
        }
    }
    for (k, &v) in rest.iter().enumerate() {
        if better(v, value) {
            (value, index) = (v, (row.len() - rest.len() + k) as i32);
        }
    }
    index
}
