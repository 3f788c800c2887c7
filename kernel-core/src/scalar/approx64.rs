//! The `f64` functions of the device: fdlibm's methods and coefficients, with fused multiply-add. `f64` is for
//! correctness rather than speed; the tests hold them against `std`.
#![allow(clippy::excessive_precision)]

mod error_function;
mod exponential;
mod gamma;
mod trigonometric;

pub use error_function::{erfc, erfinv};
pub(in crate::scalar) use exponential::exp_series;
pub use exponential::{acosh, asinh, atanh, cosh, exp10, expm1, log1p, log10, sinh};
pub use gamma::{lgamma, tgamma};
pub use trigonometric::{acos, asin, atan, atan2, tan};

use super::math::m64::fma;
use core::f64::consts::{FRAC_2_PI, FRAC_PI_2, LN_2, LOG2_E};

/// Adding it rounds a small number to an integer, found in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52
/// log(2) less its f64.
const LN_2_LOW: f64 = 2.319_046_813_846_3e-17;

/// The polynomial of these coefficients, highest power first.
#[inline(always)]
fn poly<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    let mut r = coefficients[0];
    let mut i = 1;
    while i < N {
        r = fma(r, x, coefficients[i]);
        i += 1;
    }
    r
}

/// e^r 2^n for |r| <= log(2)/2 and n within -1100..=1100.
#[inline(always)]
fn exp_scaled(r: f64, n: i32) -> f64 {
    const INVERSE_FACTORIALS: [f64; 14] = {
        let mut c = [1.0; 14]; // from 1/13! to 1/0!
        let mut i = 13;
        while i > 0 {
            c[i - 1] = c[i] / (14 - i) as f64;
            i -= 1;
        }
        c
    };
    let power = |n: i32| f64::from_bits(((n + 1023) as u64) << 52);
    // Two factors, for results that are denormal or near the greatest.
    let half = n >> 1;
    poly(r, INVERSE_FACTORIALS) * power(half) * power(n - half)
}

/// Within 1 ulp.
#[inline(always)]
pub fn exp(x: f64) -> f64 {
    let x = limit(x, -746.0, 710.0);
    let shifted = fma(x, LOG2_E, ROUND);
    let n = shifted - ROUND;
    exp_scaled(fma(-n, LN_2_LOW, fma(-n, LN_2, x)), shifted.to_bits() as i32)
}

/// Within 1 ulp.
#[inline(always)]
pub fn exp2(x: f64) -> f64 {
    let x = limit(x, -1076.0, 1025.0);
    let shifted = x + ROUND;
    let f = x - (shifted - ROUND);
    exp_scaled(f * LN_2, shifted.to_bits() as i32)
}

/// NaN stays.
#[inline(always)]
fn limit(x: f64, low: f64, high: f64) -> f64 {
    if x < low {
        low
    } else if x > high {
        high
    } else {
        x
    }
}

/// The exponent of a positive normal number, in its bits: less that, the number is within sqrt(1/2)..sqrt(2).
#[inline(always)]
fn exponent_of(bits: u64) -> u64 {
    const SQRT_HALF: u64 = 0x3fe6_a09e_667f_3bcd;
    bits.wrapping_sub(SQRT_HALF) & 0xfff0_0000_0000_0000
}

/// x = 2^k (1 + f) with 1 + f within sqrt(1/2)..sqrt(2): f and k.
#[inline(always)]
pub(super) fn split(x: f64) -> (f64, i32) {
    let denormal = x < f64::MIN_POSITIVE;
    let bits = (if denormal { x * 18_014_398_509_481_984.0 } else { x }).to_bits();
    let exponent = exponent_of(bits);
    let f = f64::from_bits(bits.wrapping_sub(exponent)) - 1.0;
    (f, ((exponent as i64) >> 52) as i32 - if denormal { 54 } else { 0 })
}

/// k, f, hfsq and s (hfsq + R) of an x as [`split`] has it.
#[inline(always)]
fn log_parts(x: f64) -> (f64, f64, f64, f64) {
    let (f, k) = split(x);
    let (hfsq, r) = log_series(f);
    (k as f64, f, hfsq, r)
}

/// hfsq and s (hfsq + R), where log(1 + f) is f - hfsq + s (hfsq + R).
#[inline(always)]
fn log_series(f: f64) -> (f64, f64) {
    let hfsq = 0.5 * f * f;
    let s = f / (2.0 + f);
    let z = s * s;
    let w = z * z;
    let even = poly(w, [1.531_383_769_920_937_332e-1, 2.222_219_843_214_978_396e-1, 3.999_999_999_940_941_908e-1]);
    let odd = poly(
        w,
        [
            1.479_819_860_511_658_591e-1,
            1.818_357_216_161_805_012e-1,
            2.857_142_874_366_239_149e-1,
            6.666_666_666_666_735_130e-1,
        ],
    );
    (hfsq, s * (hfsq + fma(even, w, odd * z)))
}

#[inline(always)]
fn log_specials(x: f64, finite: f64) -> f64 {
    if x == 0.0 {
        f64::NEG_INFINITY
    } else if x.is_nan() || x == f64::INFINITY {
        x
    } else if x < 0.0 {
        f64::NAN
    } else {
        finite
    }
}

/// The logarithm of 2^k (1 + f), of the parts that [`log_parts`] gives.
#[inline(always)]
fn log_sum((k, f, hfsq, r): (f64, f64, f64, f64)) -> f64 {
    const HIGH: f64 = 6.931_471_803_691_238_164_90e-1; // k times this is exact
    const LOW: f64 = 1.908_214_929_270_587_700_02e-10;
    k * HIGH - ((hfsq - fma(k, LOW, r)) - f)
}

/// Within 1 ulp.
#[inline(always)]
pub fn log(x: f64) -> f64 {
    log_specials(x, log_sum(log_parts(x)))
}

/// Within 2 ulp.
#[inline(always)]
pub fn log2(x: f64) -> f64 {
    const HIGH: f64 = 1.442_695_040_721_446_275_71;
    const LOW: f64 = 1.675_171_316_488_651_183_53e-10;
    let (k, f, hfsq, r) = log_parts(x);
    let high = f64::from_bits((f - hfsq).to_bits() & 0xffff_ffff_0000_0000);
    let low = f - high - hfsq + r;
    let scaled = high * HIGH; // exact
    let sum = k + scaled;
    log_specials(x, (low + high) * LOW + low * HIGH + ((k - sum) + scaled) + sum)
}

/// Within 2 ulp: Cephes' rational near 0, else 1 - 2 / (e^2x + 1).
#[inline(always)]
pub fn tanh(x: f64) -> f64 {
    let a = x.abs();
    let r = if a < 0.625 {
        let z = x * x;
        let p = poly(
            z,
            [-9.643_991_794_250_522_386_28e-1, -9.928_772_310_019_185_865_64e1, -1.614_687_684_417_084_479_52e3],
        );
        let q = poly(
            z,
            [1.0, 1.128_116_784_916_329_314_02e2, 2.235_488_390_601_004_485_83e3, 4.844_063_053_251_254_860_48e3],
        );
        fma(a, z * (p / q), a)
    } else {
        1.0 - 2.0 / (exp(2.0 * a) + 1.0)
    };
    r.copysign(x)
}

/// Within 3 ulp. By e^-|x|, which never overflows: so the result may be denormal.
#[inline(always)]
pub fn sigmoid(x: f64) -> f64 {
    let z = exp(-x.abs());
    (if x < 0.0 { z } else { 1.0 }) / (1.0 + z)
}

/// erf(x) / x - 1 for |x| < 0.84375, of the square of x.
#[inline(always)]
fn erf_near_0(z: f64) -> f64 {
    let p = poly(
        z,
        [
            -2.376_301_665_665_016_260_84e-5,
            -5.770_270_296_489_441_591_57e-3,
            -2.848_174_957_559_851_047_66e-2,
            -3.250_421_072_470_014_993_70e-1,
            1.283_791_670_955_125_585_61e-1,
        ],
    );
    let q = poly(
        z,
        [
            -3.960_228_278_775_368_123_20e-6,
            1.324_947_380_043_216_445_26e-4,
            5.081_306_281_875_765_627_76e-3,
            6.502_224_998_876_729_444_85e-2,
            3.979_172_239_591_553_528_19e-1,
            1.0,
        ],
    );
    p / q
}

/// Within 1 ulp.
#[inline(always)]
pub fn erf(x: f64) -> f64 {
    let a = x.abs();
    if a < 0.84375 {
        return fma(x, erf_near_0(x * x), x);
    }
    let r = if a < 1.25 {
        ERF_1 + erf_near_1(a - 1.0)
    } else if a < 6.0 {
        1.0 - erfc_tail(a)
    } else if x.is_nan() {
        x
    } else {
        1.0
    };
    r.copysign(x)
}

/// About erf(1).
const ERF_1: f64 = 8.450_629_115_104_675_292_97e-1;

/// erf(1 + s) - `ERF_1`, s within -0.16..0.25.
#[inline(always)]
fn erf_near_1(s: f64) -> f64 {
    let p = poly(
        s,
        [
            -2.166_375_594_868_790_843_00e-3,
            3.547_830_432_561_823_593_71e-2,
            -1.108_946_942_823_966_774_76e-1,
            3.183_466_199_011_617_536_74e-1,
            -3.722_078_760_357_013_238_47e-1,
            4.148_561_186_837_483_316_66e-1,
            -2.362_118_560_752_659_440_77e-3,
        ],
    );
    let q = poly(
        s,
        [
            1.198_449_984_679_910_741_70e-2,
            1.363_708_391_202_905_073_62e-2,
            1.261_712_198_087_616_421_12e-1,
            7.182_865_441_419_626_628_68e-2,
            5.403_979_177_021_710_489_37e-1,
            1.064_208_804_008_442_282_86e-1,
            1.0,
        ],
    );
    p / q
}

/// 1 - erf(a), a within 1.25..28.
#[inline(always)]
fn erfc_tail(a: f64) -> f64 {
    let z = 1.0 / (a * a);
    let near = a < 1.0 / 0.35;
    let (p, q) = if near {
        let p = [
            -9.814_329_344_169_145_485_92,
            -8.128_743_550_630_659_342_46e1,
            -1.846_050_929_067_110_359_94e2,
            -1.623_966_694_625_734_703_55e2,
            -6.237_533_245_032_600_603_96e1,
            -1.055_862_622_532_329_098_14e1,
            -6.938_585_727_071_817_643_72e-1,
            -9.864_944_034_847_148_227_05e-3,
        ];
        let q = [
            -6.042_441_521_485_809_874_38e-2,
            6.570_249_770_319_281_701_35,
            1.086_350_055_417_794_351_34e2,
            4.290_081_400_275_678_333_86e2,
            6.453_872_717_332_678_803_36e2,
            4.345_658_774_752_292_288_21e2,
            1.376_577_541_435_190_426_00e2,
            1.965_127_166_743_925_712_92e1,
            1.0,
        ];
        (poly(z, p), poly(z, q))
    } else {
        let p = [
            -4.835_191_916_086_513_970_19e2,
            -1.025_095_131_611_077_249_54e3,
            -6.375_664_433_683_896_277_22e2,
            -1.606_363_848_558_219_160_62e2,
            -1.775_795_491_775_475_198_89e1,
            -7.992_832_376_805_230_065_74e-1,
            -9.864_942_924_700_099_285_97e-3,
        ];
        let q = [
            -2.244_095_244_658_581_833_62e1,
            4.745_285_412_069_553_672_15e2,
            2.553_050_406_433_164_425_83e3,
            3.199_858_219_508_595_539_08e3,
            1.536_729_586_084_436_959_94e3,
            3.257_925_129_965_739_188_26e2,
            3.033_806_074_348_245_829_24e1,
            1.0,
        ];
        (poly(z, p), poly(z, q))
    };
    // The square of the rounded a is exact.
    let rounded = f64::from_bits(a.to_bits() & 0xffff_ffff_0000_0000);
    exp(-rounded * rounded - 0.5625) * exp((rounded - a) * (rounded + a) + p / q) / a
}

/// pi/2 = FRAC_PI_2 + FRAC_PI_2_LOW + FRAC_PI_2_LOWEST.
const FRAC_PI_2_LOW: f64 = 6.123_233_995_736_766e-17;
const FRAC_PI_2_LOWEST: f64 = -1.497_384_904_859_169_8e-33;

/// `x` = r + low + q pi/2 with |r| <= pi/4 (nearly); the low two bits of q count.
#[inline(always)]
fn quadrant(x: f64) -> (f64, f64, u32) {
    if x.abs() > 1_048_576.0 {
        return large_quadrant(x);
    }
    let shifted = fma(x, FRAC_2_PI, ROUND);
    let n = shifted - ROUND;
    let r = fma(-n, FRAC_PI_2, x); // exact
    let high = fma(-n, FRAC_PI_2_LOW, r);
    let low = fma(-n, FRAC_PI_2_LOWEST, fma(-n, FRAC_PI_2_LOW, r - high));
    (high, low, shifted.to_bits() as u32)
}

/// Payne and Hanek: multiplies by those 192 bits of 2/pi that decide the fraction, as integers.
#[inline(always)]
fn large_quadrant(x: f64) -> (f64, f64, u32) {
    // A word of zeros, then the bits of 2/pi after the point.
    #[rustfmt::skip]
    const WORDS: &[u64; 20] = &[
        0, 0xa2f9_836e_4e44_1529, 0xfc27_57d1_f534_ddc0, 0xdb62_9599_3c43_9041,
        0xfe51_63ab_debb_c561, 0xb724_6e3a_424d_d2e0, 0x0649_2eea_09d1_921c, 0xfe1d_eb1c_b129_a73e,
        0xe882_35f5_2ebb_4484, 0xe99c_7026_b45f_7e41, 0x3991_d639_8353_39f4, 0x9c84_5f8b_bdf9_283b,
        0x1ff8_97ff_de05_980f, 0xef2f_118b_5a0a_6d1f, 0x6d36_7ecf_27cb_09b7, 0x4f46_3f66_9e5f_ea2d,
        0x7527_bac7_ebe5_f17b, 0x3d07_39f7_8a52_92ea, 0x6bfb_5fb1_1f8d_5d08, 0x5603_3046_fc7b_6bab,
    ];
    let bits = x.to_bits();
    let exponent = (bits >> 52) as u32 & 0x7ff;
    if exponent == 0x7ff {
        return (f64::NAN, f64::NAN, 0);
    }
    // |x| = m 2^(exponent - 1075). Bits of 2/pi before bit exponent - 1077 after the point contribute multiples of 4.
    let m = (bits & 0xf_ffff_ffff_ffff) | 0x10_0000_0000_0000;
    let first = exponent + 64 - 1077;
    let (i, shift) = ((first >> 6) as usize, first & 63);
    let word = |k: usize| {
        let two = (WORDS[i + k] as u128) << 64 | WORDS[i + k + 1] as u128;
        ((two << shift) >> 64) as u64
    };
    let wide = |w: u64| m as u128 * w as u128;
    let product = (wide(word(0)) << 64).wrapping_add(wide(word(1))).wrapping_add(wide(word(2)) >> 64);
    // Two bits of quadrant, then the fraction of a quadrant; rounded to the nearest quadrant.
    let q = (product.wrapping_add(1 << 125) >> 126) as u32;
    let fraction = (product << 2) as i128;
    // As the sum of two f64, high + low, times pi/2 as such a sum.
    let abs = fraction.unsigned_abs() | 1;
    let zeros = abs.leading_zeros();
    let normal = abs << zeros;
    let power = |n: i32| f64::from_bits(((n + 1023) as u64) << 52);
    let sign = if (fraction < 0) != (x < 0.0) { -1.0 } else { 1.0 };
    let high = sign * (normal >> 75) as u64 as f64 * power(-53 - zeros as i32);
    let low = sign * ((normal >> 22) as u64 & ((1 << 53) - 1)) as f64 * power(-106 - zeros as i32);
    let r = high * FRAC_PI_2;
    let r_low = fma(high, FRAC_PI_2, -r) + fma(high, FRAC_PI_2_LOW, low * FRAC_PI_2);
    (r, r_low, if x < 0.0 { q.wrapping_neg() } else { q })
}

/// sin(r + low) if `q` is even, else cos(r + low), with the sign of quadrant `q`.
#[inline(always)]
fn sin_or_cos(r: f64, low: f64, q: u32) -> f64 {
    let z = r * r;
    let v = if q & 1 == 0 {
        let p = poly(
            z,
            [
                1.589_690_995_211_550_102_21e-10,
                -2.505_076_025_340_686_341_95e-8,
                2.755_731_370_707_006_767_89e-6,
                -1.984_126_982_985_794_931_34e-4,
                8.333_333_333_322_489_461_24e-3,
            ],
        );
        let v = z * r;
        r - ((z * (0.5 * low - v * p) - low) - v * -1.666_666_666_666_663_243_48e-1)
    } else {
        let p = poly(
            z,
            [
                -1.135_964_755_778_819_482_65e-11,
                2.087_572_321_298_174_827_90e-9,
                -2.755_731_435_139_066_330_35e-7,
                2.480_158_728_947_672_941_78e-5,
                -1.388_888_888_887_410_957_49e-3,
                4.166_666_666_666_660_190_37e-2,
            ],
        );
        let half = 0.5 * z;
        let w = 1.0 - half;
        w + (((1.0 - w) - half) + (z * (z * p) - r * low))
    };
    if q & 2 == 0 { v } else { -v }
}

/// Within 1 ulp, for arguments of any size.
#[inline(always)]
pub fn sin(x: f64) -> f64 {
    let (r, low, q) = quadrant(x);
    if x == 0.0 { x } else { sin_or_cos(r, low, q) }
}

/// Within 1 ulp, for arguments of any size.
#[inline(always)]
pub fn cos(x: f64) -> f64 {
    let (r, low, q) = quadrant(x);
    sin_or_cos(r, low, q.wrapping_add(1))
}

/// As that of `f32`.
#[inline(always)]
pub fn round(x: f64) -> f64 {
    super::math::m64::trunc(x + 0.499_999_999_999_999_94f64.copysign(x))
}

/// The exact remainder, of the sign of `x`.
#[inline(always)]
pub fn rem(x: f64, y: f64) -> f64 {
    let (a, b) = (x.abs(), y.abs());
    if !(a < f64::INFINITY && b > 0.0) {
        return f64::NAN;
    }
    let r = if a < b {
        a
    } else if a < b * 1_125_899_906_842_624.0 {
        // The quotient is off by one at most, and every remainder then is exact.
        let q = (a / b) as u64 as f64;
        let r = fma(-q, b, a);
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

/// Long division, 11 bits of the quotient at a time.
#[inline(always)]
fn long_rem(a: f64, b: f64) -> f64 {
    let split = |v: f64| {
        let (e, m) = ((v.to_bits() >> 52) as u32, v.to_bits() & 0xf_ffff_ffff_ffff);
        if e == 0 { (m, 1) } else { (m | 0x10_0000_0000_0000, e) }
    };
    let ((m, e), (d, f)) = (split(a), split(b));
    let mut r = m % d;
    let mut left = e - f;
    while left > 0 {
        let step = left.min(11);
        r = (r << step) % d;
        left -= step;
    }
    // r 2^(f - 1075), exact: it is less than b.
    let scale = if f > 52 { ((f - 52) as u64) << 52 } else { 1 << (f - 1) };
    r as f64 * f64::from_bits(scale)
}
