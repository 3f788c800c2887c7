//! Slices and views.

use crate::options::Stored;
use crate::stub;
use crate::value::{Element, Of, Tile, Value};
use std::marker::PhantomData;

/// The elements of the slice `x` at `i`: a scalar of a scalar index, a tile of the index's shape of a tile.
///
/// `i` is of any integer type. An index below 0 or past the end gives 0, never a fault. Options may follow:
/// [`mask`](crate::Options::mask), [`other`](crate::Options::other), [`evict_first`](crate::Options::evict_first),
/// [`evict_last`](crate::Options::evict_last), [`no_l1`](crate::Options::no_l1),
/// [`unchecked`](crate::Options::unchecked). In an `unsafe fn` kernel `load(p.add(i))` loads through a pointer, which
/// only the mask protects. An index of floats, and anything but an array, are errors.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [2])]
/// fn k(x: &[f32], y: &mut [f32], n: usize) {
///     let i = program_id(0) * 4 + arange(4);
///     store(y, i, load(x, i).mask(i < n).other(1.0));
/// }
/// # }
/// let mut y = [0.0; 8];
/// Runtime::cpu().launch(k(&[5.0; 8], &mut y, 6))?;
/// assert_eq!(y, [5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 1.0, 1.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn load<T: Element, I: Value>(x: &[T], i: I) -> I::With<T> {
    let _ = (x, i);
    stub()
}

/// Stores `v` to the elements of the slice `y` at `i`.
///
/// `v` has the type of the slice's elements and broadcasts to the shape of `i`. An index below 0 or past the end stores
/// nothing. Options may follow: [`mask`](Stored::mask), [`evict_first`](Stored::evict_first),
/// [`evict_last`](Stored::evict_last), [`unchecked`](Stored::unchecked). In an `unsafe fn` kernel `store(p.add(i), v)`
/// stores through a pointer. A slice that is no `&mut [T]`, and a value of another type, are errors.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [2])]
/// fn k(y: &mut [f32]) {
///     let i = program_id(0) * 4 + arange(4);
///     store(y, i, 1.0);
/// }
/// # }
/// let mut y = [0.0; 6]; // indices 6 and 7 are dropped
/// Runtime::cpu().launch(k(&mut y))?;
/// assert_eq!(y, [1.0; 6]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn store<T: Element, I: Value>(y: &mut [T], i: I, v: impl Of<T>) -> Stored {
    let _ = (y, i, v);
    stub()
}

/// An array of rank `R` with strides: a parameter of a kernel. [`View::tile`] has an example.
pub struct View<T, const R: usize>(PhantomData<T>);

/// An array of rank `R` with strides that a kernel writes: a parameter, declared as `mut v: ViewMut<T, R>`.
/// [`ViewMut::store`] has an example.
pub struct ViewMut<T, const R: usize>(PhantomData<T>);

impl<T, const R: usize> Clone for View<T, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const R: usize> Copy for View<T, R> {}
impl<T, const R: usize> Clone for ViewMut<T, R> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T, const R: usize> Copy for ViewMut<T, R> {}

macro_rules! views {
    ($($view:ident)*) => { $(
        impl<T: Element, const R: usize> $view<T, R> {
            /// The tile of shape `extents` whose first element is at `offsets`.
            ///
            /// The extents are constants. Elements outside of the array are 0, or the value of
            /// [`other`](crate::Options::other). Hints may follow: [`evict_first`](crate::Options::evict_first),
            /// [`evict_last`](crate::Options::evict_last). As many offsets and extents as the view has dimensions;
            /// anything else is an error.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// # tilewright_lang::__example! {
            /// #[tile_kernel(grid = [2])]
            /// fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
            ///     let row = program_id(0) * 2;
            ///     y.store([row, 0], x.tile([row, 0], [2, 4]));
            /// }
            /// # }
            /// let rt = Runtime::cpu();
            /// let x = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
            /// let mut y = Buffer::<f32>::zeros(&rt, 6)?;
            /// rt.launch(k(x.view([3, 2])?, y.view_mut([3, 2])?))?;
            /// assert_eq!(y.to_vec()?, x.to_vec()?);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            pub fn tile(self, offsets: [usize; R], extents: [usize; R]) -> Tile<T> {
                let _ = (offsets, extents);
                stub()
            }

            /// The extent of the array along `axis`.
            ///
            /// An axis beyond the rank is an error.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// # tilewright_lang::__example! {
            /// #[tile_kernel(grid = [1])]
            /// fn k(x: View<f32, 2>, y: &mut [usize]) {
            ///     store(y, 0, x.dim(0));
            /// }
            /// # }
            /// let rt = Runtime::cpu();
            /// let x = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
            /// let mut y = [0];
            /// rt.launch(k(x.view([2, 3])?, &mut y))?;
            /// assert_eq!(y, [2]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            pub fn dim(self, axis: usize) -> usize {
                let _ = axis;
                stub()
            }

            /// The stride along `axis`, in elements.
            ///
            /// An axis beyond the rank is an error.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// # tilewright_lang::__example! {
            /// #[tile_kernel(grid = [1])]
            /// fn k(x: View<f32, 2>, y: &mut [usize]) {
            ///     store(y, 0, x.stride(0));
            /// }
            /// # }
            /// let rt = Runtime::cpu();
            /// let x = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
            /// let mut y = [0];
            /// rt.launch(k(x.view([2, 3])?, &mut y))?;
            /// assert_eq!(y, [3]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            pub fn stride(self, axis: usize) -> usize {
                let _ = axis;
                stub()
            }
        }
    )* };
}
views!(View ViewMut);

impl<T: Element, const R: usize> ViewMut<T, R> {
    /// Stores the tile `v` with its first element at `offsets`.
    ///
    /// Elements outside of the array are dropped. The tile has the type and the rank of the view; anything else is an
    /// error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
    ///     y.store([0, 0], 2.0 * x.tile([0, 0], [2, 4]));
    /// }
    /// # }
    /// let rt = Runtime::cpu();
    /// let x = Buffer::from_slice(&rt, &[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])?;
    /// let mut y = Buffer::<f32>::zeros(&rt, 6)?;
    /// rt.launch(k(x.view([2, 3])?, y.view_mut([2, 3])?))?;
    /// assert_eq!(y.to_vec()?, [2.0, 4.0, 6.0, 8.0, 10.0, 12.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn store(self, offsets: [usize; R], v: impl Of<T>) -> Stored {
        let _ = (offsets, v);
        stub()
    }
}
