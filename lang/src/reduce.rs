//! Reductions.

use crate::stub;
use crate::value::{Tiles, Value};

/// Reductions of a tile.
pub trait Reductions: Value {
    /// The sum of all elements: a scalar, or `sum(t, axis)` along an axis, which the result does not have.
    ///
    /// Integers wrap: convert `i8` first. Halves are summed in f32 and rounded once. A tile of `bool` is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, 0, sum(load(x, arange(4))));
    /// }
    /// # }
    /// let mut y = [0.0];
    /// Runtime::cpu().launch(k(&[1.0, 4.0, 3.0, 2.0], &mut y))?;
    /// assert_eq!(y, [10.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn sum(self) -> Self::Elem {
        stub()
    }

    /// The greatest of all elements: a scalar, or `max(t, axis)` along an axis, which the result does not have. `max(a,
    /// b)` is the greater of two scalars.
    ///
    /// Of a number and NaN it is the number. A tile of `bool` is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, 0, max(load(x, arange(4))));
    /// }
    /// # }
    /// let mut y = [0.0];
    /// Runtime::cpu().launch(k(&[1.0, 4.0, 3.0, 2.0], &mut y))?;
    /// assert_eq!(y, [4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn max(self) -> Self::Elem {
        stub()
    }

    /// The least of all elements: a scalar, or `min(t, axis)` along an axis, which the result does not have. `min(a,
    /// b)` is the lesser of two scalars.
    ///
    /// Of a number and NaN it is the number. A tile of `bool` is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, 0, min(load(x, arange(4))));
    /// }
    /// # }
    /// let mut y = [0.0];
    /// Runtime::cpu().launch(k(&[1.0, 4.0, 3.0, 2.0], &mut y))?;
    /// assert_eq!(y, [1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn min(self) -> Self::Elem {
        stub()
    }

    /// The first place of the greatest element: an `i32`, or `argmax(t, axis)` along an axis, which the result does not
    /// have.
    ///
    /// Without an axis the extents are powers of two. NaN is skipped: of a number and NaN the number counts.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [i32]) {
    ///     store(y, 0, argmax(load(x, arange(4))));
    /// }
    /// # }
    /// let mut y = [9];
    /// Runtime::cpu().launch(k(&[1.0, 4.0, 3.0, 2.0], &mut y))?;
    /// assert_eq!(y, [1]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn argmax(self) -> i32 {
        stub()
    }

    /// The first place of the least element: an `i32`, or `argmin(t, axis)` along an axis, which the result does not
    /// have.
    ///
    /// Without an axis the extents are powers of two. NaN is skipped: of a number and NaN the number counts.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [i32]) {
    ///     store(y, 0, argmin(load(x, arange(4))));
    /// }
    /// # }
    /// let mut y = [9];
    /// Runtime::cpu().launch(k(&[1.0, 4.0, 3.0, 2.0], &mut y))?;
    /// assert_eq!(y, [0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn argmin(self) -> i32 {
        stub()
    }

    /// Combines the elements along `axis` with `f`, two at a time; the result does not have the axis.
    ///
    /// The order is open, so `f` is associative and commutative. It computes with its two arguments alone. The extent
    /// is a power of two.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(2).expand(1) * 4 + arange(4).expand(0); // the indices of a 2 x 4 matrix
    ///     store(y, arange(2), reduce(load(x, i), 1, |a, b| a * b));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut y))?;
    /// assert_eq!(y, [24.0, 1680.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn reduce(self, axis: usize, f: impl Fn(Self::Elem, Self::Elem) -> Self::Elem) -> Self {
        let _ = (axis, f);
        stub()
    }
}

impl<V: Value> Reductions for V {}

/// The sum of all elements: a scalar, or `sum(t, axis)` along an axis, which the result does not have.
///
/// Integers wrap: convert `i8` first. Halves are summed in f32 and rounded once. A tile of `bool` is an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, 0, sum(load(x, arange(4))));
/// }
/// # }
/// let mut y = [0.0];
/// Runtime::cpu().launch(k(&[1.0, 4.0, 3.0, 2.0], &mut y))?;
/// assert_eq!(y, [10.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn sum<V: Value>(t: V) -> V::Elem {
    let _ = t;
    stub()
}

/// The greatest of all elements: a scalar, or `max(t, axis)` along an axis, which the result does not have. `max(a,
/// b)` is the greater of two scalars.
///
/// Of a number and NaN it is the number. A tile of `bool` is an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, 0, max(load(x, arange(4))));
/// }
/// # }
/// let mut y = [0.0];
/// Runtime::cpu().launch(k(&[1.0, 4.0, 3.0, 2.0], &mut y))?;
/// assert_eq!(y, [4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn max<V: Value>(t: V) -> V::Elem {
    let _ = t;
    stub()
}

/// The least of all elements: a scalar, or `min(t, axis)` along an axis, which the result does not have. `min(a,
/// b)` is the lesser of two scalars.
///
/// Of a number and NaN it is the number. A tile of `bool` is an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, 0, min(load(x, arange(4))));
/// }
/// # }
/// let mut y = [0.0];
/// Runtime::cpu().launch(k(&[1.0, 4.0, 3.0, 2.0], &mut y))?;
/// assert_eq!(y, [1.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn min<V: Value>(t: V) -> V::Elem {
    let _ = t;
    stub()
}

/// The first place of the greatest element: an `i32`, or `argmax(t, axis)` along an axis, which the result does not
/// have.
///
/// Of all elements the extents are powers of two. Of a number and NaN it is the place of the number.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [i32]) {
///     store(y, 0, argmax(load(x, arange(4))));
/// }
/// # }
/// let mut y = [9];
/// Runtime::cpu().launch(k(&[1.0, 4.0, 3.0, 2.0], &mut y))?;
/// assert_eq!(y, [1]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn argmax<V: Value>(t: V) -> i32 {
    let _ = t;
    stub()
}

/// The first place of the least element: an `i32`, or `argmin(t, axis)` along an axis, which the result does not
/// have.
///
/// Of all elements the extents are powers of two. Of a number and NaN it is the place of the number.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [i32]) {
///     store(y, 0, argmin(load(x, arange(4))));
/// }
/// # }
/// let mut y = [9];
/// Runtime::cpu().launch(k(&[1.0, 4.0, 3.0, 2.0], &mut y))?;
/// assert_eq!(y, [0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn argmin<V: Value>(t: V) -> i32 {
    let _ = t;
    stub()
}

/// Combines the elements along `axis` with `f`, two at a time; the result does not have the axis.
///
/// The order is open, so `f` is associative and commutative. It computes with its two arguments alone. The extent is a
/// power of two.
///
/// A tuple of up to 8 tiles of one shape is reduced together: `f` takes two tuples of elements and gives one, as in
/// `reduce((t, i), 1, |(x, i), (y, j)| ..)`.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let i = arange(2).expand(1) * 4 + arange(4).expand(0); // the indices of a 2 x 4 matrix
///     store(y, arange(2), reduce(load(x, i), 1, |a, b| a * b));
/// }
/// # }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut y))?;
/// assert_eq!(y, [24.0, 1680.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn reduce<T: Tiles>(t: T, axis: usize, f: impl Fn(T::Elems, T::Elems) -> T::Elems) -> T {
    let _ = (t, axis, f);
    stub()
}

/// Operations with another number of arguments.
pub mod overloads {
    use crate::stub;
    use crate::value::{Meets, Value};

    /// The sums along `axis`, which the result does not have.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(2).expand(1) * 4 + arange(4).expand(0); // the indices of a 2 x 4 matrix
    ///     store(y, arange(2), sum(load(x, i), 1));
    /// }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut y))?;
    /// assert_eq!(y, [10.0, 26.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn sum<V: Value>(t: V, axis: usize) -> V {
        let _ = (t, axis);
        stub()
    }

    /// The greater of two scalars; or the greatest elements of a tile along the axis `b`, which the result does not
    /// have.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(2).expand(1) * 4 + arange(4).expand(0); // the indices of a 2 x 4 matrix
    ///     store(y, arange(2), max(load(x, i), 1));
    /// }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut y))?;
    /// assert_eq!(y, [4.0, 8.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn max<A, B: Value>(a: A, b: B) -> A::Result
    where
        A: Value + Extremum<B>,
    {
        let _ = (a, b);
        stub()
    }

    /// The lesser of two scalars; or the least elements of a tile along the axis `b`, which the result does not have.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(2).expand(1) * 4 + arange(4).expand(0); // the indices of a 2 x 4 matrix
    ///     store(y, arange(2), min(load(x, i), 1));
    /// }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut y))?;
    /// assert_eq!(y, [1.0, 5.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn min<A, B: Value>(a: A, b: B) -> A::Result
    where
        A: Value + Extremum<B>,
    {
        let _ = (a, b);
        stub()
    }

    /// The first places of the greatest elements along `axis`, which the result does not have.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [i32]) {
    ///     let i = arange(2).expand(1) * 4 + arange(4).expand(0); // the indices of a 2 x 4 matrix
    ///     store(y, arange(2), argmax(load(x, i), 1));
    /// }
    /// let mut y = [9; 2];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut y))?;
    /// assert_eq!(y, [3, 3]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn argmax<V: Value>(t: V, axis: usize) -> V::With<i32> {
        let _ = (t, axis);
        stub()
    }

    /// The first places of the least elements along `axis`, which the result does not have.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [i32]) {
    ///     let i = arange(2).expand(1) * 4 + arange(4).expand(0); // the indices of a 2 x 4 matrix
    ///     store(y, arange(2), argmin(load(x, i), 1));
    /// }
    /// let mut y = [9; 2];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0], &mut y))?;
    /// assert_eq!(y, [0, 0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn argmin<V: Value>(t: V, axis: usize) -> V::With<i32> {
        let _ = (t, axis);
        stub()
    }

    /// The arguments of `max` and `min` with two arguments.
    pub trait Extremum<B>: Value {
        /// A scalar of two scalars, a tile of a tile and an axis.
        type Result;
    }

    impl<T: crate::value::Element> Extremum<usize> for crate::value::Tile<T> {
        type Result = crate::value::Tile<T>;
    }

    impl<T: crate::value::Element + Meets<T>> Extremum<T> for T {
        type Result = T;
    }
}
