//! Functions of elements: mathematics, conversions, choices.

use crate::stub;
use crate::value::{Condition, Element, Float, Meets, Of, Value};

/// Declares functions of one value, and as methods.
macro_rules! functions {
    ($( $(#[$doc:meta])* $name:ident )*) => {
        /// Functions of the elements of a value.
        pub trait Math: Value {
            $( $(#[$doc])* fn $name(self) -> Self { stub() } )*

            /// Each element as a `U`.
            ///
            /// The shape stays. A float rounds to the nearest, of two the even one. A float becomes an integer by
            /// cutting its fraction off; numbers beyond the range become its ends, and NaN 0. 8-bit floats have no
            /// infinity: a number beyond the range becomes the greatest one. A conversion without a type is an error.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// # tilewright_lang::__example! {
            /// #[tile_kernel(grid = [1])]
            /// fn k(x: &[f32], y: &mut [i32]) {
            ///     store(y, arange(4), load(x, arange(4)).to::<i32>());
            /// }
            /// # }
            /// let mut y = [0; 4];
            /// Runtime::cpu().launch(k(&[1.9, -1.9, 1e10, f32::NAN], &mut y))?;
            /// assert_eq!(y, [1, -1, i32::MAX, 0]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            fn to<U: Element>(self) -> Self::With<U> {
                stub()
            }

            /// The bits of each element as a `U` of the same size.
            ///
            /// The shape stays. Types of different sizes, and `bool`, are an error.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// # tilewright_lang::__example! {
            /// #[tile_kernel(grid = [1])]
            /// fn k(x: &[f32], y: &mut [u32]) {
            ///     store(y, arange(2), load(x, arange(2)).bitcast::<u32>());
            /// }
            /// # }
            /// let mut y = [0; 2];
            /// Runtime::cpu().launch(k(&[1.0, -0.0], &mut y))?;
            /// assert_eq!(y, [0x3f80_0000, 0x8000_0000]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            fn bitcast<U: Element>(self) -> Self::With<U> {
                stub()
            }

            /// The greater of each two elements; of a number and NaN the number, unless `.propagate_nan()` follows.
            ///
            /// Both have one type and broadcast to one shape.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// # tilewright_lang::__example! {
            /// #[tile_kernel(grid = [1])]
            /// fn k(x: &[f32], y: &mut [f32]) {
            ///     store(y, arange(2), load(x, arange(2)).maximum(0.0));
            /// }
            /// # }
            /// let mut y = [9.0; 2];
            /// Runtime::cpu().launch(k(&[-1.0, f32::NAN], &mut y))?;
            /// assert_eq!(y, [0.0, 0.0]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            fn maximum<B: Value>(self, b: B) -> Self::Output
            where
                Self: Meets<B>,
            {
                let _ = b;
                stub()
            }

            /// The lesser of each two elements; of a number and NaN the number, unless `.propagate_nan()` follows.
            ///
            /// Both have one type and broadcast to one shape.
            ///
            /// ```
            /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
            /// # tilewright_lang::__example! {
            /// #[tile_kernel(grid = [1])]
            /// fn k(x: &[f32], y: &mut [f32]) {
            ///     store(y, arange(2), load(x, arange(2)).minimum(1.0));
            /// }
            /// # }
            /// let mut y = [9.0; 2];
            /// Runtime::cpu().launch(k(&[2.0, f32::NAN], &mut y))?;
            /// assert_eq!(y, [1.0, 1.0]);
            /// # Ok::<(), tilewright::Error>(())
            /// ```
            fn minimum<B: Value>(self, b: B) -> Self::Output
            where
                Self: Meets<B>,
            {
                let _ = b;
                stub()
            }
        }

        impl<V: Value> Math for V {}

        $( $(#[$doc])* pub fn $name<V: Value>(x: V) -> V { let _ = x; stub() } )*
    };
}

functions! {
    /// The absolute value of each element: `-x` for a negative one.
    ///
    /// The shape stays. Signed integers and floats; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), abs(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[-1.5, 2.0], &mut y))?;
    /// assert_eq!(y, [1.5, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    abs
    /// The greatest whole number that is not above each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), floor(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[-1.5, 2.5], &mut y))?;
    /// assert_eq!(y, [-2.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    floor
    /// The least whole number that is not below each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), ceil(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[-1.5, 2.5], &mut y))?;
    /// assert_eq!(y, [-1.0, 3.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    ceil
    /// The square root of each element; NaN of a negative one.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), sqrt(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[4.0, 2.25], &mut y))?;
    /// assert_eq!(y, [2.0, 1.5]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    sqrt
    /// `1 / sqrt(x)` of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), rsqrt(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[4.0, 0.25], &mut y))?;
    /// assert_eq!(y, [0.5, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    rsqrt
    /// `1 / x` of each element: of f32 one instruction, for which denormals are 0.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), recip(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[4.0, 0.5], &mut y))?;
    /// assert_eq!(y, [0.25, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    recip
    /// e to the power of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), exp(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 1.0], &mut y))?;
    /// assert!((y[0] - 1.0).abs() < 1e-6 && (y[1] - 2.718_281_8).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    exp
    /// 2 to the power of each element: of f32 one instruction, for which denormals are 0.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), exp2(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[3.0, -1.0], &mut y))?;
    /// assert_eq!(y, [8.0, 0.5]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    exp2
    /// The natural logarithm of each element; NaN of a negative one.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), log(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[1.0, 7.389_056], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 2.0).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    log
    /// The logarithm to base 2 of each element; NaN of a negative one.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), log2(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[8.0, 0.5], &mut y))?;
    /// assert_eq!(y, [3.0, -1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    log2
    /// The sine of each element, in radians.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), sin(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 0.523_598_8], &mut y))?;
    /// assert!((y[0] - 0.0).abs() < 1e-6 && (y[1] - 0.5).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    sin
    /// The cosine of each element, in radians.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), cos(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 1.047_197_6], &mut y))?;
    /// assert!((y[0] - 1.0).abs() < 1e-6 && (y[1] - 0.5).abs() < 1e-6);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    cos
    /// The hyperbolic tangent of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), tanh(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 20.0], &mut y))?;
    /// assert_eq!(y, [0.0, 1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    tanh
    /// The error function of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), erf(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 5.0], &mut y))?;
    /// assert_eq!(y, [0.0, 1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    erf
    /// `1 / (1 + exp(-x))` of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     store(y, arange(2), sigmoid(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [0.0; 2];
    /// Runtime::cpu().launch(k(&[0.0, 40.0], &mut y))?;
    /// assert_eq!(y, [0.5, 1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    sigmoid
    /// The bits of each element in the opposite order.
    ///
    /// The shape stays. Integers; another type is an error.
    ///
    /// ```
    /// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
    /// # tilewright_lang::__example! {
    /// #[tile_kernel(grid = [1])]
    /// fn k(x: &[u32], y: &mut [u32]) {
    ///     store(y, arange(2), brev(load(x, arange(2))));
    /// }
    /// # }
    /// let mut y = [9; 2];
    /// Runtime::cpu().launch(k(&[1, 0], &mut y))?;
    /// assert_eq!(y, [0x8000_0000, 0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    brev
}

/// Each element as a `U`: mostly written `x.to::<U>()`, see [`Math::to`].
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[i32], y: &mut [f32]) {
///     store(y, arange(2), load(x, arange(2)).to::<f32>());
/// }
/// # }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k(&[1, -2], &mut y))?;
/// assert_eq!(y, [1.0, -2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn to<U: Element, V: Value>(x: V) -> V::With<U> {
    let _ = x;
    stub()
}

/// The bits of each element as a `U` of the same size: `bitcast::<u32>(x)`.
///
/// The shape stays. Types of different sizes, and `bool`, are an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [u32]) {
///     store(y, arange(2), load(x, arange(2)).bitcast::<u32>());
/// }
/// # }
/// let mut y = [0; 2];
/// Runtime::cpu().launch(k(&[1.0, -0.0], &mut y))?;
/// assert_eq!(y, [0x3f80_0000, 0x8000_0000]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn bitcast<U: Element, V: Value>(x: V) -> V::With<U> {
    let _ = x;
    stub()
}

/// `a` where the condition holds, and `b` elsewhere: `tl.where` of Triton.
///
/// `a` and `b` have one type. All three broadcast to one shape; ranks that differ are an error. Both are computed.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     let v = load(x, arange(2));
///     store(y, arange(2), where_(v < 0.0, 0.5 * v, v));
/// }
/// # }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k(&[-3.0, 3.0], &mut y))?;
/// assert_eq!(y, [-1.5, 3.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn where_<C: Condition, A: Meets<B>, B: Value>(c: C, a: A, b: B) -> C::Choice<A::Output> {
    let _ = (c, a, b);
    stub()
}

/// The greater of each two elements; of a number and NaN the number, unless `.propagate_nan()` follows.
///
/// Both have one type and broadcast to one shape; ranks that differ are an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, arange(2), maximum(load(x, arange(2)), 0.0));
/// }
/// # }
/// let mut y = [9.0; 2];
/// Runtime::cpu().launch(k(&[-1.0, f32::NAN], &mut y))?;
/// assert_eq!(y, [0.0, 0.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn maximum<A: Meets<B>, B: Value>(a: A, b: B) -> A::Output {
    let _ = (a, b);
    stub()
}

/// The lesser of each two elements; of a number and NaN the number, unless `.propagate_nan()` follows.
///
/// Both have one type and broadcast to one shape; ranks that differ are an error.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, arange(2), minimum(load(x, arange(2)), 1.0));
/// }
/// # }
/// let mut y = [9.0; 2];
/// Runtime::cpu().launch(k(&[2.0, f32::NAN], &mut y))?;
/// assert_eq!(y, [1.0, 1.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn minimum<A: Meets<B>, B: Value>(a: A, b: B) -> A::Output {
    let _ = (a, b);
    stub()
}

/// Each element, but at least `lo` and at most `hi`.
///
/// All three have one type and broadcast to one shape.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, arange(4), clamp(load(x, arange(4)), 0.0, 1.0));
/// }
/// # }
/// let mut y = [9.0; 4];
/// Runtime::cpu().launch(k(&[-1.0, 0.0, 0.5, 2.0], &mut y))?;
/// assert_eq!(y, [0.0, 0.0, 0.5, 1.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn clamp<A: Meets<B>, B: Value, C: Of<A::Elem>>(x: A, lo: B, hi: C) -> A::Output {
    let _ = (x, lo, hi);
    stub()
}

/// `a * b + c`, rounded once.
///
/// All three are floats of one type and broadcast to one shape.
///
/// ```
/// # use tilewright::{Buffer, Runtime, f16, tile_kernel};
/// # tilewright_lang::__example! {
/// #[tile_kernel(grid = [1])]
/// fn k(x: &[f32], y: &mut [f32], slope: f32) {
///     store(y, arange(2), fma(load(x, arange(2)), slope, 1.0));
/// }
/// # }
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(k(&[1.0, 2.0], &mut y, 3.0))?;
/// assert_eq!(y, [4.0, 7.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub fn fma<A, B, C>(a: A, b: B, c: C) -> <A::Output as Meets<C>>::Output
where
    A: Meets<B, Output: Meets<C>>,
    A::Elem: Float,
    B: Value,
    C: Value,
{
    let _ = (a, b, c);
    stub()
}
