//! Elementary and special functions of floats.

use crate::stub;
use crate::value::Value;

macro_rules! functions {
    ($( $(#[$doc:meta])* $name:ident )*) => {
        /// Elementary and special functions of the elements of a value.
        pub trait Elementary: Value {
            $( $(#[$doc])* fn $name(self) -> Self { stub() } )*
        }

        impl<V: Value> Elementary for V {}

        $( $(#[$doc])* pub fn $name<V: Value>(x: V) -> V { let _ = x; stub() } )*
    };
}

functions! {
    /// The whole part of each element: towards 0.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), trunc(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[-1.5, 2.5], &mut y))?;
    /// assert_eq!(y, [-1.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    trunc
    /// The whole number nearest to each element, of two the even one.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), rint(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[-1.5, 2.5], &mut y))?;
    /// assert_eq!(y, [-2.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    rint
    /// The whole number nearest to each element, of two the one away from 0.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), round(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[-1.5, 2.5], &mut y))?;
    /// assert_eq!(y, [-2.0, 3.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    round
    /// The cube root of each element, also of a negative one.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), cbrt(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[27.0, -8.0], &mut y))?;
    /// assert_eq!(y, [3.0, -2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    cbrt
    /// 10 to the power of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), exp10(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[2.0, -1.0], &mut y))?;
    /// assert!((y[0] - 100.0).abs() < 1e-6 && (y[1] - 0.1).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    exp10
    /// `exp(x) - 1` of each element, without the error that the difference has near 0.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), expm1(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1e-6, 0.0], &mut y))?;
    /// assert_eq!(y, [1.000_000_5e-6, 0.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    expm1
    /// The logarithm to base 10 of each element; NaN of a negative one.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), log10(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1000.0, 0.01], &mut y))?;
    /// assert!((y[0] - 3.0).abs() < 1e-6 && (y[1] + 2.0).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    log10
    /// `log(1 + x)` of each element, without the error that the sum has near 0; NaN below -1.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), log1p(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1e-6, 0.0], &mut y))?;
    /// assert_eq!(y, [9.999_995e-7, 0.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    log1p
    /// The tangent of each element, in radians.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), tan(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 0.785_398_2], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 1.0).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    tan
    /// The angle, in radians, of which each element is the sine; NaN beyond -1 and 1.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), asin(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 0.5], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 0.523_598_8).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    asin
    /// The angle, in radians, of which each element is the cosine; NaN beyond -1 and 1.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), acos(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 0.5], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 1.047_197_6).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    acos
    /// The angle, in radians, of which each element is the tangent.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), atan(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 1.0], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 0.785_398_2).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    atan
    /// The hyperbolic sine of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), sinh(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 1.0], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 1.175_201_2).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    sinh
    /// The hyperbolic cosine of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), cosh(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 1.0], &mut y))?;
    /// assert!((y[0] - 1.0).abs() < 1e-6 && (y[1] - 1.543_080_7).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    cosh
    /// The inverse of the hyperbolic sine, of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), asinh(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 1.0], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 0.881_373_6).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    asinh
    /// The inverse of the hyperbolic cosine, of each element; NaN below 1.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), acosh(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 2.0], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 1.316_957_9).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    acosh
    /// The inverse of the hyperbolic tangent, of each element; NaN beyond -1 and 1.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), atanh(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 0.5], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 0.549_306_15).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    atanh
    /// `1 - erf(x)` of each element, without the error that the difference has where it is small.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), erfc(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 1.0], &mut y))?;
    /// assert!((y[0] - 1.0).abs() < 1e-6 && (y[1] - 0.157_299_2).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    erfc
    /// The inverse of the error function, of each element; infinite at -1 and 1, NaN beyond.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), erfinv(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 0.5], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 0.476_936_28).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    erfinv
    /// The logarithm of the absolute value of the gamma function, of each element. f32 computes in f64.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), lgamma(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 5.0], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 3.178_053_9).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    lgamma
    /// The gamma function of each element; NaN of negative whole numbers. f32 computes in f64.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), tgamma(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 5.0], &mut y))?;
    /// assert_eq!(y, [1.0, 24.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    tgamma
}
