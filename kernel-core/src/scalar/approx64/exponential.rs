//! Powers, logarithms and hyperbolic functions.

use super::{
    LN_2, LN_2_LOW, LOG2_E, ROUND, exp_scaled, exponent_of, limit, log, log_parts, log_series, log_specials, log_sum,
    poly,
};
use crate::scalar::math::m64::{fma, sqrt};
use core::f64::consts::{LN_10, LOG2_10};

/// 10^x. Within 1 ulp.
#[inline(always)]
pub fn exp10(x: f64) -> f64 {
    const LOG10_2: f64 = core::f64::consts::LOG10_2;
    /// log10(2) less its f64.
    const LOG10_2_LOW: f64 = -2.803_728_127_785_170_3e-18;
    let x = limit(x, -325.0, 310.0);
    let shifted = fma(x, LOG2_10, ROUND);
    let n = shifted - ROUND;
    exp_scaled(fma(-n, LOG10_2_LOW, fma(-n, LOG10_2, x)) * LN_10, shifted.to_bits() as i32)
}

/// (e^r - 1 - r) / r^2 for |r| <= log(2)/2.
#[inline(always)]
pub(in crate::scalar) fn exp_series(r: f64) -> f64 {
    const INVERSE_FACTORIALS: [f64; 13] = {
        let mut c = [0.5; 13]; // from 1/14! to 1/2!
        let mut i = 12;
        while i > 0 {
            c[i - 1] = c[i] / (15 - i) as f64;
            i -= 1;
        }
        c
    };
    poly(r, INVERSE_FACTORIALS)
}

/// e^x - 1. Within 2 ulp.
#[inline(always)]
pub fn expm1(x: f64) -> f64 {
    let limited = limit(x, -60.0, 710.0);
    let shifted = fma(limited, LOG2_E, ROUND);
    let n = shifted - ROUND;
    let r = fma(-n, LN_2_LOW, fma(-n, LN_2, limited));
    let p = fma(r * exp_series(r), r, r);
    // Of halves, so that 2^1024 does not overflow.
    let half = f64::from_bits(shifted.to_bits().wrapping_add(1022) << 52);
    if x == 0.0 {
        x
    } else if n == 0.0 {
        p
    } else {
        2.0 * fma(p, half, half - 0.5)
    }
}

/// The logarithm of 1 + x. Within 1 ulp. With 1 + x = 2^k (1 + f), f is x 2^-k + (2^-k - 1), rounded once.
#[inline(always)]
pub fn log1p(x: f64) -> f64 {
    const TINY: f64 = 1.110_223_024_625_156_5e-16; // 2^-53
    let sum = 1.0 + x;
    let exponent = exponent_of(sum.to_bits());
    // A fourth of four times it: the greatest exponent has no normal inverse.
    let scale = 0.25 * f64::from_bits(4f64.to_bits().wrapping_sub(exponent));
    let f = fma(x, scale, scale - 1.0);
    let (hfsq, r) = log_series(f);
    let k = ((exponent as i64) >> 52) as f64;
    if x.abs() < TINY { x } else { log_specials(sum, log_sum((k, f, hfsq, r))) }
}

/// The logarithm to base 10. Within 2 ulp.
#[inline(always)]
pub fn log10(x: f64) -> f64 {
    const HIGH: f64 = 4.342_944_818_781_688_809_39e-1;
    const LOW: f64 = 2.508_294_671_164_527_522_98e-11;
    const LOG10_2_HIGH: f64 = 3.010_299_956_636_117_713_06e-1; // k times this is exact
    const LOG10_2_LOW: f64 = 3.694_239_077_158_930_786_16e-13;
    let (k, f, hfsq, r) = log_parts(x);
    let high = f64::from_bits((f - hfsq).to_bits() & 0xffff_ffff_0000_0000);
    let low = f - high - hfsq + r;
    let scaled = high * HIGH; // exact
    let whole = k * LOG10_2_HIGH;
    let sum = whole + scaled;
    let rest = fma(k, LOG10_2_LOW, fma(low + high, LOW, low * HIGH));
    log_specials(x, rest + ((whole - sum) + scaled) + sum)
}

/// e^x / 2 for x >= 0, which does not overflow where the hyperbolic functions do not.
#[inline(always)]
fn half_exp(x: f64) -> f64 {
    let x = limit(x, 0.0, 711.0);
    let shifted = fma(x, LOG2_E, ROUND);
    let n = shifted - ROUND;
    exp_scaled(fma(-n, LN_2_LOW, fma(-n, LN_2, x)), (shifted.to_bits() as i32).wrapping_sub(1))
}

/// The hyperbolic cosine. Within 1 ulp.
#[inline(always)]
pub fn cosh(x: f64) -> f64 {
    let h = half_exp(x.abs());
    h + 0.25 / h
}

/// The hyperbolic sine. Within 2 ulp.
#[inline(always)]
pub fn sinh(x: f64) -> f64 {
    let a = x.abs();
    let r = if a < 1.0 {
        let t = expm1(a);
        0.5 * (t + t / (t + 1.0))
    } else {
        let h = half_exp(a);
        h - 0.25 / h
    };
    r.copysign(x)
}

/// Beyond this the square of a number plus or minus 1 is the square.
const LARGE: f64 = 134_217_728.0;

/// The inverse of the hyperbolic sine. Within 2 ulp.
#[inline(always)]
pub fn asinh(x: f64) -> f64 {
    let a = x.abs();
    let s = a * a;
    let r = if a < LARGE { log1p(a + s / (1.0 + sqrt(1.0 + s))) } else { log(a) + LN_2 };
    r.copysign(x)
}

/// The inverse of the hyperbolic cosine. Within 2 ulp.
#[inline(always)]
pub fn acosh(x: f64) -> f64 {
    let t = x - 1.0;
    let r = if x < LARGE { log1p(t + sqrt(fma(t, t, 2.0 * t))) } else { log(x) + LN_2 };
    if x < 1.0 { f64::NAN } else { r }
}

/// The inverse of the hyperbolic tangent. Within 2 ulp.
#[inline(always)]
pub fn atanh(x: f64) -> f64 {
    let a = x.abs();
    let t = 2.0 * a;
    // Two forms of 2a / (1 - a): the error of the first is a part of its second term.
    let argument = if a < 0.5 { t + t * a / (1.0 - a) } else { t / (1.0 - a) };
    (0.5 * log1p(argument)).copysign(x)
}
