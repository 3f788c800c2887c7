//! Scans.

use crate::stub;
use crate::value::{Tiles, Value};

/// Scans of a tile.
pub trait Scans: Value {
    /// The sums of all elements up to each one along `axis`.
    ///
    /// Integers wrap. Halves are summed in f32, and each sum is rounded once. The elements are added in the order of
    /// the axis, in groups. A tile of `bool` is an error. `.reverse()` and `.exclusive(v)` may follow.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), cumsum(load(x, arange(4)), 0));
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 3.0, 6.0, 10.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn cumsum(self, axis: usize) -> Self {
        let _ = axis;
        stub()
    }

    /// The products of all elements up to each one along `axis`.
    ///
    /// Integers wrap. Halves are multiplied in f32, and each product is rounded once. A tile of `bool` is an error.
    /// `.reverse()` and `.exclusive(v)` may follow.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), cumprod(load(x, arange(4)), 0));
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [1.0, 2.0, 6.0, 24.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn cumprod(self, axis: usize) -> Self {
        let _ = axis;
        stub()
    }
}

impl<V: Value> Scans for V {}

/// The sums of all elements up to each one along `axis`.
///
/// Integers wrap. Halves are summed in f32, and each sum is rounded once. The elements are added in the order of the
/// axis, in groups. A tile of `bool` is an error. `.reverse()` and `.exclusive(v)` may follow.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, arange(4), cumsum(load(x, arange(4)), 0));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [1.0, 3.0, 6.0, 10.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn cumsum<V: Value>(t: V, axis: usize) -> V {
    let _ = (t, axis);
    stub()
}

/// The products of all elements up to each one along `axis`.
///
/// Integers wrap. Halves are multiplied in f32, and each product is rounded once. A tile of `bool` is an error.
/// `.reverse()` and `.exclusive(v)` may follow.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, arange(4), cumprod(load(x, arange(4)), 0));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
/// assert_eq!(y, [1.0, 2.0, 6.0, 24.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn cumprod<V: Value>(t: V, axis: usize) -> V {
    let _ = (t, axis);
    stub()
}

/// For each element the combination by `f` of all elements up to it along `axis`.
///
/// `f` is associative, and need not be commutative: the earlier element is its first argument. It computes with its two
/// arguments alone. A tuple of up to 8 tiles of one shape is scanned together: `f` takes two tuples of elements and
/// gives one. `.reverse()` and `.exclusive(v)` may follow.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(a: &[f32], b: &[f32], y: &mut [f32]) {
///     // The recurrence y = a * y + b, from 0 on.
///     let i = arange(4);
///     let (_, s) = scan((load(a, i), load(b, i)), 0, |(a, b), (c, d)| (a * c, b * c + d));
///     store(y, i, s);
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[0.5, 0.5, 2.0, 1.0], &[4.0, 2.0, 1.0, 3.0], &mut y))?;
/// assert_eq!(y, [4.0, 4.0, 9.0, 12.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn scan<T: Tiles>(t: T, axis: usize, f: impl Fn(T::Elems, T::Elems) -> T::Elems) -> T {
    let _ = (t, axis, f);
    stub()
}

/// The options of a scan.
pub trait ScanOptions: Tiles {
    /// The scan begins at the end of the axis: each result is of the element and all after it.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), cumsum(load(x, arange(4)), 0).reverse());
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [10.0, 9.0, 7.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn reverse(self) -> Self {
        stub()
    }

    /// Each result is without the element itself. `first` comes before all elements: it is the first result. For tuples
    /// of tiles it is a tuple.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), cumsum(load(x, arange(4)), 0).exclusive(5.0));
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[1.0, 2.0, 3.0, 4.0], &mut y))?;
    /// assert_eq!(y, [5.0, 6.0, 8.0, 11.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn exclusive(self, first: Self::Elems) -> Self {
        let _ = first;
        stub()
    }
}

impl<T: Tiles> ScanOptions for T {}
