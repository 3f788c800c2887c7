//! Sorting.

use crate::stub;
use crate::value::Tiles;

/// The elements along `axis` in ascending order. The extent is a power of two.
///
/// -0 sorts before 0, NaN last. For a tuple of tiles, the first tile holds the keys. The elements of the others move
/// along, as in `sort((t, arange(N)), 0)`. The tiles have one shape. The order of equal keys is open. A tile of `bool`
/// is an error. `.descending()` may follow; NaN comes first then.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, arange(4), sort(load(x, arange(4)), 0));
/// }
/// # }
/// let mut y = [0.0; 4];
/// Runtime::cpu().launch(k(&[3.0, 1.0, 4.0, 2.0], &mut y))?;
/// assert_eq!(y, [1.0, 2.0, 3.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn sort<T: Tiles>(t: T, axis: usize) -> T {
    let _ = (t, axis);
    stub()
}

/// The `k` greatest elements along `axis`, the greatest first: the first ones of `sort(t, axis).descending()`.
///
/// `k` is a constant and a power of two, as the extent is. Tuples of tiles are as those of [`sort`].
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, arange(2), topk(load(x, arange(4)), 2, 0));
/// }
/// # }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k(&[3.0, 1.0, 4.0, 2.0], &mut y))?;
/// assert_eq!(y, [4.0, 3.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn topk<T: Tiles>(t: T, k: usize, axis: usize) -> T {
    let _ = (t, k, axis);
    stub()
}

/// The options of a sort.
pub trait SortOptions: Tiles {
    /// The greatest element comes first, of floats NaN before it.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(4), sort(load(x, arange(4)), 0).descending());
    /// }
    /// # }
    /// let mut y = [0.0; 4];
    /// Runtime::cpu().launch(k(&[3.0, 1.0, 4.0, 2.0], &mut y))?;
    /// assert_eq!(y, [4.0, 3.0, 2.0, 1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    fn descending(self) -> Self {
        stub()
    }
}

impl<T: Tiles> SortOptions for T {}
