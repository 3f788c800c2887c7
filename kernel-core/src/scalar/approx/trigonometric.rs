//! The tangent and the inverse trigonometric functions.

use super::{Primitives, poly, quadrant, sin_and_cos};
use crate::scalar::math::m32::sqrt;
use core::f32::consts::{FRAC_PI_2, PI};

/// pi/2 less its f32.
const FRAC_PI_2_LOW: f32 = -4.371_138_83e-8;
/// pi less its f32.
const PI_LOW: f32 = 2.0 * FRAC_PI_2_LOW;

/// The tangent of an angle in radians.
#[inline(always)]
pub fn tan<P: Primitives>(x: f32) -> f32 {
    let (r, q) = quadrant::<P>(x);
    let (sin, cos) = sin_and_cos::<P>(r);
    if q & 1 == 0 { sin / cos } else { -cos / sin }
}

/// asin(s) for s in 0..=1/2, of s and its square.
#[inline(always)]
fn asin_near_0<P: Primitives>(s: f32, z: f32) -> f32 {
    let p = poly::<P, 5>(z, [4.256_576_3e-2, 2.405_037_17e-2, 4.546_691_85e-2, 7.495_660_34e-2, 0.166_667_312]);
    P::fma(p * z, s, s)
}

/// The angle of a sine: beyond 1/2 that of a half angle, asin(a) = pi/2 - 2 asin(sqrt((1 - a) / 2)).
#[inline(always)]
pub fn asin<P: Primitives>(x: f32) -> f32 {
    let a = x.abs();
    let far = a > 0.5;
    let z = if far { P::fma(a, -0.5, 0.5) } else { a * a };
    let p = asin_near_0::<P>(if far { sqrt(z) } else { a }, z);
    let r = if far { FRAC_PI_2 - P::fma(p, 2.0, -FRAC_PI_2_LOW) } else { p };
    r.copysign(x)
}

/// The angle of a cosine.
#[inline(always)]
pub fn acos<P: Primitives>(x: f32) -> f32 {
    let a = x.abs();
    let far = a > 0.5;
    let z = if far { P::fma(a, -0.5, 0.5) } else { a * a };
    let p = asin_near_0::<P>(if far { sqrt(z) } else { a }, z);
    match (far, x < 0.0) {
        (true, false) => 2.0 * p,
        (true, true) => P::fma(p, -2.0, PI_LOW) + PI,
        (false, negative) => FRAC_PI_2 - (if negative { -p } else { p } - FRAC_PI_2_LOW),
    }
}

/// atan(t) for t in 0..=1.
#[inline(always)]
fn atan_to_1<P: Primitives>(t: f32) -> f32 {
    let z = t * t;
    let p = poly::<P, 9>(
        z,
        [
            -1.743_701_17e-3,
            1.074_85e-2,
            -3.099_128_98e-2,
            5.791_354_18e-2,
            -8.410_654_22e-2,
            0.109_585_822,
            -0.142_663_464,
            0.199_988_425,
            -0.333_333_135,
        ],
    );
    P::fma(p * z, t, t)
}

/// The angle of a tangent: beyond 1 that of the reciprocal, atan(a) = pi/2 - atan(1/a).
#[inline(always)]
pub fn atan<P: Primitives>(x: f32) -> f32 {
    let a = x.abs();
    let far = a > 1.0;
    let p = atan_to_1::<P>(if far { P::rcp(a) } else { a });
    (if far { FRAC_PI_2 - (p - FRAC_PI_2_LOW) } else { p }).copysign(x)
}

/// The angle of the point (x, y), from -pi to pi.
#[inline(always)]
pub fn atan2<P: Primitives>(y: f32, x: f32) -> f32 {
    let (a, b) = (y.abs(), x.abs());
    let steep = a > b;
    let (low, high) = if steep { (b, a) } else { (a, b) };
    // Of zeros the ratio counts as 0, of infinities as 1.
    let ratio = if high == 0.0 {
        0.0
    } else if low == f32::INFINITY {
        1.0
    } else {
        low / high
    };
    let p = atan_to_1::<P>(ratio);
    let p = if steep { FRAC_PI_2 - (p - FRAC_PI_2_LOW) } else { p };
    let p = if x.is_sign_negative() { PI - (p - PI_LOW) } else { p };
    if x.is_nan() || y.is_nan() { f32::NAN } else { p.copysign(y) }
}
