//! The complement and the inverse of the error function.

use super::{ERF_1, erf, erf_near_0, erf_near_1, erfc_tail, exp, log, poly};
use crate::scalar::approx;
use crate::scalar::math::m64::{fma, sqrt};

/// 1 - erf(x). Within 2 ulp.
#[inline(always)]
pub fn erfc(x: f64) -> f64 {
    let a = x.abs();
    if a < 0.84375 {
        let y = erf_near_0(x * x);
        if x < 0.25 { 1.0 - fma(x, y, x) } else { 0.5 - (x * y + (x - 0.5)) }
    } else if a < 1.25 {
        let near = erf_near_1(a - 1.0);
        if x < 0.0 { 1.0 + (ERF_1 + near) } else { (1.0 - ERF_1) - near }
    } else if a < 28.0 {
        let tail = erfc_tail(a);
        if x < 0.0 { 2.0 - tail } else { tail }
    } else if x.is_nan() {
        x
    } else if x < 0.0 {
        2.0
    } else {
        0.0
    }
}

/// erfinv(x) / x to 20 bits, of w = -log(1 - x^2) from 5 to 38: of sqrt(w) - 4.
const ERFINV_FAR: [f64; 10] = [
    -1.580_437_037_557_353_1e-6,
    1.941_223_519_410_147e-5,
    -6.724_779_947_771_638e-5,
    8.163_274_574_193_825e-5,
    -5.682_006_190_553_793e-5,
    2.710_603_016_266_054e-4,
    -9.148_591_789_126_539e-4,
    1.285_648_189_979_108_7e-3,
    1.009_504_019_537_336_4,
    3.839_781_954_157_552,
];

/// The number of which `x` is the error function. Within 3 ulp: 20 bits, and the terms of the inverse's series to the
/// third, of the error that the error function shows.
#[inline(always)]
pub fn erfinv(x: f64) -> f64 {
    let a = x.abs();
    let w = -log((1.0 - a) * (1.0 + a));
    let ratio =
        if w <= 5.0 { poly(w - 2.5, approx::ERFINV_NEAR.map(f64::from)) } else { poly(sqrt(w) - 4.0, ERFINV_FAR) };
    let y = a * ratio;
    // Near 1 the difference to 1 has more bits.
    let error = if a < 0.5 { a - erf(y) } else { erfc(y) - (1.0 - a) };
    let t = error / core::f64::consts::FRAC_2_SQRT_PI * exp(y * y);
    let series = fma(fma(t, fma(y * y, 4.0, 1.0) / 3.0, y) * t, t, t);
    let r = if a == 1.0 { f64::INFINITY } else { y + series };
    r.copysign(x)
}
