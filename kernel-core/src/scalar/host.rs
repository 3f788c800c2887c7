//! The `f32` functions of the host: evaluated in `f64` to some 40 bits, then rounded. Correctly rounded but for about
//! one argument in 10^5, the same on every machine, and without branches or calls, so that loops over tiles are
//! vectorized. No fused multiply-add: as a library call it would take longer than all the rest.

use core::f64::consts::{FRAC_1_SQRT_2, LN_2, LOG2_E};

/// Adding it rounds a small number to an integer, found in the low bits.
const ROUND: f64 = 6_755_399_441_055_744.0; // 1.5 * 2^52

/// The polynomial of these coefficients, highest power first.
#[inline(always)]
fn poly<const N: usize>(x: f64, coefficients: [f64; N]) -> f64 {
    coefficients.into_iter().reduce(|r, c| r * x + c).unwrap_or(0.0)
}

/// 2^x, for any x.
#[inline(always)]
fn exp2_wide(x: f64) -> f64 {
    // Beyond these even denormals of f32 are 0, and products with 1 infinite.
    let x = if x < -200.0 { -200.0 } else { x };
    let x = if x > 200.0 { 200.0 } else { x };
    let shifted = x + ROUND;
    let r = (x - (shifted - ROUND)) * LN_2;
    let power = f64::from_bits((shifted.to_bits() << 52).wrapping_add(1023 << 52));
    const TAYLOR: [f64; 11] = [
        1.0 / 3_628_800.0,
        1.0 / 362_880.0,
        1.0 / 40320.0,
        1.0 / 5040.0,
        1.0 / 720.0,
        1.0 / 120.0,
        1.0 / 24.0,
        1.0 / 6.0,
        0.5,
        1.0,
        1.0,
    ];
    poly(r, TAYLOR) * power
}

#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp2_wide(x as f64 * LOG2_E) as f32
}

/// A denormal result is 0, as that of the one instruction that this is on a GPU.
#[inline(always)]
pub fn exp2(x: f32) -> f32 {
    if x < -126.0 { 0.0 } else { exp2_wide(x as f64) as f32 }
}

#[inline(always)]
fn log_wide(x: f32) -> f64 {
    // x = 2^k m with m in sqrt(1/2)..sqrt(2); denormals are normal in f64.
    let bits = (x as f64).to_bits();
    let exponent = bits.wrapping_sub(FRAC_1_SQRT_2.to_bits()) & 0xfff0_0000_0000_0000;
    let m = f64::from_bits(bits.wrapping_sub(exponent));
    // As an integer of 52 bits in the low part of 1.5 * 2^52: AVX2 cannot convert 64-bit integers.
    let k = f64::from_bits((((exponent as i64) >> 52) as u64).wrapping_add(ROUND.to_bits())) - ROUND;
    // log(m) = 2 atanh(s).
    let s = (m - 1.0) / (m + 1.0);
    let series = [1.0 / 15.0, 1.0 / 13.0, 1.0 / 11.0, 1.0 / 9.0, 1.0 / 7.0, 1.0 / 5.0, 1.0 / 3.0, 1.0];
    let log = k * LN_2 + 2.0 * s * poly(s * s, series);
    let log = if x == f32::INFINITY { f64::INFINITY } else { log };
    let log = if x == 0.0 { f64::NEG_INFINITY } else { log };
    if x >= 0.0 { log } else { f64::NAN }
}

#[inline(always)]
pub fn log(x: f32) -> f32 {
    log_wide(x) as f32
}

#[inline(always)]
pub fn log2(x: f32) -> f32 {
    (log_wide(x) * LOG2_E) as f32
}

#[inline(always)]
pub fn tanh(x: f32) -> f32 {
    let x = x as f64;
    // Small arguments, for which the difference below cancels too many bits.
    let small = x * poly(x * x, [-17.0 / 315.0, 2.0 / 15.0, -1.0 / 3.0, 1.0]);
    let large = 1.0 - 2.0 / (exp2_wide(x * (2.0 * LOG2_E)) + 1.0);
    (if x.abs() < 0.03 { small } else { large }) as f32
}

#[inline(always)]
pub fn sigmoid(x: f32) -> f32 {
    (1.0 / (1.0 + exp2_wide(x as f64 * -LOG2_E))) as f32
}

/// As on the device, denormals are 0.
#[inline(always)]
pub fn recip(x: f32) -> f32 {
    let normal = |v: f32| if v.abs() < f32::MIN_POSITIVE { 0f32.copysign(v) } else { v };
    normal(1.0 / normal(x))
}

#[inline(always)]
pub fn rsqrt(x: f32) -> f32 {
    (1.0 / (x as f64).sqrt()) as f32
}

/// Within 1.1 ulp: the polynomials of [`super::approx::erf`], which are made for `f32`.
#[inline(always)]
pub fn erf(x: f32) -> f32 {
    let (x, t) = (x as f64, x.abs() as f64);
    let q = poly(t, super::approx::ERF_LARGE.map(f64::from));
    let large = (1.0 - exp2_wide((q * t - t) * LOG2_E)).copysign(x);
    let small = x + x * poly(x * x, super::approx::ERF_SMALL.map(f64::from));
    let r = if t > super::approx::ERF_SMALL_LIMIT as f64 { large } else { small };
    (if x.is_nan() { x } else { r }) as f32
}
