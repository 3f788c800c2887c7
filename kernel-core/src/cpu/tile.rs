//! Tiles, and the operations that make tiles from tiles.

use super::Mem;
use super::pool::Buffer;
use super::shape::Shape;
use std::fmt;
use std::mem::MaybeUninit;
use std::ptr;
use tilewright_types::limits::MAX_RANK;

/// A dense row-major array of rank 0 to [`MAX_RANK`].
pub struct Tile<T> {
    elements: Buffer<T>, // all initialized
    shape: Shape,
}

impl<T: Copy> Tile<T> {
    /// # Safety
    /// As many elements as the shape has, all initialized.
    #[inline(always)]
    pub(super) unsafe fn new(shape: Shape, elements: Buffer<T>) -> Self {
        Tile { elements, shape }
    }

    /// A tile of rank 0.
    #[inline(always)]
    pub fn scalar(v: T) -> Self {
        each(&[], |_| v)
    }

    /// The extents.
    #[inline(always)]
    pub fn shape(&self) -> &[usize] {
        self.shape.as_slice()
    }

    #[inline(always)]
    pub(super) fn extents(&self) -> Shape {
        self.shape
    }

    /// The elements in row-major order.
    #[inline(always)]
    pub fn as_slice(&self) -> &[T] {
        // SAFETY: by `new`'s contract all elements are initialized.
        unsafe { std::slice::from_raw_parts(self.elements.as_ptr(), self.elements.len()) }
    }

    #[inline(always)]
    pub(super) fn as_mut_slice(&mut self) -> &mut [T] {
        let elements = self.elements.uninit();
        // SAFETY: by `new`'s contract all elements are initialized.
        unsafe { std::slice::from_raw_parts_mut(elements.as_mut_ptr().cast(), elements.len()) }
    }

    /// Element `i` in row-major order, unchecked in release builds: a check would keep loops from being vectorized.
    ///
    /// # Safety
    /// `i` is less than the number of elements.
    #[inline(always)]
    pub unsafe fn at(&self, i: usize) -> T {
        debug_assert!(i < self.elements.len());
        // SAFETY: the caller's contract; all elements are initialized.
        unsafe { *self.elements.as_ptr().add(i) }
    }
}

impl<T: Copy> Clone for Tile<T> {
    #[inline(never)]
    fn clone(&self) -> Self {
        // SAFETY: `i` ranges over the elements.
        each(self.shape(), |i| unsafe { self.at(i) })
    }
}

impl<T: Copy + fmt::Debug> fmt::Debug for Tile<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} of {:?}", self.as_slice(), self.shape())
    }
}

/// The memory of a tile. A kernel makes hundreds of tiles, so this is compiled once for each type of element.
#[inline(never)]
pub(super) fn unwritten<T: Copy>(shape: &[usize]) -> (Shape, Buffer<T>) {
    let shape = Shape::new(shape);
    (shape, Buffer::new(shape.elements()))
}

/// The tile whose element `i`, in row-major order, is `f(i)`.
#[inline(always)]
pub fn each<T: Copy>(shape: &[usize], f: impl FnMut(usize) -> T) -> Tile<T> {
    let (shape, mut elements) = unwritten(shape);
    fill(elements.uninit(), f);
    // SAFETY: `fill` has written all.
    unsafe { Tile::new(shape, elements) }
}

/// A function of its own for its `&mut`: the output overlaps nothing that `f` reads, which LLVM then knows.
#[inline(always)]
pub(super) fn fill<T>(out: &mut [MaybeUninit<T>], mut f: impl FnMut(usize) -> T) {
    for (i, o) in out.iter_mut().enumerate() {
        o.write(f(i));
    }
}

/// As [`fill`], with the elements of `f` from `first` on. The sum is known not to wrap, without which LLVM does not see
/// that consecutive elements follow each other, and vectorizes no loop.
#[inline(always)]
pub(super) fn fill_from<T>(out: &mut [MaybeUninit<T>], first: usize, mut f: impl FnMut(usize) -> T) {
    assert!(first.checked_add(out.len()).is_some(), "more elements than a usize counts");
    // SAFETY: `i` is less than the length of `out`, so that the sum is less than the one above.
    fill(out, |i| f(unsafe { first.unchecked_add(i) }));
}

/// The elements in another shape, in row-major order.
///
/// # Panics
/// The shape has another number of elements.
#[inline(never)]
pub fn reshape<T: Copy>(t: Tile<T>, shape: &[usize]) -> Tile<T> {
    let shape = Shape::new(shape);
    assert!(shape.elements() == t.shape.elements(), "a reshape keeps the number of elements");
    Tile { shape, ..t }
}

/// Spreads extents of 1.
#[inline(never)]
pub fn broadcast<T: Copy>(t: &Tile<T>, shape: &[usize]) -> Tile<T> {
    let to = Shape::new(shape);
    let (from, extents) = (t.shape.aligned(), to.aligned());
    let mut strides = t.shape.strides();
    for d in 0..extents.len() {
        assert!(from[d] == extents[d] || from[d] == 1, "only extents of 1 are broadcast");
        if from[d] == 1 {
            strides[d] = 0;
        }
    }
    // SAFETY: along a dimension, `to` has the extent of `t`, or `t` has 1 and the stride is 0.
    unsafe { strided(t, to, strides) }
}

/// Dimension `d` of the result is dimension `perm[d]` of `t`.
#[inline(never)]
pub fn permute<T: Copy>(t: &Tile<T>, perm: &[usize]) -> Tile<T> {
    let (rank, from, strides) = (perm.len(), t.shape.aligned(), t.shape.strides());
    assert!(rank == t.shape.rank() && (0..rank).all(|d| perm.contains(&d)), "not a permutation of the dimensions");
    let pad = from.len() - rank;
    let (mut extents, mut permuted) = (from, strides);
    for d in 0..rank {
        extents[pad + d] = from[pad + perm[d]];
        permuted[pad + d] = strides[pad + perm[d]];
    }
    // SAFETY: the extents and strides are those of `t` in another order.
    unsafe { strided(t, Shape::new(&extents[pad..]), permuted) }
}

/// The elements of `t` at these strides.
///
/// # Safety
/// For every index of `to`, the sum of its products with the strides is less than the number of elements of `t`.
#[inline(always)]
unsafe fn strided<T: Copy>(t: &Tile<T>, to: Shape, strides: [usize; MAX_RANK]) -> Tile<T> {
    let (e, last) = (to.aligned(), MAX_RANK - 1);
    let from = t.elements.as_ptr();
    let mut elements = Buffer::new(to.elements());
    let rows: usize = e[..last].iter().product();
    for (i, out) in elements.uninit().chunks_exact_mut(e[last].max(1)).enumerate().take(rows) {
        let (mut rest, mut row) = (i, 0);
        for d in (0..last).rev() {
            row += rest % e[d] * strides[d];
            rest /= e[d];
        }
        // SAFETY: `k < e[last]`, so that the row and `k` are an index of `to`.
        let at = |offset: usize| unsafe { *from.add(row + offset) };
        match strides[last] {
            0 => {
                let element = at(0);
                fill(out, |_| element);
            }
            // SAFETY: the row has as many elements as `out`, from this index of `to` on. `out` is new memory.
            1 => unsafe { ptr::copy_nonoverlapping(from.add(row), out.as_mut_ptr().cast(), out.len()) },
            s => fill(out, |k| at(k * s)),
        }
    }
    // SAFETY: the rows are those of `to`, each of which is written.
    unsafe { Tile::new(to, elements) }
}

/// The elements of `t` whose places along `axis` `index` gives for each element of the result, which has this shape and
/// along the other axes those of `t`; zero where there is none.
#[inline(always)]
pub fn gather<T: Mem>(t: &Tile<T>, axis: usize, shape: &[usize], index: impl Fn(usize) -> u64) -> Tile<T> {
    let ((_, extent, inner), (_, given, _)) = (t.shape.around(axis), Shape::new(shape).around(axis));
    let x = t.as_slice();
    each(shape, |i| {
        let (k, outer) = (index(i), i / (given * inner));
        let at = |k: usize| x[(outer * extent + k) * inner + i % inner];
        if k < extent as u64 { at(k as usize) } else { T::ZERO }
    })
}
