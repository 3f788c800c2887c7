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
            /// The shape stays. A float rounds to the nearest, of two the even one. A float becomes an integer by cutting its
            /// fraction off; numbers beyond the range become its ends, and NaN 0. 8-bit floats have no infinity: a number
            /// beyond the range becomes the greatest one. A conversion without a type is an error.
            ///
            /// ```
            /// # use tilewright_lang::*;
            /// fn k(x: &[f16], y: &mut [f16]) {
            ///     let i = arange(64);
            ///     let v = load(x, i).to::<f32>();
            ///     store(y, i, exp(v).to::<f16>());
            /// }
            /// ```
            fn to<U: Element>(self) -> Self::With<U> {
                stub()
            }

            /// The bits of each element as a `U` of the same size.
            ///
            /// The shape stays. Types of different sizes, and `bool`, are an error.
            ///
            /// ```
            /// # use tilewright_lang::*;
            /// fn k(x: &[f32], y: &mut [u32]) {
            ///     let i = arange(64);
            ///     store(y, i, load(x, i).bitcast::<u32>());
            /// }
            /// ```
            fn bitcast<U: Element>(self) -> Self::With<U> {
                stub()
            }

            /// The greater of each two elements; of a number and NaN the number.
            ///
            /// Both have one type and spread to one shape.
            ///
            /// ```
            /// # use tilewright_lang::*;
            /// fn k(x: &[f32], y: &mut [f32]) {
            ///     store(y, arange(64), load(x, arange(64)).maximum(0.0));
            /// }
            /// ```
            fn maximum<B: Value>(self, b: B) -> Self::Output
            where
                Self: Meets<B>,
            {
                let _ = b;
                stub()
            }

            /// The lesser of each two elements; of a number and NaN the number.
            ///
            /// Both have one type and spread to one shape.
            ///
            /// ```
            /// # use tilewright_lang::*;
            /// fn k(x: &[f32], y: &mut [f32]) {
            ///     store(y, arange(64), load(x, arange(64)).minimum(1.0));
            /// }
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
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, abs(load(x, i)));
    /// }
    /// ```
    abs
    /// The greatest whole number that is not above each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, floor(load(x, i)));
    /// }
    /// ```
    floor
    /// The least whole number that is not below each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, ceil(load(x, i)));
    /// }
    /// ```
    ceil
    /// The square root of each element; NaN of a negative one.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, sqrt(load(x, i)));
    /// }
    /// ```
    sqrt
    /// `1 / sqrt(x)` of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, rsqrt(load(x, i)));
    /// }
    /// ```
    rsqrt
    /// `1 / x` of each element: of f32 one instruction, for which denormals are 0.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, recip(load(x, i)));
    /// }
    /// ```
    recip
    /// e to the power of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, exp(load(x, i)));
    /// }
    /// ```
    exp
    /// 2 to the power of each element: of f32 one instruction, for which denormals are 0.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, exp2(load(x, i)));
    /// }
    /// ```
    exp2
    /// The natural logarithm of each element; NaN of a negative one.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, log(load(x, i)));
    /// }
    /// ```
    log
    /// The logarithm to base 2 of each element; NaN of a negative one.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, log2(load(x, i)));
    /// }
    /// ```
    log2
    /// The sine of each element, in radians.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, sin(load(x, i)));
    /// }
    /// ```
    sin
    /// The cosine of each element, in radians.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, cos(load(x, i)));
    /// }
    /// ```
    cos
    /// The hyperbolic tangent of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, tanh(load(x, i)));
    /// }
    /// ```
    tanh
    /// The error function of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, erf(load(x, i)));
    /// }
    /// ```
    erf
    /// `1 / (1 + exp(-x))` of each element.
    ///
    /// The shape stays. Floats of 16 bits on; another type is an error.
    ///
    /// ```
    /// # use tilewright_lang::*;
    /// fn k(x: &[f32], y: &mut [f32]) {
    ///     let i = arange(64);
    ///     store(y, i, sigmoid(load(x, i)));
    /// }
    /// ```
    sigmoid
}

/// Each element as a `U`: mostly written `x.to::<U>()`, see [`Math::to`].
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[i32], y: &mut [f32]) {
///     let i = arange(64);
///     store(y, i, load(x, i).to::<f32>());
/// }
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
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [u32]) {
///     let i = arange(64);
///     store(y, i, load(x, i).bitcast::<u32>());
/// }
/// ```
pub fn bitcast<U: Element, V: Value>(x: V) -> V::With<U> {
    let _ = x;
    stub()
}

/// `a` where the condition holds, and `b` elsewhere.
///
/// `a` and `b` have one type. All three spread to one shape; ranks that differ are an error. Both are computed.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     let v = load(x, arange(64));
///     store(y, arange(64), where_(v < 0.0, 0.01 * v, v));
/// }
/// ```
pub fn where_<C: Condition, A: Meets<B>, B: Value>(c: C, a: A, b: B) -> C::Choice<A::Output> {
    let _ = (c, a, b);
    stub()
}

/// The greater of each two elements; of a number and NaN the number.
///
/// Both have one type and spread to one shape; ranks that differ are an error.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, arange(64), maximum(load(x, arange(64)), 0.0));
/// }
/// ```
pub fn maximum<A: Meets<B>, B: Value>(a: A, b: B) -> A::Output {
    let _ = (a, b);
    stub()
}

/// The lesser of each two elements; of a number and NaN the number.
///
/// Both have one type and spread to one shape; ranks that differ are an error.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, arange(64), minimum(load(x, arange(64)), 1.0));
/// }
/// ```
pub fn minimum<A: Meets<B>, B: Value>(a: A, b: B) -> A::Output {
    let _ = (a, b);
    stub()
}

/// Each element, but at least `lo` and at most `hi`.
///
/// All three have one type and spread to one shape.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32]) {
///     store(y, arange(64), clamp(load(x, arange(64)), 0.0, 1.0));
/// }
/// ```
pub fn clamp<A: Meets<B>, B: Value, C: Of<A::Elem>>(x: A, lo: B, hi: C) -> A::Output {
    let _ = (x, lo, hi);
    stub()
}

/// `a * b + c`, rounded once.
///
/// All three are floats of one type and spread to one shape.
///
/// ```
/// # use tilewright_lang::*;
/// fn k(x: &[f32], y: &mut [f32], slope: f32) {
///     store(y, arange(64), fma(load(x, arange(64)), slope, 1.0));
/// }
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
