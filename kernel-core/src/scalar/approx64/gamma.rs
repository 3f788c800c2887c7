//! The gamma function and its logarithm.

use super::{exp, log, poly, sin_or_cos};
use crate::scalar::math::m64::{floor, fma, trunc};
use crate::scalar::word::pow;
use core::f64::consts::PI;

/// sin(pi x) for x >= 0.
#[inline(always)]
fn sin_pi(x: f64) -> f64 {
    let x = 2.0 * (x * 0.5 - floor(x * 0.5)); // modulo 2
    let quadrant = floor(x * 2.0 + 0.5);
    sin_or_cos(fma(quadrant, -0.5, x) * PI, 0.0, quadrant as u32)
}

/// lgamma(2 - y) + y / 2 for y in -0.27..0.27.
#[inline(always)]
fn near_2(y: f64) -> f64 {
    let z = y * y;
    let even = poly(
        z,
        [
            2.521_445_654_512_573_269_39e-5,
            2.208_627_907_139_083_855_57e-4,
            1.192_707_631_833_620_678_45e-3,
            7.385_550_860_814_028_839_57e-3,
            6.735_230_105_312_926_818_24e-2,
            7.721_566_490_153_286_554_94e-2,
        ],
    );
    let odd = poly(
        z,
        [
            4.486_409_496_189_151_601_50e-5,
            1.080_115_672_475_839_399_54e-4,
            5.100_697_921_535_113_366_08e-4,
            2.890_513_836_734_156_290_91e-3,
            2.058_080_843_251_673_328_06e-2,
            3.224_670_334_241_135_916_11e-1,
        ],
    );
    fma(y, even, z * odd)
}

/// The argument at which the gamma function is least.
const LGAMMA_MINIMUM: f64 = 1.461_632_144_968_362_245_76;

/// lgamma(LGAMMA_MINIMUM + y) for y in -0.24..0.28.
#[inline(always)]
fn near_least(y: f64) -> f64 {
    const VALUE: f64 = -1.214_862_905_358_496_114_61e-1;
    const VALUE_LOW: f64 = -3.638_676_997_039_505_365_41e-18;
    let z = y * y;
    let w = z * y;
    let p1 = poly(
        w,
        [
            3.156_320_709_036_259_503_61e-4,
            -1.403_464_699_892_328_438_13e-3,
            6.100_538_702_462_913_326_35e-3,
            -3.278_854_107_598_596_495_65e-2,
            4.838_361_227_238_100_470_42e-1,
        ],
    );
    let p2 = poly(
        w,
        [
            -3.127_541_683_751_208_605_18e-4,
            8.810_818_824_376_540_113_82e-4,
            -3.684_520_167_811_382_567_60e-3,
            1.797_067_508_118_203_871_26e-2,
            -1.475_877_229_945_939_117_52e-1,
        ],
    );
    let p3 = poly(
        w,
        [
            3.355_291_926_355_190_735_43e-4,
            -5.385_953_053_567_405_467_15e-4,
            2.259_647_809_006_124_722_50e-3,
            -1.031_422_412_983_414_374_50e-2,
            6.462_494_023_913_338_547_78e-2,
        ],
    );
    VALUE + (z * p1 - (VALUE_LOW - w * fma(y, p3, p2)))
}

/// lgamma(1 + y) + y / 2 for y in -0.1..0.24, or less by lgamma's own step.
#[inline(always)]
fn near_1(y: f64) -> f64 {
    let p = poly(
        y,
        [
            1.338_109_185_367_876_603_77e-2,
            2.289_637_280_646_924_510_92e-1,
            9.777_175_279_633_727_456_03e-1,
            1.454_922_501_372_347_687_37,
            6.328_270_640_250_933_665_17e-1,
            -7.721_566_490_153_286_554_94e-2,
        ],
    );
    let q = poly(
        y,
        [
            3.217_092_422_824_239_118_10e-3,
            1.042_226_455_933_691_342_54e-1,
            7.692_851_504_566_727_838_25e-1,
            2.128_489_763_798_933_953_61,
            2.455_977_937_130_411_348_22,
            1.0,
        ],
    );
    y * p / q
}

/// lgamma(2 + y) - y / 2 for y in 0..1.
#[inline(always)]
fn beyond_2(y: f64) -> f64 {
    let p = poly(
        y,
        [
            3.194_753_265_841_008_676_17e-5,
            1.840_284_514_073_377_156_52e-3,
            2.664_227_030_336_386_095_60e-2,
            1.463_504_726_524_644_528_05e-1,
            3.257_787_964_089_309_817_87e-1,
            2.149_824_159_606_088_525_01e-1,
            -7.721_566_490_153_286_554_94e-2,
        ],
    );
    let q = poly(
        y,
        [
            7.326_684_307_446_256_361_89e-6,
            7.779_424_963_818_935_964_34e-4,
            1.864_591_917_156_529_013_44e-2,
            1.719_338_656_328_030_789_93e-1,
            7.219_355_475_671_380_695_25e-1,
            1.392_005_334_676_210_459_58,
            1.0,
        ],
    );
    y * p / q
}

/// lgamma(x) for x > 0, by intervals.
#[inline(always)]
fn lgamma_positive(x: f64) -> f64 {
    if x < 8.673_617_379_884_035e-19 {
        -log(x) // up to 2^-60
    } else if x < 2.0 {
        // lgamma(x) = lgamma(x + 1) - log(x)
        let (above, step) = if x <= 0.9 { (x + 1.0, -log(x)) } else { (x, 0.0) };
        if above >= if x <= 0.9 { 1.7316 } else { 1.731_63 } {
            let y = if x <= 0.9 { 1.0 - x } else { 2.0 - x };
            step + (near_2(y) - 0.5 * y)
        } else if above >= 1.231_64 {
            let y = if x <= 0.9 { x - (LGAMMA_MINIMUM - 1.0) } else { x - LGAMMA_MINIMUM };
            step + near_least(y)
        } else {
            let y = if x <= 0.9 { x } else { x - 1.0 };
            step + (near_1(y) - 0.5 * y)
        }
    } else if x < 8.0 {
        let whole = trunc(x);
        let y = x - whole;
        // lgamma(1 + s) = log(s) + lgamma(s)
        let mut product = 1.0;
        let mut s = 2.0;
        while s < whole {
            product *= y + s;
            s += 1.0;
        }
        fma(y, 0.5, beyond_2(y)) + if whole > 2.0 { log(product) } else { 0.0 }
    } else if x < 2.882_303_761_517_117_4e17 {
        let z = 1.0 / x;
        let p = poly(
            z * z,
            [
                -1.630_929_340_965_752_739_89e-3,
                8.363_399_189_962_821_391_26e-4,
                -5.951_875_574_503_399_631_35e-4,
                7.936_505_586_430_195_585_00e-4,
                -2.777_777_777_287_755_364_70e-3,
                8.333_333_333_333_296_788_49e-2,
            ],
        );
        (x - 0.5) * (log(x) - 1.0) + fma(z, p, 4.189_385_332_046_727_250_52e-1)
    } else {
        x * (log(x) - 1.0)
    }
}

/// The logarithm of the absolute value of the gamma function. Within 3 ulp; near its zeros below 0 the absolute error
/// is that of numbers near 1.
#[inline(always)]
pub fn lgamma(x: f64) -> f64 {
    let a = x.abs();
    if x.is_nan() {
        return x;
    }
    if a == f64::INFINITY || a == 0.0 || x < 0.0 && a == floor(a) {
        return f64::INFINITY;
    }
    let r = lgamma_positive(a);
    // gamma(-a) gamma(a) = -pi / (a sin(pi a)); near 0 the sine may underflow.
    if x < 0.0 && a > 1e-20 { log(PI / (sin_pi(a).abs() * a)) - r } else { r }
}

/// Lanczos' g minus a half: the number added to x in the power.
const G: f64 = 5.524_680_040_776_729_583_740_234_375;

/// Lanczos' rational for x > 0, of 1 / x where its terms would overflow.
#[inline(always)]
fn lanczos(x: f64) -> f64 {
    const NUMERATOR: [f64; 13] = [
        2.506_628_274_631_000_2,
        210.824_277_751_579_36,
        8_071.672_002_365_816,
        186_056.265_395_223_48,
        2_876_370.628_935_372_5,
        31_426_415.585_400_194,
        248_874_557.862_054_17,
        1_439_720_407.311_721_6,
        6_039_542_586.352_028,
        17_921_034_426.037_21,
        35_711_959_237.355_67,
        42_919_803_642.649_1,
        23_531_376_880.410_76,
    ];
    const DENOMINATOR: [f64; 13] = [
        1.0,
        66.0,
        1925.0,
        32670.0,
        357_423.0,
        2_637_558.0,
        13_339_535.0,
        45_995_730.0,
        105_258_076.0,
        150_917_976.0,
        120_543_840.0,
        39_916_800.0,
        0.0,
    ];
    let reversed = |c: [f64; 13]| core::array::from_fn::<f64, 13, _>(|i| c[12 - i]);
    if x < 8.0 {
        poly(x, NUMERATOR) / poly(x, DENOMINATOR)
    } else {
        let z = 1.0 / x;
        poly(z, reversed(NUMERATOR)) / poly(z, reversed(DENOMINATOR))
    }
}

/// The gamma function. Within 10 ulp; of whole numbers up to 18 exact.
#[inline(always)]
pub fn tgamma(x: f64) -> f64 {
    let a = x.abs();
    let whole = x == floor(x);
    if x.is_nan() || a == f64::INFINITY {
        return if x < 0.0 { f64::NAN } else { x };
    }
    if a < 5.551_115_123_125_783e-17 {
        return 1.0 / x;
    }
    if whole && x < 0.0 {
        return f64::NAN;
    }
    if whole && x <= 23.0 {
        let (mut product, mut i) = (1.0, 2.0);
        while i < x {
            product *= i;
            i += 1.0;
        }
        return product;
    }
    if a >= 184.0 {
        let sign = if floor(x) * 0.5 == floor(x * 0.5) { 1.0 } else { -1.0 };
        return if x < 0.0 { 0f64.copysign(sign) } else { f64::INFINITY };
    }
    // The rounding error of a + G.
    let y = a + G;
    let rest = if a > G { (y - a) - G } else { (y - G) - a };
    let r = lanczos(a) * exp(-y);
    // gamma(-a) = -pi / (sin(pi a) a gamma(a))
    let (r, rest, power) = if x < 0.0 { (-PI / (sin_pi(a) * a * r), -rest, 0.5 - a) } else { (r, rest, a - 0.5) };
    let r = fma(rest * (G + 0.5) / y, r, r);
    // In halves, so that the power does not overflow before the product.
    let half = pow(y, 0.5 * power);
    r * half * half
}
