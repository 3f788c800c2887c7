//! Tiles of numbers.

use crate::stub;
use crate::value::{Element, Shape, Tile, Value};
use std::ops::Range;

/// The numbers from 0 to `n - 1`, or those of the range `a..b`, as a tile of shape `[n]`.
///
/// The extent is a constant; a variable one is an error.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let i = program_id(0) * 128 + arange(128);
///     store(y, i, load(x, i));
/// }
/// ```
pub fn arange(n: impl Extent) -> Tile<usize> {
    let _ = n;
    stub()
}

/// `N` or `A..B`.
pub trait Extent {}

impl Extent for usize {}
impl Extent for Range<usize> {}

/// A tile of zeros: `zeros::<f32>([M, N])`.
///
/// The extents are constants: 1 to 3 of them, with at most 131072 elements. `false` is the zero of `bool`.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: View<f32, 2>, y: &mut [f32]) {
///     let mut sums = zeros::<f32>([1, 64]);
///     for row in 0..x.dim(0) {
///         sums += x.tile([row, 0], [1, 64]);
///     }
///     store(y, arange(64), sum(sums));
/// }
/// ```
pub fn zeros<T: Element>(shape: impl Shape) -> Tile<T> {
    let _ = shape;
    stub()
}

/// A tile with the scalar `v` in every element.
///
/// The extents are constants: 1 to 3 of them, with at most 131072 elements.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(y: &mut [f32], v: f32) {
///     store(y, arange(64), full([64], v));
/// }
/// ```
pub fn full<V: Value>(shape: impl Shape, v: V) -> Tile<V::Elem> {
    let _ = (shape, v);
    stub()
}
