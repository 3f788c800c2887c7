//! Kinds of floats, and counts of the bits of integers.

use crate::stub;
use crate::value::Value;

macro_rules! functions {
    ($($element:ty { $( $(#[$doc:meta])* $name:ident )* })*) => {
        /// Kinds and counts of the elements of a value.
        pub trait Kinds: Value {
            $($( $(#[$doc])* fn $name(self) -> Self::With<$element> { stub() } )*)*
        }

        impl<V: Value> Kinds for V {}

        $($( $(#[$doc])* pub fn $name<V: Value>(x: V) -> V::With<$element> { let _ = x; stub() } )*)*
    };
}

functions! {
    bool {
    /// Whether each element is NaN.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [bool]) {
    ///     store(y, arange(2), isnan(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [false; 2];
    /// Runtime::cpu().launch(k(&[f32::NAN, 1.0], &mut y))?;
    /// assert_eq!(y, [true, false]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    isnan
    /// Whether each element is an infinity of either sign.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [bool]) {
    ///     store(y, arange(2), isinf(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [false; 2];
    /// Runtime::cpu().launch(k(&[f32::NEG_INFINITY, 1.0], &mut y))?;
    /// assert_eq!(y, [true, false]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    isinf
    /// Whether each element is neither an infinity nor NaN.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [bool]) {
    ///     store(y, arange(2), isfinite(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [false; 2];
    /// Runtime::cpu().launch(k(&[f32::NAN, 1.0], &mut y))?;
    /// assert_eq!(y, [false, true]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    isfinite
    }
    i32 {
    /// The number of bits that are set in each element, as an i32.
    ///
    /// The shape stays. Integers; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u32], y: &mut [i32]) {
    ///     store(y, arange(2), popc(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [9; 2];
    /// Runtime::cpu().launch(k(&[0b1011, 0], &mut y))?;
    /// assert_eq!(y, [3, 0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    popc
    /// The number of bits above the highest one that is set in each element, as an i32; of 0 the width of the type.
    ///
    /// The shape stays. Integers; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u32], y: &mut [i32]) {
    ///     store(y, arange(2), clz(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [9; 2];
    /// Runtime::cpu().launch(k(&[1, 0], &mut y))?;
    /// assert_eq!(y, [31, 32]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    clz
    /// The place of the lowest bit that is set in each element, from 1 on, as an i32; of 0 it is 0.
    ///
    /// The shape stays. Integers; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u32], y: &mut [i32]) {
    ///     store(y, arange(2), ffs(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [9; 2];
    /// Runtime::cpu().launch(k(&[8, 0], &mut y))?;
    /// assert_eq!(y, [4, 0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    ffs
    }
}
