//! Reductions.

use crate::stub;
use crate::value::Value;

/// Reductions of a tile.
pub trait Reductions: Value {
    /// The sum of all elements: a scalar, or `sum(t, axis)` along an axis, which the result does not have.
    ///
    /// Integers wrap: convert `i8` first. Halves are summed in f32 and rounded once. A tile of `bool` is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, program_id(0), sum(load(x, program_id(0) * 64 + arange(64))));
    /// }
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
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, program_id(0), max(load(x, program_id(0) * 64 + arange(64))));
    /// }
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
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, program_id(0), min(load(x, program_id(0) * 64 + arange(64))));
    /// }
    /// ```
    fn min(self) -> Self::Elem {
        stub()
    }

    /// The first place of the greatest element: an `i32`, or `argmax(t, axis)` along an axis, which the result does not
    /// have.
    ///
    /// Of all elements the extents are powers of two. Of a number and NaN it is the place of the number.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [i32]) {
    ///     store(y, program_id(0), argmax(load(x, program_id(0) * 64 + arange(64))));
    /// }
    /// ```
    fn argmax(self) -> i32 {
        stub()
    }

    /// The first place of the least element: an `i32`, or `argmin(t, axis)` along an axis, which the result does not
    /// have.
    ///
    /// Of all elements the extents are powers of two. Of a number and NaN it is the place of the number.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [i32]) {
    ///     store(y, program_id(0), argmin(load(x, program_id(0) * 64 + arange(64))));
    /// }
    /// ```
    fn argmin(self) -> i32 {
        stub()
    }

    /// What `f` makes of the elements along `axis`, two at a time; the result does not have the axis.
    ///
    /// The order is open, so `f` is associative and commutative. It computes with its two arguments alone. The extent is a
    /// power of two.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(16).expand(1) * 32 + arange(32).expand(0);
    ///     store(y, arange(16), reduce(load(x, i), 1, |a, b| a * b));
    /// }
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
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, program_id(0), sum(load(x, program_id(0) * 64 + arange(64))));
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, program_id(0), max(load(x, program_id(0) * 64 + arange(64))));
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, program_id(0), min(load(x, program_id(0) * 64 + arange(64))));
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [i32]) {
///     store(y, program_id(0), argmax(load(x, program_id(0) * 64 + arange(64))));
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [i32]) {
///     store(y, program_id(0), argmin(load(x, program_id(0) * 64 + arange(64))));
/// }
/// ```
pub fn argmin<V: Value>(t: V) -> i32 {
    let _ = t;
    stub()
}

/// What `f` makes of the elements along `axis`, two at a time; the result does not have the axis.
///
/// The order is open, so `f` is associative and commutative. It computes with its two arguments alone. The extent is a
/// power of two.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let i = arange(16).expand(1) * 32 + arange(32).expand(0);
///     store(y, arange(16), reduce(load(x, i), 1, |a, b| a * b));
/// }
/// ```
pub fn reduce<V: Value>(t: V, axis: usize, f: impl Fn(V::Elem, V::Elem) -> V::Elem) -> V {
    let _ = (t, axis, f);
    stub()
}

/// Operations with another number of arguments.
pub mod overloads {
    use crate::stub;
    use crate::value::{Meets, Value};

    /// The sums along `axis`, which the result does not have.
    pub fn sum<V: Value>(t: V, axis: usize) -> V {
        let _ = (t, axis);
        stub()
    }

    /// The greater of two scalars; or the greatest elements of a tile along the axis `b`, which the result does not have.
    pub fn max<A, B: Value>(a: A, b: B) -> A::Result
    where
        A: Value + Extremum<B>,
    {
        let _ = (a, b);
        stub()
    }

    /// The lesser of two scalars; or the least elements of a tile along the axis `b`, which the result does not have.
    pub fn min<A, B: Value>(a: A, b: B) -> A::Result
    where
        A: Value + Extremum<B>,
    {
        let _ = (a, b);
        stub()
    }

    /// The first places of the greatest elements along `axis`, which the result does not have.
    pub fn argmax<V: Value>(t: V, axis: usize) -> V::With<i32> {
        let _ = (t, axis);
        stub()
    }

    /// The first places of the least elements along `axis`, which the result does not have.
    pub fn argmin<V: Value>(t: V, axis: usize) -> V::With<i32> {
        let _ = (t, axis);
        stub()
    }

    /// What `max` and `min` of two arguments give.
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
