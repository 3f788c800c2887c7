//! Slices, views and pointers.

use crate::stub;
use crate::value::{Condition, Element, Of, Tile, Value};
use std::marker::PhantomData;
use std::ops::{Add, AddAssign};

/// The elements of the slice `x` at `i`: a scalar of a scalar index, a tile of the index's shape of a tile.
///
/// `i` is of any integer type. An index below 0 or past the end gives 0, never a fault. Options may follow:
/// [`mask`](Options::mask), [`other`](Options::other), [`streaming`](Options::streaming), [`keep`](Options::keep),
/// [`no_l1`](Options::no_l1), [`unchecked`](Options::unchecked). In an `unsafe fn` kernel `load(p.add(i))` loads through a
/// pointer, which only the mask protects. An index of floats, and anything but an array, are errors.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32], n: usize) {
///     let i = program_id(0) * 256 + arange(256);
///     store(y, i, load(x, i).mask(i < n).other(1.0));
/// }
/// ```
pub fn load<T: Element, I: Value>(x: &[T], i: I) -> I::With<T> {
    let _ = (x, i);
    stub()
}

/// Stores `v` to the elements of the slice `y` at `i`.
///
/// `v` has the type of the slice's elements and spreads to the shape of `i`. An index below 0 or past the end stores
/// nothing. Options may follow: [`mask`](Stored::mask), [`streaming`](Stored::streaming), [`keep`](Stored::keep),
/// [`unchecked`](Stored::unchecked). In an `unsafe fn` kernel `store(p.add(i), v)` stores through a pointer. A slice that is
/// no `&mut [T]`, and a value of another type, are errors.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(y: &mut [f32]) {
///     let i = program_id(0) * 256 + arange(256);
///     store(y, i, 1.0);
/// }
/// ```
pub fn store<T: Element, I: Value>(y: &mut [T], i: I, v: impl Of<T>) -> Stored {
    let _ = (y, i, v);
    stub()
}

/// Operations with another number of arguments: through pointers.
pub mod overloads {
    use super::*;

    /// The elements that the pointers `p.add(i)` point to, in an `unsafe fn` kernel.
    ///
    /// A masked element gives 0, or [`other`](Options::other). Nothing else protects: the kernel vouches for the addresses.
    ///
    /// ```ignore
    /// unsafe fn k(p: *const f32, y: &mut [f32], n: usize) {
    ///     let i = program_id(0) * 64 + arange(64);
    ///     store(y, i, load(p.add(i)).mask(i < n).other(1.0));
    /// }
    /// ```
    pub fn load<P: Pointer>(p: P) -> P::Pointee {
        let _ = p;
        stub()
    }

    /// Stores `v` through the pointers `p.add(i)`, in an `unsafe fn` kernel.
    ///
    /// Only the [`mask`](Stored::mask) protects: the kernel vouches for the addresses.
    ///
    /// ```ignore
    /// unsafe fn k(p: *mut f32, n: usize) {
    ///     let i = program_id(0) * 64 + arange(64);
    ///     store(p.add(i), 1.0).mask(i < n);
    /// }
    /// ```
    pub fn store<P: Pointer>(p: P, v: impl Value) -> Stored {
        let _ = (p, v);
        stub()
    }
}

/// An array of rank `R` with strides: a parameter of a kernel.
pub struct View<T, const R: usize>(PhantomData<T>);

/// An array of rank `R` with strides that a kernel writes: a parameter, declared as `mut v: ViewMut<T, R>`.
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
            /// The extents are constants. What lies outside of the array is 0, or what [`other`](Options::other) says. Hints
            /// may follow: [`streaming`](Options::streaming), [`keep`](Options::keep). As many offsets and extents as the
            /// view has dimensions; anything else is an error.
            ///
            /// ```
            /// # use tilewright_lang::*;
            /// fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
            ///     let row = program_id(0) * 16;
            ///     y.store([row, 0], x.tile([row, 0], [16, 64]));
            /// }
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
            /// # use tilewright_lang::*;
            /// fn k(x: View<f32, 2>, rows: &mut [usize]) {
            ///     store(rows, 0, x.dim(0));
            /// }
            /// ```
            pub fn dim(self, axis: usize) -> usize {
                let _ = axis;
                stub()
            }

            /// How many elements neighbours along `axis` are apart.
            ///
            /// An axis beyond the rank is an error.
            ///
            /// ```
            /// # use tilewright_lang::*;
            /// fn k(x: View<f32, 2>, strides: &mut [usize]) {
            ///     store(strides, 0, x.stride(0));
            /// }
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
    /// What lies outside of the array is dropped. The tile has the type and the rank of the view; anything else is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: View<f32, 2>, mut y: ViewMut<f32, 2>) {
    ///     y.store([0, 0], exp(x.tile([0, 0], [16, 64])));
    /// }
    /// ```
    pub fn store(self, offsets: [usize; R], v: impl Of<T>) -> Stored {
        let _ = (offsets, v);
        stub()
    }
}

/// A pointer parameter, `*const T`, of an `unsafe fn` kernel.
pub struct Ptr<T>(PhantomData<T>);

/// A pointer parameter, `*mut T`, of an `unsafe fn` kernel.
pub struct PtrMut<T>(PhantomData<T>);

/// A pointer, or a tile of pointers.
pub trait Pointer: Copy {
    /// What is loaded through it.
    type Pointee;
}

macro_rules! pointers {
    ($($pointer:ident)*) => { $(
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
            /// ```ignore
            /// unsafe fn k(p: *const f32, y: &mut [f32], n: usize) {
            ///     let i = program_id(0) * 64 + arange(64);
            ///     store(y, i, load(p.add(i)).mask(i < n));
            /// }
            /// ```
            #[allow(clippy::should_implement_trait)]
            pub fn add<I: Value>(self, i: I) -> I::With<$pointer<T>> {
                let _ = i;
                stub()
            }
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
            /// ```ignore
            /// unsafe fn k(p: *const f32, y: &mut [f32]) {
            ///     let first = p.add(arange(64));
            ///     store(y, arange(64), load(first) + load(first.add(64)));
            /// }
            /// ```
            #[allow(clippy::should_implement_trait)]
            pub fn add(self, i: impl Value) -> Self {
                let _ = i;
                stub()
            }
        }
    )* };
}
pointers!(Ptr PtrMut);

/// The result of a store, for the options that follow it.
pub struct Stored(());

impl Stored {
    /// Elements for which `m` does not hold are not stored.
    ///
    /// `m` spreads to the shape of the index. There is one mask: conditions are joined by `&`.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(y: &mut [f32], n: usize) {
    ///     store(y, arange(64), 1.0).mask(arange(64) < n);
    /// }
    /// ```
    pub fn mask(self, m: impl Condition) -> Stored {
        let _ = m;
        stub()
    }

    /// Evict first: nobody reads the result soon.
    pub fn streaming(self) -> Stored {
        stub()
    }

    /// Evict last: all read the result.
    pub fn keep(self) -> Stored {
        stub()
    }

    /// Past the L1 cache.
    pub fn no_l1(self) -> Stored {
        stub()
    }

    /// Of an atomic store: without an order to other memory.
    pub fn relaxed(self) -> Stored {
        stub()
    }

    /// In an `unsafe fn` kernel: without a check of the bounds, which the kernel vouches for.
    pub fn unchecked(self) -> Stored {
        stub()
    }
}

/// What may follow a load, a tile of a view, or an atomic.
pub trait Options: Value {
    /// Elements for which `m` does not hold are not accessed; loaded they are 0, or what [`other`](Options::other) says.
    ///
    /// `m` spreads to the shape of the index. There is one mask: conditions are joined by `&`.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32], n: usize) {
    ///     store(y, arange(64), load(x, arange(64)).mask(arange(64) < n));
    /// }
    /// ```
    fn mask(self, m: impl Condition) -> Self {
        let _ = m;
        stub()
    }

    /// What masked elements, and those outside of the array, are loaded as; 0 without it.
    ///
    /// `v` has the type of the elements and spreads to the shape of the index.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, 0, min(load(x, arange(64)).other(f32::INFINITY)));
    /// }
    /// ```
    fn other(self, v: impl Of<Self::Elem>) -> Self {
        let _ = v;
        stub()
    }

    /// Evict first: nobody else reads these elements.
    fn streaming(self) -> Self {
        stub()
    }

    /// Evict last: all programs read these elements.
    fn keep(self) -> Self {
        stub()
    }

    /// Past the L1 cache.
    fn no_l1(self) -> Self {
        stub()
    }

    /// Of an atomic: without an order to other memory.
    fn relaxed(self) -> Self {
        stub()
    }

    /// In an `unsafe fn` kernel: without a check of the bounds, which the kernel vouches for.
    fn unchecked(self) -> Self {
        stub()
    }
}

impl<V: Value> Options for V {}
