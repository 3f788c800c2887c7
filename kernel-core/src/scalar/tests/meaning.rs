//! The meaning of operations for types and corner cases that are less than obvious.

use crate::scalar::*;
use half::{bf16, f16};
use proptest::prelude::*;

/// `x` rounded once to a format of `p` bits of precision and least exponent `emin`, by `f64` arithmetic; for values
/// that are sums of so few bits that `f64` holds them.
fn round_once(x: f64, p: i32, emin: i32, greatest: f64) -> f64 {
    if x == 0.0 || !x.is_finite() {
        return x;
    }
    let exponent = ((x.abs().to_bits() >> 52) as i32 - 1023).max(emin);
    let ulp = 2f64.powi(exponent - p + 1);
    let r = (x / ulp).round_ties_even() * ulp;
    if r.abs() > greatest { f64::INFINITY.copysign(x) } else { r }
}

fn to_f16(x: f64) -> f64 {
    round_once(x, 11, -14, 65504.0)
}

fn to_bf16(x: f64) -> f64 {
    round_once(x, 8, -126, bf16::MAX.to_f64())
}

fn same(a: f64, b: f64) -> bool {
    a == b || (a.is_nan() && b.is_nan())
}

#[test]
fn every_16_bit_float_converts_as_half_does() {
    for bits in 0..=u16::MAX {
        let (h, b) = (F16(bits), BF16(bits));
        assert!(same(h.to_f64(), f16::from(h).to_f64()) && same(b.to_f64(), bf16::from(b).to_f64()), "{bits:#x}");
        for back in [F16::from_f32(h.to_f32()), F16::from_f64(h.to_f64())] {
            assert!(back.0 == bits || (back != back && h != h));
        }
        for back in [BF16::from_f32(b.to_f32()), BF16::from_f64(b.to_f64())] {
            assert!(back.0 == bits || (back != back && b != b));
        }
    }
}

#[test]
fn conversions_around_every_midpoint_round_once() {
    for bits in 0..0x7c00 {
        let middle = (F16(bits).to_f64() + if bits == 0x7bff { 65536.0 } else { F16(bits + 1).to_f64() }) / 2.0;
        for x in [middle, middle.next_up(), middle.next_down()] {
            assert_eq!(F16::from_f64(x).to_f64(), to_f16(x), "{x:e}");
            assert_eq!(F16::from_f64(-x).to_f64(), -to_f16(x), "{x:e}");
        }
        assert_eq!(F16::from_f32(middle as f32).to_f64(), to_f16(middle));
    }
    for bits in 0..0x7f80 {
        let middle =
            (BF16(bits).to_f64() + if bits == 0x7f7f { 2f64.powi(128) } else { BF16(bits + 1).to_f64() }) / 2.0;
        for x in [middle, middle.next_up(), middle.next_down()] {
            assert_eq!(BF16::from_f64(x).to_f64(), to_bf16(x), "{x:e}");
        }
        assert_eq!(BF16::from_f32(middle as f32).to_f64(), to_bf16(middle));
    }
}

#[test]
fn integers_of_any_size_round_once() {
    // In between two bf16 and a little more: rounding to f32 or f64 first would lose the little.
    assert_eq!(cast::<i64, BF16>((257 << 32) + 1).to_f64(), 2f64.powi(32) * 258.0);
    assert_eq!(cast::<i64, BF16>((257 << 32) - 1).to_f64(), 2f64.powi(32) * 256.0);
    assert_eq!(cast::<u64, BF16>((257 << 55) + 1).to_f64(), 2f64.powi(55) * 258.0);
    assert_eq!(cast::<i64, BF16>(-(257 << 54) - 1).to_f64(), 2f64.powi(54) * -258.0);
    assert_eq!(cast::<i32, BF16>((257 << 22) + 1).to_f64(), 2f64.powi(22) * 258.0);
    assert_eq!(cast::<i32, F16>(65519).to_f64(), 65504.0);
    assert_eq!(cast::<i32, F16>(65520), F16::HIGHEST);
    assert_eq!(cast::<i64, F16>(i64::MIN), F16::LOWEST);
}

#[test]
fn casts_are_those_of_as() {
    assert_eq!(cast::<f32, i8>(300.0), 127);
    assert_eq!(cast::<f32, u8>(-1.0), 0);
    assert_eq!(cast::<f64, i64>(f64::NAN), 0);
    assert_eq!(cast::<F16, u64>(F16::LOWEST), 0);
    assert_eq!(cast::<F16, i32>(F16::HIGHEST), i32::MAX);
    assert_eq!(cast::<i64, u8>(-1), 255);
    assert_eq!(cast::<i8, u64>(-1), u64::MAX);
    assert!(
        cast::<f32, bool>(f32::NAN)
            && cast::<i64, bool>(256)
            && !cast::<f64, bool>(-0.0)
            && !cast::<BF16, bool>(BF16(0x8000))
    );
    assert_eq!(cast::<bool, BF16>(true), BF16::ONE);
    assert_eq!(bitcast::<f32, u32>(1.0), 0x3f80_0000);
    assert_eq!(bitcast::<i16, F16>(-1).0, 0xffff);
    assert_eq!(bitcast::<i8, u8>(-1), 255);
    assert!(bitcast::<u8, bool>(2));
}

#[test]
fn bytes_are_fractions_of_f16() {
    for byte in 0..=255u8 {
        let more = |excess| F16(super::super::cast::f16_and_more(byte, excess)).to_f64() - 1024.0 - excess as f64;
        assert_eq!((more(0), more(128)), (byte as f64, byte as i8 as f64));
        assert_eq!(
            (cast::<u8, F16>(byte).to_f64(), cast::<i8, F16>(byte as i8).to_f64()),
            (byte as f64, byte as i8 as f64)
        );
    }
}

#[test]
fn integer_corners() {
    assert_eq!((div(7, 0), rem(7, 0), div(i32::MIN, -1), rem(i32::MIN, -1)), (0, 0, i32::MIN, 0));
    assert_eq!((div(7u8, 0), rem(7u8, 0), div(-7, 2), rem(-7, 2)), (0, 0, -3, -1));
    assert_eq!((add(i8::MAX, 1), sub(0u16, 1), mul(1u64 << 63, 2), neg(i64::MIN)), (i8::MIN, u16::MAX, 0, i64::MIN));
    assert_eq!((neg(1u8), abs(i8::MIN), abs(-5), fma(i32::MAX, 2, 3)), (255, i8::MIN, 5, 1));
    assert_eq!((shl(1, 33), shr(-8, 1), shr(0x80u8, 9), shl(1i8, 7u64)), (2, -4, 0x40, i8::MIN));
    assert_eq!((not(true), xor(true, true), and(6, 3), or(6, 3), not(0u8)), (false, false, 2, 7, 255));
    assert_eq!((lowest::<i16>(), highest::<u32>(), lowest::<f32>()), (i16::MIN, u32::MAX, f32::NEG_INFINITY));
}

#[test]
fn bits_of_integers() {
    assert_eq!((popc(0u8), popc(-1i16), popc(0xf0f0u32), popc(i64::MIN)), (0, 16, 8, 1));
    assert_eq!((clz(0u8), clz(1i16), clz(-1i32), clz(1u64 << 40)), (8, 15, 0, 23));
    assert_eq!((ffs(0u8), ffs(1i8), ffs(i16::MIN), ffs(40u32), ffs(1i64 << 62)), (0, 1, 16, 4, 63));
    assert_eq!((brev(1u8), brev(2i16), brev(0x8000_0001u32), brev(3u64)), (128, 1 << 14, 0x8000_0001, 3 << 62));
    assert_eq!((mulhi(200u8, 200), mulhi(-100i8, 100), mulhi(i16::MIN, i16::MIN)), (156, -40, 1 << 14));
    assert_eq!((mulhi(u32::MAX, u32::MAX), mulhi(i32::MIN, 3)), (u32::MAX - 1, -2));
    assert_eq!((mulhi(u64::MAX, u64::MAX), mulhi(i64::MIN, i64::MAX)), (u64::MAX - 1, i64::MIN / 2));
}

#[test]
fn nan_wins_where_it_propagates() {
    let nan = f32::NAN;
    assert!(max_nan(nan, 1.0).is_nan() && max_nan(1.0, nan).is_nan() && min_nan(f64::NAN, 1.0).is_nan());
    assert!(isnan(max_nan(F16::from_f32(nan), F16::ONE)) && isnan(min_nan(BF16::ONE, BF16::from_f32(nan))));
    assert_eq!((max_nan(1.0, 2.0), min_nan(-1.0f64, f64::INFINITY), max_nan(3u8, 4)), (2.0, -1.0, 4));
}

#[test]
fn kinds_of_floats() {
    fn kinds<T: Float + Cast<f64>>() {
        let nan = cast::<T, f64>(T::HIGHEST) * 0.0;
        assert!(nan.is_nan());
        for (x, wanted) in [(T::ZERO, [false, false, true]), (T::HIGHEST, [false, true, false])] {
            for x in [x, neg(x)] {
                assert_eq!([isnan(x), isinf(x), isfinite(x)], wanted, "{x:?}");
            }
        }
        let x = mul(T::HIGHEST, T::ZERO);
        assert_eq!([isnan(x), isinf(x), isfinite(x)], [true, false, false]);
    }
    kinds::<f32>();
    kinds::<f64>();
    kinds::<F16>();
    kinds::<BF16>();
}

#[test]
fn neighbors() {
    assert_eq!((nextafter(1.0f32, 2.0), nextafter(1.0f32, 0.0)), (1.0f32.next_up(), 1.0f32.next_down()));
    assert_eq!((nextafter(-1.0f64, -2.0), nextafter(-1.0f64, 2.0)), ((-1.0f64).next_down(), (-1.0f64).next_up()));
    assert_eq!(nextafter(0.0f32, -1.0).to_bits(), 0x8000_0001);
    assert_eq!((nextafter(-0.0f32, 1.0).to_bits(), nextafter(5e-324f64, -1.0).to_bits()), (1, 0));
    assert_eq!((nextafter(f32::MAX, f32::INFINITY), nextafter(f32::INFINITY, 0.0)), (f32::INFINITY, f32::MAX));
    assert_eq!(nextafter(0.0f32, -0.0).to_bits(), 0x8000_0000);
    assert!(nextafter(f32::NAN, 1.0).is_nan() && nextafter(1.0, f64::NAN).is_nan());
    assert_eq!((nextafter(F16::ONE, F16::ZERO).0, nextafter(BF16::ONE, BF16::HIGHEST).0), (0x3bff, 0x3f81));
    assert_eq!((ldexp(F16::ONE, -24).0, ldexp(F16::ONE, -25).0, ldexp(BF16::ONE, 128)), (1, 0, BF16::HIGHEST));
}

#[test]
fn a_number_wins_over_nan() {
    let nan = f32::NAN;
    assert_eq!((min(nan, 1.0), max(1.0, nan), min(1.0f64, f64::NAN)), (1.0, 1.0, 1.0));
    assert!(max(nan, nan).is_nan());
    let (h, b) = (F16::from_f32(nan), BF16::from_f32(nan));
    assert_eq!((min(h, F16::ONE), max(BF16::ONE, b)), (F16::ONE, BF16::ONE));
    assert!(ne(h, h) && !eq(h, h) && !lt(h, F16::ONE) && !ge(h, F16::ONE));
}

fn f16s() -> impl Strategy<Value = F16> {
    any::<u16>().prop_map(F16)
}

fn bf16s() -> impl Strategy<Value = BF16> {
    any::<u16>().prop_map(BF16)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(20_000))]

    #[test]
    fn f16_arithmetic_rounds_once(a in f16s(), b in f16s()) {
        let (x, y) = (a.to_f64(), b.to_f64());
        prop_assert!(same(add(a, b).to_f64(), to_f16(x + y)));
        prop_assert!(same(sub(a, b).to_f64(), to_f16(x - y)));
        prop_assert!(same(mul(a, b).to_f64(), to_f16(x * y)));
        prop_assert!(same(div(a, b).to_f64(), to_f16(x / y)));
        prop_assert!(same(rem(a, b).to_f64(), x % y));
        prop_assert!(same(sqrt(a).to_f64(), to_f16(x.sqrt())));
    }

    #[test]
    fn bf16_arithmetic_rounds_once(a in bf16s(), b in bf16s()) {
        let (x, y) = (a.to_f64(), b.to_f64());
        // The exact sum of distant bf16 does not fit f64; where it does not, f64 is far from a midpoint or on it.
        prop_assert!(same(mul(a, b).to_f64(), to_bf16(x * y)));
        prop_assert!(same(div(a, b).to_f64(), to_bf16(x / y)));
        prop_assert!(same(sqrt(a).to_f64(), to_bf16(x.sqrt())));
        if x != 0.0 && y != 0.0 && (x.abs().log2() - y.abs().log2()).abs() < 40.0 {
            prop_assert!(same(add(a, b).to_f64(), to_bf16(x + y)));
            prop_assert!(same(sub(a, b).to_f64(), to_bf16(x - y)));
        }
    }

    #[test]
    fn fma_is_fused(a in any::<f32>(), b in any::<f32>(), c in any::<f32>()) {
        prop_assert!(same(fma(a, b, c) as f64, a.mul_add(b, c) as f64));
    }

    #[test]
    fn f64_to_16_bits_rounds_once(bits in any::<u64>(), exponent in -160i32..160) {
        let x = f64::from_bits((bits & 0x800f_ffff_ffff_ffff) | ((exponent + 1023) as u64) << 52);
        prop_assert!(same(cast::<f64, F16>(x).to_f64(), to_f16(x)));
        prop_assert!(same(cast::<f64, BF16>(x).to_f64(), to_bf16(x)));
        prop_assert!(same(cast::<f32, F16>(x as f32).to_f64(), to_f16(x as f32 as f64)));
        prop_assert!(same(cast::<f32, BF16>(x as f32).to_f64(), to_bf16(x as f32 as f64)));
    }

    #[test]
    fn bits_round_trip(bits in any::<u64>()) {
        fn check<T: Scalar>(bits: u64) -> bool {
            let mask = u64::MAX >> (64 - 8 * T::BYTES);
            T::from_bits64(bits).to_bits64() == bits & mask
        }
        prop_assert!(check::<f32>(bits) && check::<f64>(bits) && check::<F16>(bits) && check::<BF16>(bits));
        prop_assert!(check::<i8>(bits) && check::<i16>(bits) && check::<i32>(bits) && check::<i64>(bits));
        prop_assert!(check::<u8>(bits) && check::<u16>(bits) && check::<u32>(bits) && check::<u64>(bits));
    }
}
