//! The `f32` functions of the device, over the primitives that the hardware has. The tests run the same code on the
//! host with primitives as inaccurate as the hardware's may be, against `f64` references.
#![allow(clippy::excessive_precision)] // decimal coefficients with a digit to spare

mod error_function;
mod exponential;
mod trigonometric;

pub(in crate::scalar) use error_function::ERFINV_NEAR;
pub use error_function::{erfc, erfinv};
pub(in crate::scalar) use exponential::EXP_SERIES;
pub use exponential::{acosh, asinh, atanh, cosh, exp10, expm1, log1p, log10, sinh};
pub use trigonometric::{acos, asin, atan, atan2, tan};

/// The functions that the device has in hardware.
pub trait Primitives {
    /// `a * b + c`, rounded once.
    fn fma(a: f32, b: f32, c: f32) -> f32;
    /// `a * b + c` clamped to 0..=1; NaN gives 0.
    fn fma_sat(a: f32, b: f32, c: f32) -> f32;
    /// 2^x within 2 ulp; 0 in place of denormals.
    fn ex2(x: f32) -> f32;
    /// 1 / x within 1 ulp, for normal x and result.
    fn rcp(x: f32) -> f32;
}

const LOG2_E: f32 = core::f32::consts::LOG2_E;
/// log2(e) less its f32.
const LOG2_E_LOW: f32 = 1.925_963_e-8;
const LN_2: f32 = core::f32::consts::LN_2;

/// Adding it rounds a small number to an integer, found in the low bits.
const ROUND: f32 = 12_582_912.0; // 1.5 * 2^23

/// The polynomial of these coefficients, highest power first.
#[inline(always)]
fn poly<P: Primitives, const N: usize>(x: f32, coefficients: [f32; N]) -> f32 {
    let mut r = coefficients[0];
    let mut i = 1;
    while i < N {
        r = P::fma(r, x, coefficients[i]);
        i += 1;
    }
    r
}

/// b^x = 2^f 2^n, of log2(b) and that less its f32: 2^f, and 2^n by its bits. n is the integer nearest x log2(b),
/// limited to the exponents of normal numbers: beyond them f grows, and the product overflows, or rounds to a denormal
/// or 0, as it should. Eight instructions with the product.
#[inline(always)]
fn power_parts<P: Primitives>(x: f32, log2_b: f32, low: f32) -> (f32, u32) {
    const RANGE: f32 = 253.0; // n + 126 is in 0..=253
    let t = P::fma_sat(x, log2_b / RANGE, 126.0 / RANGE);
    let biased = P::fma(t, RANGE, ROUND + 1.0); // ends in n + 127, the exponent of 2^n
    let n = biased - (ROUND + 127.0);
    let f = P::fma(x, low, P::fma(x, log2_b, -n));
    (P::ex2(f), biased.to_bits() << 23)
}

/// e^x.
#[inline(always)]
pub fn exp<P: Primitives>(x: f32) -> f32 {
    let (p, n) = power_parts::<P>(x, LOG2_E, LOG2_E_LOW);
    p * f32::from_bits(n)
}

/// The exponent of a positive normal number, in its bits: less that, the number is in 2/3..4/3.
#[inline(always)]
fn exponent_of(bits: u32) -> u32 {
    const TWO_THIRDS: u32 = 0x3f2a_aaab;
    bits.wrapping_sub(TWO_THIRDS) & 0xff80_0000
}

/// log(1 + m) for m in -1/3..1/3.
#[inline(always)]
fn log_1_plus<P: Primitives>(m: f32) -> f32 {
    let s = m * m;
    let odd = poly::<P, 4>(s, [0.140_889_585, 0.139_809_534, 0.200_121_149, 0.333_331_943]);
    let even = poly::<P, 4>(s, [-0.130_187_988, -0.121_489_584, -0.166_845_024, -0.249_996_364]);
    let r = P::fma(odd, m, P::fma(even, s, -0.5));
    P::fma(r, s, m)
}

/// `x` = m 2^e with m in 2/3..4/3: m - 1 and e. Meaningless unless x is positive and finite.
#[inline(always)]
pub(super) fn split(x: f32) -> (f32, f32) {
    let denormal = x < f32::MIN_POSITIVE;
    let bits = (if denormal { x * 8_388_608.0 } else { x }).to_bits();
    let exponent = exponent_of(bits);
    let m = f32::from_bits(bits.wrapping_sub(exponent)) - 1.0;
    let e = super::math::m32::fma(exponent as i32 as f32, 1.0 / 8_388_608.0, if denormal { -23.0 } else { 0.0 });
    (m, e)
}

/// `x` = m 2^e: log(m) and e, as [`split`] has them.
#[inline(always)]
fn log_parts<P: Primitives>(x: f32) -> (f32, f32) {
    let (m, e) = split(x);
    (log_1_plus::<P>(m), e)
}

#[inline(always)]
fn log_specials<P: Primitives>(x: f32, finite: f32) -> f32 {
    if x.to_bits() >= 0x7f80_0000 && x != 0.0 {
        P::fma(x, f32::INFINITY, f32::INFINITY) // infinity, or NaN of NaN and of negative numbers
    } else if x == 0.0 {
        f32::NEG_INFINITY
    } else {
        finite
    }
}

/// The natural logarithm.
#[inline(always)]
pub fn log<P: Primitives>(x: f32) -> f32 {
    let (log_m, e) = log_parts::<P>(x);
    log_specials::<P>(x, P::fma(e, LN_2, log_m))
}

/// The logarithm to base 2.
#[inline(always)]
pub fn log2<P: Primitives>(x: f32) -> f32 {
    let (log_m, e) = log_parts::<P>(x);
    log_specials::<P>(x, P::fma(log_m, LOG2_E, P::fma(log_m, LOG2_E_LOW, e)))
}

/// Near 0 an odd polynomial, else 1 - 2 / (e^2x + 1), where the error of e^2x is divided by itself. Both are computed:
/// dearer to branch.
#[inline(always)]
pub fn tanh<P: Primitives>(x: f32) -> f32 {
    let s = x * x;
    let p = poly::<P, 4>(s, [0.015_739_683, -0.052_303_962, 0.133_152_98, -0.333_327_68]);
    let small = P::fma(P::fma(p, s, 0.0), x, x);
    let e = P::ex2(x.abs() * (2.0 * LOG2_E));
    let large = P::fma(P::rcp(e + 1.0), -2.0, 1.0).copysign(x);
    if x.abs() < 0.55 { small } else { large }
}

/// By e^-|x|, which never overflows: so the result may be denormal.
#[inline(always)]
pub fn sigmoid<P: Primitives>(x: f32) -> f32 {
    let z = exp::<P>(-x.abs());
    let r = P::rcp(1.0 + z);
    if x >= 0.0 { r } else { z * r }
}

/// Up to here, erf(x) = x + x `ERF_SMALL`(x^2); beyond, 1 - e^(t `ERF_LARGE`(t) - t) for t = |x|.
pub(super) const ERF_SMALL_LIMIT: f32 = 0.927_734_375;
pub(super) const ERF_SMALL: [f32; 6] =
    [-5.967_617_03e-4, 4.991_194_23e-3, -2.676_813_49e-2, 1.128_199_25e-1, -3.761_253_36e-1, 1.283_791_66e-1];
pub(super) const ERF_LARGE: [f32; 7] = [
    -1.728_534_7e-5,
    3.831_971_26e-4,
    -3.883_964_38e-3,
    2.425_462_19e-2,
    -1.067_778_77e-1,
    -6.348_466_87e-1,
    -1.287_175_12e-1,
];

/// The error function.
#[inline(always)]
pub fn erf<P: Primitives>(x: f32) -> f32 {
    let t = x.abs();
    let q = poly::<P, 7>(t, ERF_LARGE);
    let large = (1.0 - P::ex2(P::fma(q, t, -t) * LOG2_E)).copysign(x);
    let p = poly::<P, 6>(x * x, ERF_SMALL);
    if t > ERF_SMALL_LIMIT { large } else { P::fma(p, x, x) }
}

/// `x` = r + q pi/2 with |r| <= pi/4 (nearly); the low two bits of q count.
#[inline(always)]
fn quadrant<P: Primitives>(x: f32) -> (f32, u32) {
    const CODY_WAITE_LIMIT: f32 = 65_536.0;
    if x.abs() <= CODY_WAITE_LIMIT {
        let shifted = P::fma(x, core::f32::consts::FRAC_2_PI, ROUND);
        let n = shifted - ROUND;
        let r = P::fma(n, -1.570_796_01, x);
        let r = P::fma(n, -3.139_164_73e-7, r);
        (P::fma(n, -5.390_302_53e-15, r), shifted.to_bits())
    } else {
        large_quadrant(x)
    }
}

/// Payne and Hanek: multiplies by those 96 bits of 2/pi that decide the fraction, as integers.
#[inline(always)]
fn large_quadrant(x: f32) -> (f32, u32) {
    // A word of zeros, then the bits of 2/pi after the point.
    const WORDS: [u32; 11] = [
        0,
        0xa2f9_836e,
        0x4e44_1529,
        0xfc27_57d1,
        0xf534_ddc0,
        0xdb62_9599,
        0x3c43_9041,
        0xfe51_63ab,
        0xdebb_c561,
        0xb724_6e3a,
        0x424d_d2e0,
    ];
    let bits = x.to_bits();
    let exponent = (bits >> 23) & 0xff;
    if exponent == 0xff {
        return (f32::NAN, 0);
    }
    // |x| = m 2^(exponent - 150). Bits of 2/pi before bit exponent - 152 after the point contribute multiples of 4.
    let m = ((bits & 0x7f_ffff) | 0x80_0000) as u64;
    let first = exponent + 32 - 152; // with the word of zeros; the exponent is at least 143
    let (i, shift) = (first >> 5, first & 31);
    // Words i to i + 3, by masks: LLVM would put an indexed array into memory, even one indexed by a select.
    let words: [u32; 7] = skip(WORDS, 4, i >> 2);
    let words: [u32; 5] = skip(words, 2, i >> 1);
    let words: [u32; 4] = skip(words, 1, i);
    let window = |k: usize| ((((words[k] as u64) << 32) | words[k + 1] as u64) << shift) >> 32;
    let product = ((m * window(0)) << 32).wrapping_add(m * window(1)).wrapping_add((m * window(2)) >> 32);
    // Two bits of quadrant, then the fraction of a quadrant; rounded to the nearest quadrant.
    let q = (product.wrapping_add(1 << 61) >> 62) as u32;
    let fraction = ((product << 2) as i64) as f64;
    const SCALE: f64 = core::f64::consts::FRAC_PI_2 / 18_446_744_073_709_551_616.0; // 2^-64
    let r = (fraction * SCALE) as f32;
    if x < 0.0 { (-r, q.wrapping_neg()) } else { (r, q) }
}

/// Without the first `by` words if the low bit of `whether` is set.
#[inline(always)]
fn skip<const N: usize, const M: usize>(words: [u32; N], by: usize, whether: u32) -> [u32; M] {
    let mask = (whether & 1).wrapping_neg();
    core::array::from_fn(|j| words[j] ^ ((words[j] ^ words[j + by]) & mask))
}

/// The sine and the cosine of |r| <= pi/4.
#[inline(always)]
fn sin_and_cos<P: Primitives>(r: f32) -> (f32, f32) {
    let s = r * r;
    let p = poly::<P, 4>(s, [2.865_679_56e-6, -1.985_599_23e-4, 8.333_385_92e-3, -1.666_666_72e-1]);
    let sin = P::fma(p, P::fma(r, s, 0.0), r); // adding 0 keeps the sign of -0
    let cos = poly::<P, 5>(s, [2.446_770_67e-5, -1.388_772_97e-3, 4.166_665_67e-2, -0.5, 1.0]);
    (sin, cos)
}

/// sin(r) if `q` is even, else cos(r), with the sign of quadrant `q`.
#[inline(always)]
fn sin_or_cos<P: Primitives>(r: f32, q: u32) -> f32 {
    let (sin, cos) = sin_and_cos::<P>(r);
    let v = if q & 1 == 0 { sin } else { cos };
    if q & 2 == 0 { v } else { -v }
}

/// The sine of an angle in radians.
#[inline(always)]
pub fn sin<P: Primitives>(x: f32) -> f32 {
    let (r, q) = quadrant::<P>(x);
    sin_or_cos::<P>(r, q)
}

/// The cosine of an angle in radians.
#[inline(always)]
pub fn cos<P: Primitives>(x: f32) -> f32 {
    let (r, q) = quadrant::<P>(x);
    sin_or_cos::<P>(r, q.wrapping_add(1))
}

/// The nearest whole number, of two the one away from 0: the number below 1/2 takes none past a whole one.
#[inline(always)]
pub fn round(x: f32) -> f32 {
    super::math::m32::trunc(x + 0.499_999_97f32.copysign(x))
}

/// The exact remainder, of the sign of `x`.
#[inline(always)]
pub fn rem(x: f32, y: f32) -> f32 {
    let (a, b) = (x.abs(), y.abs());
    if !(a < f32::INFINITY && b > 0.0) {
        return f32::NAN;
    }
    let r = if a < b {
        a
    } else if a < b * 4_194_304.0 {
        // The quotient is off by one at most, and every remainder then is exact.
        let q = (a / b) as u32 as f32;
        let r = super::math::m32::fma(-q, b, a);
        if r < 0.0 {
            r + b
        } else if r >= b {
            r - b
        } else {
            r
        }
    } else {
        long_rem(a, b)
    };
    r.copysign(x)
}

/// Long division, 32 bits of the quotient at a time.
#[inline(always)]
fn long_rem(a: f32, b: f32) -> f32 {
    let split = |v: f32| {
        let (e, m) = (v.to_bits() >> 23, v.to_bits() & 0x7f_ffff);
        if e == 0 { (m, 1) } else { (m | 0x80_0000, e) }
    };
    let ((m, e), (d, f)) = (split(a), split(b));
    let mut r = (m % d) as u64;
    let mut left = e - f;
    while left > 0 {
        let step = left.min(32);
        r = (r << step) % d as u64;
        left -= step;
    }
    // r 2^(f - 150), exact: it is less than b.
    let scale = if f > 23 { (f - 23) << 23 } else { 1 << (f - 1) };
    r as f32 * f32::from_bits(scale)
}
