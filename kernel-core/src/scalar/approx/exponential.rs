//! Powers, logarithms and hyperbolic functions.

use super::{
    LN_2, LOG2_E, LOG2_E_LOW, Primitives, ROUND, exponent_of, log, log_1_plus, log_parts, log_specials, poly,
    power_parts,
};
use crate::scalar::math::m32::sqrt;

/// log(2) less its f32.
const LN_2_LOW: f32 = -1.904_654_21e-9;

/// 10^x.
#[inline(always)]
pub fn exp10<P: Primitives>(x: f32) -> f32 {
    const LOG2_10_LOW: f32 = 7.059_536_98e-8;
    let (p, n) = power_parts::<P>(x, core::f32::consts::LOG2_10, LOG2_10_LOW);
    p * f32::from_bits(n)
}

/// (e^r - 1 - r) / r^2 for |r| <= log(2)/2.
pub(in crate::scalar) const EXP_SERIES: [f32; 6] =
    [1.990_890_6e-4, 1.394_978_26e-3, 8.333_284_4e-3, 4.166_622_46e-2, 0.166_666_672, 0.5];

/// e^x - 1 = 2^n (e^r - 1) + 2^n - 1, of halves, so that 2^128 does not overflow.
#[inline(always)]
pub fn expm1<P: Primitives>(x: f32) -> f32 {
    let limited = x.clamp(-30.0, 89.0);
    let shifted = P::fma(limited, LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = P::fma(n, -LN_2_LOW, P::fma(n, -LN_2, limited));
    let p = P::fma(poly::<P, 6>(r, EXP_SERIES) * r, r, r);
    let half = f32::from_bits(shifted.to_bits().wrapping_add(126) << 23);
    let r = if n == 0.0 { p } else { 2.0 * P::fma(p, half, half - 0.5) };
    if x == 0.0 { x } else { r }
}

/// The logarithm of 1 + x. With 1 + x = m 2^e, m - 1 is x 2^-e + (2^-e - 1), rounded once.
#[inline(always)]
pub fn log1p<P: Primitives>(x: f32) -> f32 {
    const TINY: f32 = 5.960_464_5e-8; // 2^-24
    let sum = 1.0 + x;
    let exponent = exponent_of(sum.to_bits());
    // A fourth of four times it: the greatest exponent has no normal inverse.
    let scale = 0.25 * f32::from_bits(4f32.to_bits().wrapping_sub(exponent));
    let e = exponent as i32 as f32 * (1.0 / 8_388_608.0);
    let m = P::fma(x, scale, scale - 1.0);
    let finite = P::fma(e, LN_2, log_1_plus::<P>(m));
    if x.abs() < TINY { x } else { log_specials::<P>(sum, finite) }
}

/// The logarithm to base 10.
#[inline(always)]
pub fn log10<P: Primitives>(x: f32) -> f32 {
    const LOG10_E: f32 = core::f32::consts::LOG10_E;
    const LOG10_E_LOW: f32 = -1.010_305_01e-8;
    // Times an exponent this is exact.
    const LOG10_2_HIGH: f32 = 0.301_025_391;
    const LOG10_2_LOW: f32 = 4.605_039_06e-6;
    let (log_m, e) = log_parts::<P>(x);
    let low = P::fma(log_m, LOG10_E_LOW, e * LOG10_2_LOW);
    log_specials::<P>(x, P::fma(log_m, LOG10_E, e * LOG10_2_HIGH) + low)
}

/// e^x / 4 for x >= 0, which does not overflow where the hyperbolic functions do not.
#[inline(always)]
fn quarter_exp<P: Primitives>(x: f32) -> f32 {
    let (p, n) = power_parts::<P>(x, LOG2_E, LOG2_E_LOW);
    p * f32::from_bits(n.wrapping_sub(2 << 23))
}

/// The hyperbolic cosine.
#[inline(always)]
pub fn cosh<P: Primitives>(x: f32) -> f32 {
    let q = quarter_exp::<P>(x.abs());
    P::fma(q, 2.0, 0.125 * P::rcp(q))
}

/// The hyperbolic sine: up to 1 a polynomial. Both are computed: dearer to branch.
#[inline(always)]
pub fn sinh<P: Primitives>(x: f32) -> f32 {
    let (a, s) = (x.abs(), x * x);
    let p = poly::<P, 4>(s, [2.819_029_08e-6, 1.983_587_14e-4, 8.333_350_53e-3, 0.166_666_672]);
    let small = P::fma(P::fma(p, s, 0.0), x, x);
    let q = quarter_exp::<P>(a);
    let large = P::fma(q, 2.0, -0.125 * P::rcp(q)).copysign(x);
    if a < 1.0 { small } else { large }
}

/// Beyond this the square of a number plus or minus 1 is the square.
const LARGE: f32 = 16_777_216.0;

/// The inverse of the hyperbolic sine: log(a + sqrt(a^2 + 1)) for a = |x|, as the logarithm of 1 and the rest.
#[inline(always)]
pub fn asinh<P: Primitives>(x: f32) -> f32 {
    let a = x.abs();
    let s = a * a;
    let r = if a < LARGE { log1p::<P>(P::fma(s, P::rcp(1.0 + sqrt(1.0 + s)), a)) } else { log::<P>(a) + LN_2 };
    r.copysign(x)
}

/// The inverse of the hyperbolic cosine.
#[inline(always)]
pub fn acosh<P: Primitives>(x: f32) -> f32 {
    let t = x - 1.0;
    let r = if x < LARGE { log1p::<P>(t + sqrt(P::fma(t, t, 2.0 * t))) } else { log::<P>(x) + LN_2 };
    if x < 1.0 { f32::NAN } else { r }
}

/// The inverse of the hyperbolic tangent: half the logarithm of 1 + 2a / (1 - a) for a = |x|.
#[inline(always)]
pub fn atanh<P: Primitives>(x: f32) -> f32 {
    let a = x.abs();
    let (t, inverse) = (2.0 * a, P::rcp(1.0 - a));
    // Two forms of 2a / (1 - a): the error of the first is a part of its second term.
    let argument = if a < 0.5 { P::fma(t * a, inverse, t) } else { t * inverse };
    // The inverse of a large number may be 0.
    if a > 1.0 { f32::NAN } else { (0.5 * log1p::<P>(argument)).copysign(x) }
}
