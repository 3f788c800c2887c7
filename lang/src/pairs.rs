//! Functions of two values.

use crate::stub;
use crate::value::{Meets, Of, Value};

macro_rules! functions {
    ($( $(#[$doc:meta])* $name:ident )*) => {
        /// Functions of each two elements of two values.
        pub trait Pairs: Value {
            $(
                $(#[$doc])*
                fn $name<B: Value>(self, b: B) -> Self::Output
                where
                    Self: Meets<B>,
                {
                    let _ = b;
                    stub()
                }
            )*

            /// Each element times 2 to the power of that of `n`, rounded once.
            ///
            /// The elements are floats and `n` i32. They broadcast to one shape; ranks that differ are an error.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// # tilewright_lang::__example! {
            /// #[tile_kernel(grid = [1])]
            /// fn k(x: &[f32], n: &[i32], y: &mut [f32]) {
            ///     store(y, arange(2), ldexp(load(x, arange(2)), load(n, arange(2))));
            /// }
            /// # }
            /// let mut y = [0.0; 2];
            /// Runtime::cpu().launch(k(&[1.5, 1.0], &[4, -149], &mut y))?;
            /// assert_eq!(y, [24.0, 1e-45]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            fn ldexp<N: Of<i32>>(self, n: N) -> Self {
                let _ = n;
                stub()
            }
        }

        impl<V: Value> Pairs for V {}

        $(
            $(#[$doc])*
            pub fn $name<A: Meets<B>, B: Value>(a: A, b: B) -> A::Output {
                let _ = (a, b);
                stub()
            }
        )*
    };
}

functions! {
    /// `a` to the power of `b`, of each two elements. A negative `a` has whole powers alone, others are NaN. With `b` 0
    /// or `a` 1 it is 1, for every value of the other one.
    ///
    /// Both are floats of one type and broadcast to one shape; ranks that differ are an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: &[f32], b: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), pow(load(a, arange(2)), load(b, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[2.0, -3.0], &[0.5, 3.0], &mut y))?;
    /// assert!((y[0] - 1.414_213_5).abs() < 1e-6 && y[1] == -27.0);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pow
    /// The angle, in radians, of the point with the coordinates `y` and `x`, in this order: from -pi to pi.
    ///
    /// Both are floats of one type and broadcast to one shape; ranks that differ are an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: &[f32], b: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), atan2(load(a, arange(2)), load(b, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, -1.0], &[1.0, -1.0], &mut y))?;
    /// assert!((y[0] - 0.785_398_2).abs() < 1e-6 && (y[1] + 2.356_194_5).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    atan2
    /// The square root of `a * a + b * b`, of each two elements; the squares may be larger than a float holds.
    ///
    /// Both are floats of one type and broadcast to one shape; ranks that differ are an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: &[f32], b: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), hypot(load(a, arange(2)), load(b, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[3.0, 1e30], &[4.0, 0.0], &mut y))?;
    /// assert_eq!(y, [5.0, 1e30]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    hypot
    /// The absolute value of each element of `a` with the sign of that of `b`.
    ///
    /// Both are floats of one type and broadcast to one shape; ranks that differ are an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: &[f32], b: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), copysign(load(a, arange(2)), load(b, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, -2.0], &[-0.0, 5.0], &mut y))?;
    /// assert_eq!(y, [-1.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    copysign
    /// The number next to each element of `a`, in the direction of that of `b`, of their type.
    ///
    /// Both are floats of one type and broadcast to one shape; ranks that differ are an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: &[f32], b: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), nextafter(load(a, arange(2)), load(b, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 1.0], &[2.0, 1.0], &mut y))?;
    /// assert_eq!(y, [1.000_000_1, 1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    nextafter
    /// The upper half of each product, which has twice the bits of the type: `tl.umulhi` of Triton for unsigned types.
    ///
    /// Both are integers of one type and broadcast to one shape; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(a: &[u32], b: &[u32], y: &mut [u32]) {
    ///     store(y, arange(2), mulhi(load(a, arange(2)), load(b, arange(2))));
    /// }
    /// # }
    /// let mut y = [9; 2];
    /// Runtime::cpu().launch(k(&[0x8000_0000, 3], &[6, 5], &mut y))?;
    /// assert_eq!(y, [3, 0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    mulhi
}

/// Each element of `x` times 2 to the power of that of `n`, rounded once.
///
/// `x` has floats and `n` i32. They broadcast to one shape; ranks that differ are an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], n: &[i32], y: &mut [f32]) {
///     store(y, arange(2), ldexp(load(x, arange(2)), load(n, arange(2))));
/// }
/// # }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k(&[1.5, 1.0], &[4, -149], &mut y))?;
/// assert_eq!(y, [24.0, 1e-45]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn ldexp<V: Value, N: Of<i32>>(x: V, n: N) -> V {
    let _ = (x, n);
    stub()
}
