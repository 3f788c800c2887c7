//! Atomics.

use crate::memory::Stored;
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
            use crate::memory::{Pointer, Stored};
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
            pub fn atomic_cas<P: Pointer>(p: P, expected: impl Value, new: impl Value) -> P::Pointee {
                let _ = (p, expected, new);
                stub()
            }

            /// Loads through the pointers `p`, after all that a matching atomic store follows.
            pub fn atomic_load<P: Pointer>(p: P) -> P::Pointee {
                let _ = p;
                stub()
            }

            /// Stores `v` through the pointers `p`, after all that the program has stored.
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
    /// `v` has the type of the elements and spreads to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     atomic_add(y, arange(64), load(x, arange(64)));
    /// }
    /// ```
    atomic_add
    /// Replaces each element of `y` at `i` by the greater of it and `v`, and gives the old elements.
    ///
    /// `v` has the type of the elements and spreads to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[i32], y: &mut [i32]) {
    ///     atomic_max(y, arange(64), load(x, arange(64)));
    /// }
    /// ```
    atomic_max
    /// Replaces each element of `y` at `i` by the lesser of it and `v`, and gives the old elements.
    ///
    /// `v` has the type of the elements and spreads to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[i32], y: &mut [i32]) {
    ///     atomic_min(y, arange(64), load(x, arange(64)));
    /// }
    /// ```
    atomic_min
    /// Joins each element of `y` at `i` with `v` by `&`, and gives the old elements.
    ///
    /// `v` has the type of the elements and spreads to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[u32], y: &mut [u32]) {
    ///     atomic_and(y, arange(64), load(x, arange(64)));
    /// }
    /// ```
    atomic_and
    /// Joins each element of `y` at `i` with `v` by `|`, and gives the old elements.
    ///
    /// `v` has the type of the elements and spreads to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[u32], y: &mut [u32]) {
    ///     atomic_or(y, arange(64), load(x, arange(64)));
    /// }
    /// ```
    atomic_or
    /// Joins each element of `y` at `i` with `v` by `^`, and gives the old elements.
    ///
    /// `v` has the type of the elements and spreads to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[u32], y: &mut [u32]) {
    ///     atomic_xor(y, arange(64), load(x, arange(64)));
    /// }
    /// ```
    atomic_xor
    /// Replaces each element of `y` at `i` by `v`, and gives the old elements.
    ///
    /// `v` has the type of the elements and spreads to the shape of `i`. [`mask`](crate::Options::mask) and
    /// [`relaxed`](crate::Options::relaxed) may follow; without the latter it acquires and releases at device scope.
    /// Types of 8 bits, and a slice that is no `&mut [T]`, are errors.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[u32], y: &mut [u32]) {
    ///     atomic_xchg(y, arange(64), load(x, arange(64)));
    /// }
    /// ```
    atomic_xchg
}

/// Stores `new` to each element of `y` at `i` that is `expected`, and gives the old elements.
///
/// Both values have the type of the elements, an integer one of 32 or 64 bits, and spread to the shape of `i`.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(y: &mut [u32]) {
///     atomic_cas(y, 0, 0, 1);
/// }
/// ```
pub fn atomic_cas<T: Element, I: Value>(y: &mut [T], i: I, expected: impl Of<T>, new: impl Of<T>) -> I::With<T> {
    let _ = (y, i, expected, new);
    stub()
}

/// The elements of `y` at `i`, which other programs store to.
///
/// It acquires at device scope, unless [`relaxed`](crate::Options::relaxed) follows: what a program stored before the
/// `atomic_store` whose value is seen is visible after it.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(semaphore: &mut [u32], y: &mut [u32]) {
///     store(y, 0, atomic_load(semaphore, 0));
/// }
/// ```
pub fn atomic_load<T: Element, I: Value>(y: &mut [T], i: I) -> I::With<T> {
    let _ = (y, i);
    stub()
}

/// Stores `v` to the elements of `y` at `i`, which other programs load.
///
/// It releases at device scope, unless [`relaxed`](Stored::relaxed) follows: what this program has stored before is visible
/// to a program that sees the value.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(semaphore: &mut [u32]) {
///     atomic_store(semaphore, 0, 1);
/// }
/// ```
pub fn atomic_store<T: Element, I: Value>(y: &mut [T], i: I, v: impl Of<T>) -> Stored {
    let _ = (y, i, v);
    stub()
}
