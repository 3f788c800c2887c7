//! Tiles of numbers.

use crate::stub;
use crate::value::{Element, Shape, Tile, Value};
use std::ops::Range;

/// The numbers from 0 to `n - 1`, or those of the range `a..b`, as a tile of shape `[n]`.
///
/// The extent is a constant; a variable one is an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [2])]
/// fn k(y: &mut [usize]) {
///     let i = program_id(0) * 4 + arange(4);
///     store(y, i, i);
/// }
/// # }
/// let mut y = [9; 6];
/// Runtime::cpu().launch(k(&mut y))?;
/// assert_eq!(y, [0, 1, 2, 3, 4, 5]);
/// # Ok::<(), tilewright::Error>(())
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
/// The extents are constants: 1 to 5 of them, with at most 131072 elements. `false` is the zero of `bool`.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: View<f32, 2>, y: &mut [f32]) {
///     let mut sums = zeros::<f32>([1, 4]);
///     for row in 0..x.dim(0) {
///         sums += x.tile([row, 0], [1, 4]);
///     }
///     store(y, arange(4), sums.reshape([4]));
/// }
/// # }
/// let (rt, mut y) = (Runtime::cpu(), [9.0; 4]);
/// let x = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
/// rt.launch(k(x.view([2, 3])?, &mut y))?;
/// assert_eq!(y, [5.0, 7.0, 9.0, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn zeros<T: Element>(shape: impl Shape) -> Tile<T> {
    let _ = shape;
    stub()
}

/// A tile with the scalar `v` in every element.
///
/// The extents are constants: 1 to 5 of them, with at most 131072 elements.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(y: &mut [f32], v: f32) {
///     store(y, arange(2), full([2], v));
/// }
/// # }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k(&mut y, 1.5))?;
/// assert_eq!(y, [1.5, 1.5]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn full<V: Value>(shape: impl Shape, v: V) -> Tile<V::Elem> {
    let _ = (shape, v);
    stub()
}

/// Operations with another number of arguments.
pub mod overloads {
    use crate::stub;
    use crate::value::Tile;

    /// The numbers from `a` up to `b`: `arange(a, b)` is `arange(a..b)`.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// fn k(y: &mut [usize]) {
    ///     store(y, arange(0, 2), arange(3, 5));
    /// }
    /// let mut y = [0; 2];
    /// Runtime::cpu().launch(k(&mut y))?;
    /// assert_eq!(y, [3, 4]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn arange(a: usize, b: usize) -> Tile<usize> {
        let _ = (a, b);
        stub()
    }
}
