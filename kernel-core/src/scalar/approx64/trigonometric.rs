//! The tangent and the inverse trigonometric functions.

use super::{FRAC_PI_2_LOW, poly, quadrant, sin_or_cos};
use crate::scalar::math::m64::{fma, sqrt};
use core::f64::consts::{FRAC_PI_2, FRAC_PI_4, PI};

/// pi less its f64.
const PI_LOW: f64 = 2.0 * FRAC_PI_2_LOW;

/// The tangent of an angle in radians. Within 2 ulp.
#[inline(always)]
pub fn tan(x: f64) -> f64 {
    let (r, low, q) = quadrant(x);
    let (sin, cos) = (sin_or_cos(r, low, 0), sin_or_cos(r, low, 1));
    if x == 0.0 {
        x
    } else if q & 1 == 0 {
        sin / cos
    } else {
        -cos / sin
    }
}

/// asin(s) / s - 1 for |s| <= 1/2, of the square of s.
#[inline(always)]
fn asin_ratio(z: f64) -> f64 {
    let p = poly(
        z,
        [
            3.479_331_075_960_211_675_70e-5,
            7.915_349_942_898_145_321_76e-4,
            -4.005_553_450_067_941_140_27e-2,
            2.012_125_321_348_629_258_81e-1,
            -3.255_658_186_224_009_154_05e-1,
            1.666_666_666_666_666_574_15e-1,
        ],
    );
    let q = poly(
        z,
        [
            7.703_815_055_590_193_527_91e-2,
            -6.882_839_716_054_532_930_30e-1,
            2.020_945_760_233_505_694_71,
            -2.403_394_911_734_414_218_78,
            1.0,
        ],
    );
    z * (p / q)
}

/// For a beyond 1/2: sqrt((1 - a) / 2), its rounding error, and the ratio of its arc sine.
#[inline(always)]
fn half_angle(a: f64) -> (f64, f64, f64) {
    let z = fma(a, -0.5, 0.5);
    let s = sqrt(z);
    let rest = if s == 0.0 { 0.0 } else { fma(-s, s, z) / (2.0 * s) };
    (s, rest, asin_ratio(z))
}

/// The angle of a sine. Within 1 ulp.
#[inline(always)]
pub fn asin(x: f64) -> f64 {
    let a = x.abs();
    let r = if a < 0.5 {
        fma(a, asin_ratio(a * a), a)
    } else {
        let (s, rest, ratio) = half_angle(a);
        if a > 0.975 {
            FRAC_PI_2 - (2.0 * fma(s, ratio, s) - FRAC_PI_2_LOW)
        } else {
            // pi/4 - 2s is exact.
            FRAC_PI_4 - ((2.0 * fma(s, ratio, rest) - FRAC_PI_2_LOW) - (FRAC_PI_4 - 2.0 * s))
        }
    };
    r.copysign(x)
}

/// The angle of a cosine. Within 1 ulp.
#[inline(always)]
pub fn acos(x: f64) -> f64 {
    let a = x.abs();
    if a < 0.5 {
        return FRAC_PI_2 - (x - (FRAC_PI_2_LOW - x * asin_ratio(x * x)));
    }
    let (s, rest, ratio) = half_angle(a);
    let half = fma(s, ratio, rest);
    if x < 0.0 { 2.0 * (FRAC_PI_2 - (s + (half - FRAC_PI_2_LOW))) } else { 2.0 * (s + half) }
}

/// The angle of a tangent. Within 1 ulp: by the nearest of the angles of 0, 1/2, 1, 3/2 and infinity.
#[inline(always)]
pub fn atan(x: f64) -> f64 {
    let a = x.abs();
    let (t, high, low) = if a < 0.4375 {
        (a, 0.0, 0.0)
    } else if a < 0.6875 {
        ((2.0 * a - 1.0) / (2.0 + a), 4.636_476_090_008_060_935_15e-1, 2.269_877_745_296_168_709_24e-17)
    } else if a < 1.1875 {
        ((a - 1.0) / (a + 1.0), FRAC_PI_4, 0.5 * FRAC_PI_2_LOW)
    } else if a < 2.4375 {
        ((a - 1.5) / (1.0 + 1.5 * a), 9.827_937_232_473_290_540_82e-1, 1.390_331_103_123_099_845_16e-17)
    } else {
        (-1.0 / a, FRAC_PI_2, FRAC_PI_2_LOW)
    };
    let z = t * t;
    let w = z * z;
    let even = poly(
        w,
        [
            1.628_582_011_536_578_236_23e-2,
            4.976_877_994_615_932_360_17e-2,
            6.661_073_137_387_531_206_69e-2,
            9.090_887_133_436_506_561_96e-2,
            1.428_571_427_250_346_637_11e-1,
            3.333_333_333_333_293_180_27e-1,
        ],
    );
    let odd = poly(
        w,
        [
            -3.653_157_274_421_691_552_70e-2,
            -5.833_570_133_790_573_486_45e-2,
            -7.691_876_205_044_829_994_95e-2,
            -1.111_111_040_546_235_578_80e-1,
            -1.999_999_999_987_648_324_76e-1,
        ],
    );
    let less = t * fma(w, odd, z * even);
    (if a < 0.4375 { t - less } else { high - ((less - low) - t) }).copysign(x)
}

/// The angle of the point (x, y), from -pi to pi. Within 2 ulp.
#[inline(always)]
pub fn atan2(y: f64, x: f64) -> f64 {
    let (a, b) = (y.abs(), x.abs());
    // Of zeros the ratio counts as 0, of infinities as 1.
    let ratio = if a == 0.0 {
        0.0
    } else if a == b {
        1.0
    } else {
        a / b
    };
    let r = atan(ratio);
    let r = if x.is_sign_negative() { PI - (r - PI_LOW) } else { r };
    if x.is_nan() || y.is_nan() { f64::NAN } else { r.copysign(y) }
}
