//! Raw pointers, for `unsafe fn` kernels.

use crate::memory::{View, ViewMut};
use crate::stub;
use crate::value::{Element, Tile, Value};
use std::marker::PhantomData;
use std::ops::{Add, AddAssign};

/// Operations with another number of arguments: through pointers.
pub mod overloads {
    use super::Pointer;
    use crate::options::Stored;
    use crate::stub;
    use crate::value::Value;

    /// The elements that the pointers `p.add(i)` point to, in an `unsafe fn` kernel.
    ///
    /// A masked element gives 0, or [`other`](crate::Options::other). Nothing else protects: the kernel vouches for the
    /// addresses.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// unsafe fn k(p: *const f32, y: &mut [f32], n: usize) {
    ///     let i = arange(4);
    ///     store(y, i, load(p.add(i)).mask(i < n).other(1.0));
    /// }
    /// let (x, mut y) = ([5.0f32; 4], [0.0; 4]);
    /// // SAFETY: `x` has more than 2 elements, and the mask leaves out those from 2 on.
    /// Runtime::cpu().launch(unsafe { k(x.as_ptr(), &mut y, 2) })?;
    /// assert_eq!(y, [5.0, 5.0, 1.0, 1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn load<P: Pointer>(p: P) -> P::Pointee {
        let _ = p;
        stub()
    }

    /// Stores `v` through the pointers `p.add(i)`, in an `unsafe fn` kernel.
    ///
    /// Only the [`mask`](Stored::mask) protects: the kernel vouches for the addresses.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// #[tile_kernel(grid = [1])]
    /// unsafe fn k(p: *mut f32, n: usize) {
    ///     let i = arange(4);
    ///     store(p.add(i), 1.0).mask(i < n);
    /// }
    /// let mut y = [0.0f32; 3];
    /// // SAFETY: `y` has 3 elements, and the mask leaves out those from 3 on.
    /// Runtime::cpu().launch(unsafe { k(y.as_mut_ptr(), 3) })?;
    /// assert_eq!(y, [1.0; 3]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn store<P: Pointer>(p: P, v: impl Value) -> Stored {
        let _ = (p, v);
        stub()
    }
}

/// A pointer `*const T` of an `unsafe fn` kernel: a parameter, or an address that is cast, `address as *const T`.
///
/// An address is a `u64` (`usize`) or an `i64`, such as one that is loaded from a table. A tile of addresses becomes a
/// tile of pointers. It points to memory that is none of the kernel's other arguments, if either is written, and that
/// the kernel vouches for. [`Ptr::add`] and [`Ptr::view`] have examples.
pub struct Ptr<T>(PhantomData<T>);

/// A pointer `*mut T` of an `unsafe fn` kernel: as [`Ptr`], for memory that the kernel writes. [`PtrMut::add`] has an
/// example.
pub struct PtrMut<T>(PhantomData<T>);

/// A pointer, or a tile of pointers.
pub trait Pointer: Copy {
    /// The value that is loaded through it.
    type Pointee;
}

/// The arguments of [`view`]. Kernels do not write it.
pub trait Viewed {
    /// The view with so many dimensions.
    type View<const R: usize>;
}

/// Values that can be cast to a pointer: an address, a tile of addresses, a pointer. Kernels do not write it.
pub trait Address {
    /// The pointer, or a tile of pointers.
    type With<P>;
}

impl<V: Value> Address for V {
    type With<P> = V::With<P>;
}

/// A view of the memory from `p` on: [`Ptr::view`] has the details.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// /// Doubles a matrix of `rows` rows and 3 columns in place.
/// #[tile_kernel(grid = [1])]
/// unsafe fn k(p: *mut f32, rows: usize) {
///     let mut x = view(p, [rows, 3], [3, 1]);
///     x.store([0, 0], 2.0 * x.tile([0, 0], [4, 4]));
/// }
/// let mut x = [1.0f32; 7];
/// // SAFETY: `x` has more than 2 x 3 elements.
/// Runtime::cpu().launch(unsafe { k(x.as_mut_ptr(), 2) })?;
/// assert_eq!(x, [2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn view<P: Viewed, const R: usize>(p: P, extents: [usize; R], strides: [usize; R]) -> P::View<R> {
    let _ = (p, extents, strides);
    stub()
}

/// `address as *const T`
pub fn to_pointer<P, A: Address>(_: A) -> A::With<P> {
    stub()
}

macro_rules! pointers {
    ($($pointer:ident $view:ident)*) => { $(
        impl<T> Clone for $pointer<T> {
            fn clone(&self) -> Self {
                *self
            }
        }
        impl<T> Copy for $pointer<T> {}

        impl<T> $pointer<T> {
            /// The pointer moved by `i` elements; of a tile `i` it is a tile of pointers.
            ///
            /// `i` is of any integer type. Anything but a pointer is an error: numbers are added by `+`.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// #[tile_kernel(grid = [1])]
            /// unsafe fn k(p: *const f32, y: &mut [f32], n: usize) {
            ///     let i = arange(4);
            ///     store(y, i, load(p.add(i)).mask(i < n));
            /// }
            /// let (x, mut y) = ([5.0f32; 4], [0.0; 4]);
            /// // SAFETY: `x` has more than 2 elements, and the mask leaves out those from 2 on.
            /// Runtime::cpu().launch(unsafe { k(x.as_ptr(), &mut y, 2) })?;
            /// assert_eq!(y, [5.0, 5.0, 0.0, 0.0]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            #[allow(clippy::should_implement_trait)]
            pub fn add<I: Value>(self, i: I) -> I::With<$pointer<T>> {
                let _ = i;
                stub()
            }

            /// A view of the memory from here on, with these extents, and strides in elements.
            ///
            /// Both are arrays of 1 to 5 scalars. [`tile`](View::tile) and [`store`](ViewMut::store) stay inside of the
            /// extents, as those of a parameter do. Of a `*const T` it is a [`View`], of a `*mut T` a [`ViewMut`]. A
            /// tile of pointers is an error.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// /// Sums of matrices of several sizes: `table` has an address, rows and columns of each.
            /// #[tile_kernel(grid = [y.len()])]
            /// unsafe fn k(table: &[u64], y: &mut [f32]) {
            ///     let entry = program_id(0) * 3;
            ///     let (rows, columns) = (load(table, entry + 1), load(table, entry + 2));
            ///     let x = view(load(table, entry) as *const f32, [rows, columns], [columns, 1]);
            ///     store(y, program_id(0), sum(x.tile([0, 0], [4, 4])));
            /// }
            /// let (a, b) = ([1.0f32; 6], [2.0f32; 4]);
            /// let table = [a.as_ptr() as u64, 2, 3, b.as_ptr() as u64, 1, 4];
            /// let mut y = [0.0; 2];
            /// // SAFETY: the table has the addresses of 2 x 3 and of 1 x 4 elements.
            /// Runtime::cpu().launch(unsafe { k(&table, &mut y) })?;
            /// assert_eq!(y, [6.0, 8.0]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            pub fn view<const R: usize>(self, extents: [usize; R], strides: [usize; R]) -> $view<T, R> {
                let _ = (extents, strides);
                stub()
            }
        }

        impl<T> Viewed for $pointer<T> {
            type View<const R: usize> = $view<T, R>;
        }

        impl<T> Address for $pointer<T> {
            type With<P> = P;
        }

        impl<T: Element> Pointer for $pointer<T> {
            type Pointee = T;
        }

        impl<T: Element> Pointer for Tile<$pointer<T>> {
            type Pointee = Tile<T>;
        }

        impl<T, I: Value> AddAssign<I> for $pointer<T> {
            fn add_assign(&mut self, _: I) {
                stub()
            }
        }

        impl<T, I: Value> AddAssign<I> for Tile<$pointer<T>> {
            fn add_assign(&mut self, _: I) {
                stub()
            }
        }

        impl<T, I: Value> Add<I> for Tile<$pointer<T>> {
            type Output = Tile<$pointer<T>>;
            fn add(self, _: I) -> Self {
                stub()
            }
        }

        impl<T> Tile<$pointer<T>> {
            /// The pointers moved by `i` elements.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// #[tile_kernel(grid = [1])]
            /// unsafe fn k(p: *const f32, y: &mut [f32]) {
            ///     let first = p.add(arange(2));
            ///     store(y, arange(2), load(first) + load(first.add(2)));
            /// }
            /// let (x, mut y) = ([1.0f32, 2.0, 3.0, 4.0], [0.0; 2]);
            /// // SAFETY: `x` has 4 elements.
            /// Runtime::cpu().launch(unsafe { k(x.as_ptr(), &mut y) })?;
            /// assert_eq!(y, [4.0, 6.0]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            #[allow(clippy::should_implement_trait)]
            pub fn add(self, i: impl Value) -> Self {
                let _ = i;
                stub()
            }
        }
    )* };
}
pointers!(Ptr View PtrMut ViewMut);
