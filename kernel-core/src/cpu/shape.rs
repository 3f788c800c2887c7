//! Extents of a tile, inline.

use tilewright_types::limits::MAX_RANK;

/// The extents of a tile of rank 0 to [`MAX_RANK`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    extents: [usize; MAX_RANK], // 1 beyond the rank
    rank: usize,
}

/// The number of elements of a shape.
#[inline(never)]
pub(super) fn elements(shape: &[usize]) -> usize {
    Shape::new(shape).elements()
}

impl Shape {
    /// The shape with these extents.
    ///
    /// # Panics
    /// There are more than [`MAX_RANK`] extents, or a `usize` cannot count the elements. Loops over a tile rely on that
    /// number.
    #[inline(always)]
    pub fn new(extents: &[usize]) -> Self {
        assert!(extents.len() <= MAX_RANK, "tiles have at most {MAX_RANK} dimensions");
        let mut all = [1; MAX_RANK];
        all[..extents.len()].copy_from_slice(extents);
        // The greatest part of the product, of extents that are not 0: strides are parts of it.
        let countable = all.iter().try_fold(1usize, |n, &e| n.checked_mul(e.max(1))).is_some();
        assert!(countable, "tile too large");
        Shape { extents: all, rank: extents.len() }
    }

    /// The rank.
    #[inline(always)]
    pub fn rank(&self) -> usize {
        self.rank
    }

    /// The number of elements.
    #[inline(always)]
    pub fn elements(&self) -> usize {
        self.extents.iter().product()
    }

    /// The extents.
    #[inline(always)]
    pub fn as_slice(&self) -> &[usize] {
        &self.extents[..self.rank]
    }

    /// Products of the extents before, at and after an axis.
    #[inline(always)]
    pub fn around(&self, axis: usize) -> (usize, usize, usize) {
        assert!(axis < self.rank, "no such axis");
        let product = |e: &[usize]| e.iter().product();
        (product(&self.extents[..axis]), self.extents[axis], product(&self.extents[axis + 1..]))
    }

    /// The extents but that of an axis.
    #[inline(always)]
    pub fn without(&self, axis: usize) -> Self {
        let mut s = Shape { extents: [1; MAX_RANK], rank: self.rank - 1 };
        for (to, from) in (0..self.rank).filter(|&d| d != axis).enumerate() {
            s.extents[to] = self.extents[from];
        }
        s
    }

    /// Elements from one index to the next along each dimension, aligned to the right of `MAX_RANK`, as are
    /// [`Shape::aligned`].
    #[inline(always)]
    pub(super) fn strides(&self) -> [usize; MAX_RANK] {
        let (e, mut strides) = (self.aligned(), [1; MAX_RANK]);
        for d in (0..MAX_RANK - 1).rev() {
            strides[d] = strides[d + 1] * e[d + 1];
        }
        strides
    }

    /// The extents, with leading 1s up to `MAX_RANK`.
    #[inline(always)]
    pub(super) fn aligned(&self) -> [usize; MAX_RANK] {
        let mut e = [1; MAX_RANK];
        e[MAX_RANK - self.rank..].copy_from_slice(self.as_slice());
        e
    }
}
