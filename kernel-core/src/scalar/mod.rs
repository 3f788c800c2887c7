//! The one meaning of every scalar operation, on the host and on the device.
//!
//! CPU code, lowered code and the emulated SM call the same free functions. They differ between host and device only in
//! the last bits of the transcendental functions: the host uses `host` and `std`, the device the algorithms of
//! [`approx`] and [`approx64`] over PTX approximations, whose errors the doc comments below state. Arithmetic,
//! comparisons, conversions, `sqrt`, `fma`, and the functions that round are bit for bit the same (but for the payload
//! of a NaN).
//!
//! Semantics: integers wrap, `x / 0` and `x % 0` are 0, a shift counts modulo the width. Floats are IEEE, round to
//! nearest even, with denormals; `min` and `max` of a number and NaN are the number. 16-bit floats compute in `f32`
//! and round once per operation, which for `+ - * /` and `sqrt` is the correctly rounded result.
//!
//! ```
//! use tilewright_core::scalar::{add, cast, div, shl, sqrt};
//!
//! assert_eq!((add(250u8, 10), div(7, 0), shl(1u32, 33)), (4, 0, 2));
//! assert_eq!((sqrt(2.25f32), cast::<f32, i8>(-300.0)), (1.5, -128));
//! ```
//!
//! The errors given for `f32` on the device are the greatest over all arguments on an H200, with denormals; 16-bit
//! floats add half an ulp of their own. "Up to" is a bound that tests hold on the host, over instructions with the
//! errors that their documents allow. On the host a function of `f32` is within an ulp.

#[doc(hidden)]
pub mod approx;
#[doc(hidden)]
pub mod approx64;
mod cast;
mod float8;
mod half16;
#[cfg(not(target_arch = "nvptx64"))]
mod host;
mod math;
mod num;
#[cfg(target_arch = "nvptx64")]
mod ptx;
#[cfg(test)]
mod tests;
#[doc(hidden)]
pub mod word;

pub use cast::Cast;
pub use float8::{F8E4M3, F8E5M2};
pub use half16::{BF16, F16};
pub use math::Float;

/// Operation codes of atomics, shared by the CPU backend and the device library.
pub mod atomic_op {
    /// The sum.
    pub const ADD: u32 = 0;
    /// The greater value.
    pub const MAX: u32 = 1;
    /// The lesser value.
    pub const MIN: u32 = 2;
    /// The bits that both have.
    pub const AND: u32 = 3;
    /// The bits that either has.
    pub const OR: u32 = 4;
    /// The bits that one of both has.
    pub const XOR: u32 = 5;
    /// The operand.
    pub const XCHG: u32 = 6;
    /// A load: nothing is stored.
    pub const LOAD: u32 = 7;
    /// A store: the old value is not used.
    pub const STORE: u32 = 8;
}

/// Seals [`Scalar`]: `unsafe` code relies on the sizes and the bit patterns of its types.
mod sealed {
    pub trait Sealed {}
    macro_rules! seal { ($($t:ty)+) => { $(
        impl Sealed for $t {}
        const _: () = assert!(size_of::<$t>() == <$t as super::Scalar>::BYTES && align_of::<$t>() <= size_of::<$t>());
    )+ } }
    seal! { f32 f64 super::F16 super::BF16 super::F8E4M3 super::F8E5M2 i8 i16 i32 i64 u8 u16 u32 u64 bool }
}

/// An element of a tile: `f32 f64 F16 BF16 F8E4M3 F8E5M2 i8 i16 i32 i64 u8 u16 u32 u64 bool`.
///
/// These are all: [`BYTES`](Scalar::BYTES) is the size of the type, which has no padding, and whose bit patterns are
/// all valid, of `bool` 0 and 1. Other crates cannot add one:
/// ```compile_fail,E0277
/// # #[derive(Clone, Copy, PartialEq, PartialOrd, Debug)]
/// struct Short(u8);
/// impl tilewright_core::scalar::Scalar for Short {
///     const ZERO: Self = Short(0);
///     const ONE: Self = Short(1);
///     const LOWEST: Self = Short(0);
///     const HIGHEST: Self = Short(255);
///     const NAME: &'static str = "f32";
///     const BYTES: usize = 4; // It is 1: a wait for accumulators would write beyond them.
///     const IS_FLOAT: bool = false;
///     fn min(a: Self, _: Self) -> Self { a }
///     fn max(a: Self, _: Self) -> Self { a }
///     fn to_bits64(self) -> u64 { self.0.into() }
///     fn from_bits64(bits: u64) -> Self { Short(bits as u8) }
///     fn atomic_add(a: Self, _: Self) -> Self { a }
/// }
/// ```
pub trait Scalar: sealed::Sealed + Copy + PartialEq + PartialOrd + core::fmt::Debug + Send + Sync + 'static {
    /// 0, or `false`.
    const ZERO: Self;
    /// 1, or `true`.
    const ONE: Self;
    /// Nothing is less: the identity of `max`.
    const LOWEST: Self;
    /// Nothing is greater: the identity of `min`.
    const HIGHEST: Self;
    /// As written in a kernel.
    const NAME: &'static str;
    /// The size in bytes.
    const BYTES: usize;
    /// Whether the type is a float of any size.
    const IS_FLOAT: bool;

    /// The lesser value; of a number and NaN the number.
    fn min(a: Self, b: Self) -> Self;
    /// The greater value; of a number and NaN the number.
    fn max(a: Self, b: Self) -> Self;
    /// The lesser value; NaN where one is NaN.
    #[allow(clippy::eq_op)]
    #[inline(always)]
    fn min_nan(a: Self, b: Self) -> Self {
        if a != a { a } else { select(b != b, b, Self::min(a, b)) }
    }
    /// The greater value; NaN where one is NaN.
    #[allow(clippy::eq_op)]
    #[inline(always)]
    fn max_nan(a: Self, b: Self) -> Self {
        if a != a { a } else { select(b != b, b, Self::max(a, b)) }
    }
    /// Its bits, zero-extended.
    fn to_bits64(self) -> u64;
    /// From the low bits; a `bool` is whether the low byte is not zero.
    fn from_bits64(bits: u64) -> Self;
    /// The value an atomic add stores; `or` for `bool`.
    fn atomic_add(a: Self, b: Self) -> Self;
    /// The value an atomic `and`, `or` or `xor` stores: on the bits of any type.
    #[inline(always)]
    fn atomic_bits(op: u32, a: Self, b: Self) -> Self {
        let (a, b) = (a.to_bits64(), b.to_bits64());
        Self::from_bits64(match op {
            atomic_op::AND => a & b,
            atomic_op::OR => a | b,
            _ => a ^ b,
        })
    }
}

/// Integers and floats.
pub trait Num: Scalar {
    /// `a + b`; integers wrap.
    fn add(a: Self, b: Self) -> Self;
    /// `a - b`; integers wrap.
    fn sub(a: Self, b: Self) -> Self;
    /// `a * b`; integers wrap.
    fn mul(a: Self, b: Self) -> Self;
    /// `a / b`; of integers `x / 0` is 0.
    fn div(a: Self, b: Self) -> Self;
    /// `a % b`; of integers `x % 0` is 0.
    fn rem(a: Self, b: Self) -> Self;
    /// `-a`; integers wrap.
    fn neg(a: Self) -> Self;
    /// The absolute value; integers wrap.
    fn abs(a: Self) -> Self;
    /// `a * b + c`, fused on floats of 32 and 64 bits.
    fn fma(a: Self, b: Self, c: Self) -> Self;
}

/// Integers and `bool`.
pub trait Bits: Scalar {
    /// `a & b`.
    fn and(a: Self, b: Self) -> Self;
    /// `a | b`.
    fn or(a: Self, b: Self) -> Self;
    /// `a ^ b`.
    fn xor(a: Self, b: Self) -> Self;
    /// `!a`.
    fn not(a: Self) -> Self;
}

/// Integers.
pub trait Int: Num + Bits {
    /// `a << count`, with the count modulo the width.
    fn shl(a: Self, count: u32) -> Self;
    /// `a >> count`, with the count modulo the width; copies the sign of signed integers.
    fn shr(a: Self, count: u32) -> Self;
    /// The number of bits that are set.
    fn popc(a: Self) -> i32;
    /// The number of bits above the highest one that is set; of 0 the width.
    fn clz(a: Self) -> i32;
    /// The place of the lowest bit that is set, from 1 on; of 0 it is 0.
    fn ffs(a: Self) -> i32;
    /// The bits in the opposite order.
    fn brev(a: Self) -> Self;
    /// The upper half of the product, which has twice the width.
    fn mulhi(a: Self, b: Self) -> Self;
}

macro_rules! functions {
    ($($bound:ident { $($(#[$doc:meta])* $f:ident($($a:ident),+);)+ })+) => { $($(
        $(#[$doc])*
        #[inline(always)]
        pub fn $f<T: $bound>($($a: T),+) -> T {
            T::$f($($a),+)
        }
    )+)+ };
}

functions! {
    Num {
        /// `a + b`; integers wrap.
        add(a, b);
        /// `a - b`; integers wrap.
        sub(a, b);
        /// `a * b`; integers wrap.
        mul(a, b);
        /// Integers truncate; `x / 0` is 0, `MIN / -1` wraps.
        div(a, b);
        /// Sign of the dividend, exact; of integers `x % 0` is 0.
        rem(a, b);
        /// `-a`; integers wrap.
        neg(a);
        /// The absolute value; that of the least integer is itself.
        abs(a);
        /// `a * b + c`, fused on `f32` and `f64`; 16-bit floats round the fused `f32` result; integers wrap.
        fma(a, b, c);
    }
    Scalar {
        /// Of a number and NaN: the number. Either zero may be less.
        min(a, b);
        /// Of a number and NaN: the number. Either zero may be greater.
        max(a, b);
        /// Of a number and NaN: NaN. Either zero may be less.
        min_nan(a, b);
        /// Of a number and NaN: NaN. Either zero may be greater.
        max_nan(a, b);
    }
    Bits {
        /// `a & b`.
        and(a, b);
        /// `a | b`.
        or(a, b);
        /// `a ^ b`.
        xor(a, b);
        /// `!a`.
        not(a);
    }
    Int {
        /// The bits in the opposite order.
        brev(a);
        /// The upper half of the product, which has twice the width.
        mulhi(a, b);
    }
    Float {
        /// The greatest whole number that is not above `x`.
        floor(x);
        /// The least whole number that is not below `x`.
        ceil(x);
        /// Without its fraction: towards 0.
        trunc(x);
        /// The nearest whole number, of two the even one.
        rint(x);
        /// The nearest whole number, of two the one away from 0.
        round(x);
        /// Correctly rounded.
        sqrt(x);
        /// 1 / sqrt(x). Device: f32 1.6 ulp, f64 1.5; f64 on the host the same.
        rsqrt(x);
        /// 1 / x. Device: f32 1 ulp, f64 correctly rounded; of f32 denormal operands and results count as 0.
        recip(x);
        /// The cube root, also of negative numbers. Device, up to: f32 0.8 ulp, f64 1.
        cbrt(x);
        /// Device: f32 2.1 ulp, f64 1.
        exp(x);
        /// 2^x. Device: f32 2.4 ulp, f64 1.
        exp2(x);
        /// 10^x. Device, up to: f32 4.6 ulp, f64 1.
        exp10(x);
        /// exp(x) - 1, also near 0. Device, up to: f32 1.5 ulp, f64 2.
        expm1(x);
        /// Device: f32 1 ulp, f64 1.
        log(x);
        /// Device: f32 1.7 ulp, f64 2.
        log2(x);
        /// Device, up to: f32 1.9 ulp, f64 1.
        log10(x);
        /// log(1 + x), also near 0. Device, up to: f32 1.5 ulp, f64 1.
        log1p(x);
        /// Device: f32 1.5 ulp, f64 1, for arguments of any size.
        sin(x);
        /// Device: f32 1.5 ulp, f64 1, for arguments of any size.
        cos(x);
        /// Device, up to: f32 3 ulp, f64 2, for arguments of any size.
        tan(x);
        /// Device, up to: f32 2.3 ulp, f64 1.
        asin(x);
        /// Device, up to: f32 1.3 ulp, f64 1.
        acos(x);
        /// Device, up to: f32 1.9 ulp, f64 1.
        atan(x);
        /// Device, up to: f32 5.8 ulp, f64 2.
        sinh(x);
        /// Device, up to: f32 3.8 ulp, f64 1.
        cosh(x);
        /// Device: f32 2.1 ulp, f64 2, also near 0.
        tanh(x);
        /// Device, up to: f32 1.9 ulp, f64 1.
        asinh(x);
        /// NaN below 1. Device, up to: f32 2 ulp, f64 1.
        acosh(x);
        /// NaN beyond -1 and 1. Device, up to: f32 2 ulp, f64 1.
        atanh(x);
        /// Device: f32 1.4 ulp, f64 1.
        erf(x);
        /// 1 - erf(x), also where it is small. Device, up to: f32 6.9 ulp, f64 3.
        erfc(x);
        /// The inverse of `erf`; infinite at -1 and 1, NaN beyond. Device, up to: f32 3.1 ulp, f64 2; f64 on the host
        /// the same.
        erfinv(x);
        /// The logarithm of the absolute value of the gamma function. Device, up to: f32 0.6 ulp, f64 3; near its zeros
        /// below 0 the absolute error is that of numbers near 1. f32 computes in f64.
        lgamma(x);
        /// The gamma function; NaN of negative whole numbers. Device, up to: f32 0.6 ulp, f64 10; f64 on the host 10.
        tgamma(x);
        /// 1 / (1 + exp(-x)). Device: f32 4 ulp, f64 3, also where it is denormal; f64 on the host 3.
        sigmoid(x);
        /// a^b by C's rules: NaN of negative numbers unless b is whole, 1 where b is 0 or a is 1. Device, up to: f32
        /// 1.3 ulp, f64 1.
        pow(a, b);
        /// The angle of the point (x, y), from -pi to pi. Device, up to: f32 1.6 ulp, f64 1.
        atan2(y, x);
        /// sqrt(a^2 + b^2), without overflow between. Device, up to: f32 1 ulp, f64 1.
        hypot(a, b);
        /// The absolute value of `x` with the sign of `sign`.
        copysign(x, sign);
        /// The number next to `x` in the direction of `to`.
        nextafter(x, to);
    }
}

/// x 2^n, rounded once.
#[inline(always)]
pub fn ldexp<T: Float>(x: T, n: i32) -> T {
    T::ldexp(x, n)
}

macro_rules! counts {
    ($($(#[$doc:meta])* $f:ident)+) => { $(
        $(#[$doc])*
        #[inline(always)]
        pub fn $f<T: Int>(a: T) -> i32 {
            T::$f(a)
        }
    )+ };
}
counts! {
    /// The number of bits that are set.
    popc
    /// The number of bits above the highest one that is set; of 0 the width.
    clz
    /// The place of the lowest bit that is set, from 1 on; of 0 it is 0.
    ffs
}

/// Whether it is NaN.
#[allow(clippy::eq_op)]
#[inline(always)]
pub fn isnan<T: Float>(x: T) -> bool {
    x != x
}

/// Whether it is an infinity.
#[inline(always)]
pub fn isinf<T: Float>(x: T) -> bool {
    T::abs(x) == T::HIGHEST
}

/// Whether it is neither an infinity nor NaN.
#[inline(always)]
pub fn isfinite<T: Float>(x: T) -> bool {
    T::abs(x) < T::HIGHEST
}

macro_rules! comparisons {
    ($($f:ident $op:tt)+) => { $(
        #[doc = concat!("`a ", stringify!($op), " b`.")]
        #[inline(always)]
        pub fn $f<T: Scalar>(a: T, b: T) -> bool {
            a $op b
        }
    )+ };
}
comparisons! { eq == ne != lt < le <= gt > ge >= }

/// The count is taken modulo the width of `T`.
#[inline(always)]
pub fn shl<T: Int, N: Int>(a: T, count: N) -> T {
    T::shl(a, count.to_bits64() as u32)
}

/// The count is taken modulo the width of `T`; copies the sign of signed integers.
#[inline(always)]
pub fn shr<T: Int, N: Int>(a: T, count: N) -> T {
    T::shr(a, count.to_bits64() as u32)
}

/// Rust's `as`: integers truncate or extend, floats round to nearest even, float to integer saturates and takes NaN
/// to 0. To `bool`: whether it is not zero; from `bool`: 0 or 1. Every conversion rounds once.
#[inline(always)]
pub fn cast<A: Cast<B>, B>(a: A) -> B {
    a.cast()
}

/// The same bits in a type of the same size; a byte that is neither 0 nor 1 becomes `true`.
#[inline(always)]
pub fn bitcast<A: Scalar, B: Scalar>(a: A) -> B {
    const { assert!(A::BYTES == B::BYTES, "bitcast between types of different sizes") };
    B::from_bits64(a.to_bits64())
}

/// The tf32 operand of a tensor core for `x`: the nearest number with 10 bits of fraction, ties away from zero.
#[inline(always)]
pub fn tf32(x: f32) -> f32 {
    let rounded = f32::from_bits(x.to_bits().wrapping_add(0x1000) & !0x1fff);
    if x.is_nan() { x } else { rounded }
}

/// `a` where `c` holds, else `b`.
#[inline(always)]
pub fn select<T: Copy>(c: bool, a: T, b: T) -> T {
    if c { a } else { b }
}

/// Identity of `max`: the least integer, minus infinity, `false`.
#[inline(always)]
pub fn lowest<T: Scalar>() -> T {
    T::LOWEST
}

/// Identity of `min`: the greatest integer, infinity, `true`.
#[inline(always)]
pub fn highest<T: Scalar>() -> T {
    T::HIGHEST
}
