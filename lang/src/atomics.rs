//! Atomics.

use crate::options::Stored;
use crate::stub;
use crate::value::{Element, Of, Value};

/// Declares atomics that take a value and give the old one: of slices, and of pointers as overloads.
macro_rules! atomics {
    ($( $(#[$doc:meta])* $name:ident )*) => {
        $(
            $(#[$doc])*
            pub fn $name<T: Element, I: Value>(y: &mut [T], i: I, v: impl Of<T>) -> I::With<T> {
                let _ = (y, i, v);
                stub()
            }
        )*

        /// Operations with another number of arguments: through pointers.
        pub mod overloads {
            use crate::pointer::Pointer;
            use crate::options::Stored;
            use crate::stub;
            use crate::value::Value;

            $(
                $(#[$doc])*
                pub fn $name<P: Pointer>(p: P, v: impl Value) -> P::Pointee {
                    let _ = (p, v);
                    stub()
                }
            )*

            /// Stores `new` through the pointers `p` where they point to `expected`, and gives the old elements.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// #[tile_kernel(grid = [1])]
            /// unsafe fn k(p: *mut u32) {
            ///     atomic_cas(p.add(0), 0, 7);
            /// }
            /// let mut y = [0u32];
            /// // SAFETY: `y` has an element.
            /// Runtime::cpu().launch(unsafe { k(y.as_mut_ptr()) })?;
            /// assert_eq!(y, [7]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            pub fn atomic_cas<P: Pointer>(p: P, expected: impl Value, new: impl Value) -> P::Pointee {
                let _ = (p, expected, new);
                stub()
            }

            /// Loads through the pointers `p`, after all that a matching atomic store follows.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// #[tile_kernel(grid = [1])]
            /// unsafe fn k(p: *mut u32, y: &mut [u32]) {
            ///     store(y, 0, atomic_load(p.add(0)));
            /// }
            /// let (mut semaphore, mut y) = ([3u32], [0]);
            /// // SAFETY: `semaphore` has an element.
            /// Runtime::cpu().launch(unsafe { k(semaphore.as_mut_ptr(), &mut y) })?;
            /// assert_eq!(y, [3]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            pub fn atomic_load<P: Pointer>(p: P) -> P::Pointee {
                let _ = p;
                stub()
            }

            /// Stores `v` through the pointers `p`, after all that the program has stored.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// #[tile_kernel(grid = [1])]
            /// unsafe fn k(p: *mut u32) {
            ///     atomic_store(p.add(0), 1);
            /// }
            /// let mut y = [0u32];
            /// // SAFETY: `y` has an element.
            /// Runtime::cpu().launch(unsafe { k(y.as_mut_ptr()) })?;
            /// assert_eq!(y, [1]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            pub fn atomic_store<P: Pointer>(p: P, v: impl Value) -> Stored {
                let _ = (p, v);
                stub()
            }
        }
    };
}

atomics! {
    /// Adds `v` to each element of `y` at `i`, and gives the old elements.
    ///
    /// `v` has the type of the elements and broadcasts to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [3])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     atomic_add(y, arange(2), load(x, arange(2)));
    /// }
    /// # }
    /// let mut y = [10.0, 20.0];
    /// Runtime::cpu().launch(k(&[1.0, 2.0], &mut y))?;
    /// assert_eq!(y, [13.0, 26.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    atomic_add
    /// Replaces each element of `y` at `i` by the greater of it and `v`, and gives the old elements.
    ///
    /// `v` has the type of the elements and broadcasts to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[i32], y: &mut [i32]) {
    ///     atomic_max(y, arange(2), load(x, arange(2)));
    /// }
    /// # }
    /// let mut y = [3, 3];
    /// Runtime::cpu().launch(k(&[1, 5], &mut y))?;
    /// assert_eq!(y, [3, 5]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    atomic_max
    /// Replaces each element of `y` at `i` by the lesser of it and `v`, and gives the old elements.
    ///
    /// `v` has the type of the elements and broadcasts to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[i32], y: &mut [i32]) {
    ///     atomic_min(y, arange(2), load(x, arange(2)));
    /// }
    /// # }
    /// let mut y = [3, 3];
    /// Runtime::cpu().launch(k(&[1, 5], &mut y))?;
    /// assert_eq!(y, [1, 3]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    atomic_min
    /// Joins each element of `y` at `i` with `v` by `&`, and gives the old elements.
    ///
    /// `v` has the type of the elements and broadcasts to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u32], y: &mut [u32]) {
    ///     atomic_and(y, arange(2), load(x, arange(2)));
    /// }
    /// # }
    /// let mut y = [0b0110, 0b0110];
    /// Runtime::cpu().launch(k(&[0b1100, 0b1010], &mut y))?;
    /// assert_eq!(y, [0b0100, 0b0010]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    atomic_and
    /// Joins each element of `y` at `i` with `v` by `|`, and gives the old elements.
    ///
    /// `v` has the type of the elements and broadcasts to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u32], y: &mut [u32]) {
    ///     atomic_or(y, arange(2), load(x, arange(2)));
    /// }
    /// # }
    /// let mut y = [0b0110, 0b0110];
    /// Runtime::cpu().launch(k(&[0b1100, 0b1010], &mut y))?;
    /// assert_eq!(y, [0b1110, 0b1110]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    atomic_or
    /// Joins each element of `y` at `i` with `v` by `^`, and gives the old elements.
    ///
    /// `v` has the type of the elements and broadcasts to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u32], y: &mut [u32]) {
    ///     atomic_xor(y, arange(2), load(x, arange(2)));
    /// }
    /// # }
    /// let mut y = [0b0110, 0b0110];
    /// Runtime::cpu().launch(k(&[0b1100, 0b1010], &mut y))?;
    /// assert_eq!(y, [0b1010, 0b1100]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    atomic_xor
    /// Replaces each element of `y` at `i` by `v`, and gives the old elements.
    ///
    /// `v` has the type of the elements and broadcasts to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u32], y: &mut [u32], old: &mut [u32]) {
    ///     store(old, arange(2), atomic_xchg(y, arange(2), load(x, arange(2))));
    /// }
    /// # }
    /// let (mut y, mut old) = ([1, 2], [0, 0]);
    /// Runtime::cpu().launch(k(&[7, 8], &mut y, &mut old))?;
    /// assert_eq!((y, old), ([7, 8], [1, 2]));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    atomic_xchg
}

/// Stores `new` to each element of `y` at `i` that is `expected`, and gives the old elements.
///
/// Both values have the type of the elements, an integer one of 32 or 64 bits, and broadcast to the shape of `i`.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(y: &mut [u32]) {
///     atomic_cas(y, arange(2), 0, 7);
/// }
/// # }
/// let mut y = [0, 1];
/// Runtime::cpu().launch(k(&mut y))?;
/// assert_eq!(y, [7, 1]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn atomic_cas<T: Element, I: Value>(y: &mut [T], i: I, expected: impl Of<T>, new: impl Of<T>) -> I::With<T> {
    let _ = (y, i, expected, new);
    stub()
}

/// The elements of `y` at `i`, which other programs store to.
///
/// It acquires at device scope, unless [`relaxed`](crate::Options::relaxed) follows: if it reads the value of an
/// `atomic_store`, the earlier stores of that program are visible after it.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(semaphore: &mut [u32], y: &mut [u32]) {
///     store(y, 0, atomic_load(semaphore, 0));
/// }
/// # }
/// let mut y = [0];
/// Runtime::cpu().launch(k(&mut [3], &mut y))?;
/// assert_eq!(y, [3]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn atomic_load<T: Element, I: Value>(y: &mut [T], i: I) -> I::With<T> {
    let _ = (y, i);
    stub()
}

/// Stores `v` to the elements of `y` at `i`, which other programs load.
///
/// It releases at device scope, unless [`relaxed`](Stored::relaxed) follows: the earlier stores of this program are
/// visible to a program that reads the value.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(semaphore: &mut [u32]) {
///     atomic_store(semaphore, 0, 1);
/// }
/// # }
/// let mut semaphore = [0];
/// Runtime::cpu().launch(k(&mut semaphore))?;
/// assert_eq!(semaphore, [1]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn atomic_store<T: Element, I: Value>(y: &mut [T], i: I, v: impl Of<T>) -> Stored {
    let _ = (y, i, v);
    stub()
}
