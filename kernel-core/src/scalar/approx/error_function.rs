//! The complement and the inverse of the error function.

use super::{ERF_SMALL, Primitives, exp, log, poly};
use crate::scalar::math::m32::sqrt;

/// 1 - erf(x). For a = |x| beyond 1/2 it is e^(-a^2) (1 + p(q)) / (1 + 2a) with q = (a - 2) / (a + 2).
#[inline(always)]
pub fn erfc<P: Primitives>(x: f32) -> f32 {
    const NEAR: f32 = 0.5;
    const ZERO: f32 = 10.5; // beyond, e^(-a^2) is 0
    let near = 1.0 - P::fma(poly::<P, 6>(x * x, ERF_SMALL), x, x);
    let a = if x.abs() > ZERO { ZERO } else { x.abs() };
    let q = (a - 2.0) * P::rcp(a + 2.0);
    let p = poly::<P, 10>(
        q,
        [
            -3.043_248_73e-4,
            -1.222_549_71e-3,
            1.208_852_51e-3,
            8.627_875_71e-3,
            -8.021_740_24e-3,
            -5.420_424_42e-2,
            0.164_050_207,
            -0.166_031_316,
            -9.276_379_64e-2,
            0.276_978_403,
        ],
    );
    let square = a * a;
    let less = P::fma(a, a, -square);
    let e = exp::<P>(-square);
    let tail = P::fma(e, -less, e) * ((1.0 + p) / P::fma(a, 2.0, 1.0));
    let far = if x < 0.0 { 2.0 - tail } else { tail };
    if x.abs() <= NEAR || x.is_nan() { near } else { far }
}

/// erfinv(x) / x, of w = -log(1 - x^2) up to 5: a polynomial of w - 2.5.
pub(in crate::scalar) const ERFINV_NEAR: [f32; 10] = [
    -8.765_860_93e-9,
    2.327_018_22e-8,
    4.658_637_07e-7,
    -3.463_114_81e-6,
    -4.962_132_61e-6,
    2.183_458_13e-4,
    -1.252_743_65e-3,
    -4.177_388_27e-3,
    0.246_640_28,
    1.501_409_41,
];
/// The same beyond, as far as f32 goes: of sqrt(w) - 3.125.
const ERFINV_FAR: [f32; 10] = [
    1.260_676_65e-4,
    -1.754_222_18e-4,
    -3.184_438_97e-4,
    1.312_958_31e-3,
    -2.523_249_71e-3,
    3.780_699_34e-3,
    -5.300_650_84e-3,
    7.049_171_25e-3,
    1.003_718_73,
    2.958_320_14,
];

/// The number of which `x` is the error function.
#[inline(always)]
pub fn erfinv<P: Primitives>(x: f32) -> f32 {
    let w = -log::<P>(P::fma(-x, x, 1.0));
    let p = if w <= 5.0 { poly::<P, 10>(w - 2.5, ERFINV_NEAR) } else { poly::<P, 10>(sqrt(w) - 3.125, ERFINV_FAR) };
    if x.abs() == 1.0 { f32::INFINITY.copysign(x) } else { x * p }
}
