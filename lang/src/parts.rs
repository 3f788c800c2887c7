//! Tiles that are joined, parts of tiles, and elements at other places.

use crate::stub;
use crate::value::Value;
use std::ops::Range;

/// Tiles of several, and parts of one.
pub trait Parts: Value {
    /// Two tiles side by side in a new last dimension: element `[i, 0]` is `a[i]`, and `[i, 1]` is `b[i]`.
    ///
    /// Shapes meet as those of operators. A tile has at most five dimensions.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let (a, b) = (load(x, arange(2)), load(x, 2 + arange(2)));
    ///     store(y, 2 * arange(2).expand(1) + arange(2).expand(0), join(a, b));
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn join(self, other: Self) -> Self {
        let _ = other;
        stub()
    }

    /// The two tiles side by side in the last dimension, whose extent is 2.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let t = load(x, arange(4));
    ///     let (a, b) = split(reshape(t, [2, 2]));
    ///     store(y, arange(2), a);
    ///     store(y, 2 + arange(2), b);
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn split(self) -> (Self, Self) {
        stub()
    }

    /// The elements of two tiles in turn along the last dimension, whose extent doubles. Extents are powers of two.
    /// Tiles have at most four dimensions.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let (a, b) = (load(x, arange(2)), load(x, 2 + arange(2)));
    ///     store(y, arange(4), interleave(a, b));
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 3.0, 2.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn interleave(self, other: Self) -> Self {
        let _ = other;
        stub()
    }

    /// One tile behind the other along `axis`. Both have the same extents, which are powers of two.
    /// Tiles have at most four dimensions.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let (a, b) = (load(x, arange(2)), load(x, 2 + arange(2)));
    ///     store(y, arange(4), cat(b, a, 0));
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [3.0, 4.0, 1.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn cat(self, other: Self, axis: usize) -> Self {
        let _ = (other, axis);
        stub()
    }

    /// The part of a tile with these indices along `axis`.
    ///
    /// The bounds are constants. A part has a power of two of elements along the axis, and begins at a multiple of it.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let t = load(x, arange(4));
    ///     store(y, arange(2), slice(t, 0, 2..4));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [3.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn slice(self, axis: usize, part: Range<usize>) -> Self {
        let _ = (axis, part);
        stub()
    }

    /// A tile with another part from index `at` along `axis` on.
    ///
    /// `at` is a constant. The part has a power of two of elements along the axis, as the tile has, and `at` is a
    /// multiple of it. Along the other axes it has the extents of the tile, of at most four dimensions.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let t = load(x, arange(4));
    ///     store(y, arange(4), insert(t, 0, 2, load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 2.0, 1.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn insert(self, axis: usize, at: usize, part: Self) -> Self {
        let _ = (axis, at, part);
        stub()
    }

    /// The elements in reverse along `axis`. A tile has at most 64 KB.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let t = load(x, arange(4));
    ///     store(y, arange(4), flip(t, 0));
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [4.0, 3.0, 2.0, 1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn flip(self, axis: usize) -> Self {
        let _ = axis;
        stub()
    }

    /// The elements of a tile whose places along `axis` `index` gives: element `i` of the result is `t[index[i]]`.
    ///
    /// The result has the shape of `index`, which along the other axes is that of the tile. An index of any integer
    /// type that is no place gives 0. The tile goes through shared memory, and has at most 64 KB.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let t = load(x, arange(4));
    ///     store(y, arange(4), gather(t, 3 - arange(4) / 2, 0));
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [4.0, 4.0, 3.0, 3.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn gather<I: Value>(self, index: I, axis: usize) -> Self {
        let _ = (index, axis);
        stub()
    }
}

impl<V: Value> Parts for V {}

/// Two tiles side by side in a new last dimension: element `[i, 0]` is `a[i]`, and `[i, 1]` is `b[i]`.
///
/// Shapes meet as those of operators. A tile has at most five dimensions.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let (a, b) = (load(x, arange(2)), load(x, 2 + arange(2)));
///     store(y, 2 * arange(2).expand(1) + arange(2).expand(0), join(a, b));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn join<V: Value>(a: V, b: V) -> V {
    let _ = (a, b);
    stub()
}

/// The two tiles side by side in the last dimension, whose extent is 2.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let t = load(x, arange(4));
///     let (a, b) = split(reshape(t, [2, 2]));
///     store(y, arange(2), a);
///     store(y, 2 + arange(2), b);
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn split<V: Value>(t: V) -> (V, V) {
    let _ = t;
    stub()
}

/// The elements of two tiles in turn along the last dimension, whose extent doubles. Extents are powers of two.
/// Tiles have at most four dimensions.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let (a, b) = (load(x, arange(2)), load(x, 2 + arange(2)));
///     store(y, arange(4), interleave(a, b));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [1.0, 3.0, 2.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn interleave<V: Value>(a: V, b: V) -> V {
    let _ = (a, b);
    stub()
}

/// One tile behind the other along `axis`. Both have the same extents, which are powers of two.
/// Tiles have at most four dimensions.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let (a, b) = (load(x, arange(2)), load(x, 2 + arange(2)));
///     store(y, arange(4), cat(b, a, 0));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [3.0, 4.0, 1.0, 2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn cat<V: Value>(a: V, b: V, axis: usize) -> V {
    let _ = (a, b, axis);
    stub()
}

/// The part of a tile with these indices along `axis`.
///
/// The bounds are constants. A part has a power of two of elements along the axis, and begins at a multiple of it.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let t = load(x, arange(4));
///     store(y, arange(2), slice(t, 0, 2..4));
/// }
/// # }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [3.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn slice<V: Value>(t: V, axis: usize, part: Range<usize>) -> V {
    let _ = (t, axis, part);
    stub()
}

/// A tile with another part from index `at` along `axis` on.
///
/// `at` is a constant. The part has a power of two of elements along the axis, as the tile has, and `at` is a multiple
/// of it. Along the other axes it has the extents of the tile.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let t = load(x, arange(4));
///     store(y, arange(4), insert(t, 0, 2, load(x, arange(2))));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [1.0, 2.0, 1.0, 2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn insert<V: Value>(t: V, axis: usize, at: usize, part: V) -> V {
    let _ = (t, axis, at, part);
    stub()
}

/// The elements in reverse along `axis`. A tile has at most 64 KB.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let t = load(x, arange(4));
///     store(y, arange(4), flip(t, 0));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [4.0, 3.0, 2.0, 1.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn flip<V: Value>(t: V, axis: usize) -> V {
    let _ = (t, axis);
    stub()
}

/// The elements of a tile whose places along `axis` `index` gives: element `i` of the result is `t[index[i]]`.
///
/// The result has the shape of `index`, which along the other axes is that of the tile. An index of any integer type
/// that is no place gives 0. The tile goes through shared memory, and has at most 64 KB.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let t = load(x, arange(4));
///     store(y, arange(4), gather(t, 3 - arange(4) / 2, 0));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [4.0, 4.0, 3.0, 3.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn gather<V: Value, I: Value>(t: V, index: I, axis: usize) -> V {
    let _ = (t, index, axis);
    stub()
}
