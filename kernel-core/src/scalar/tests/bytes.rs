//! 8-bit floats, all of them.

use crate::scalar::*;

/// Its value by the definition; none for NaN and infinity.
fn value(bits: u8, fraction: u32, bias: i32, greatest: u8) -> Option<f64> {
    let (exponent, digits) =
        ((bits & 0x7f) >> fraction, (bits & ((1 << fraction) - 1)) as f64 / (1 << fraction) as f64);
    let abs = match exponent {
        0 => digits * 2f64.powi(1 - bias),
        e => (1.0 + digits) * 2f64.powi(e as i32 - bias),
    };
    (bits & 0x7f <= greatest).then_some(if bits & 0x80 == 0 { abs } else { -abs })
}

fn check<T: Scalar + Cast<f64>>(
    of: impl Fn(f64) -> T,
    of32: impl Fn(f32) -> T,
    value: impl Fn(u8) -> Option<f64>,
    greatest: u8,
) {
    let bits = |x: T| x.to_bits64() as u8;
    for b in 0..=255u8 {
        let x: f64 = T::from_bits64(b as u64).cast();
        match value(b) {
            Some(v) => {
                assert_eq!(x.to_bits(), v.to_bits(), "{b:#x}");
                assert_eq!((bits(of(x)), bits(of32(x as f32))), (b, b));
            }
            None => assert!(!x.is_finite(), "{b:#x}"),
        }
    }
    for b in 0..greatest {
        let (low, high) = (value(b).unwrap(), value(b + 1).unwrap());
        let (middle, even) = ((low + high) / 2.0, b + (b & 1));
        assert_eq!((bits(of32(middle as f32)), bits(of(middle))), (even, even), "{middle:e}");
        assert_eq!((bits(of(-middle.next_up())), bits(of(middle.next_down()))), ((b + 1) | 0x80, b), "{middle:e}");
        assert_eq!(
            (bits(of32((middle as f32).next_up())), bits(of32((middle as f32).next_down()))),
            (b + 1, b),
            "{middle:e}"
        );
    }
    for x in [value(greatest).unwrap() * 1.01, value(greatest).unwrap() * 2.0, f32::MAX as f64, f64::MAX, f64::INFINITY]
    {
        assert_eq!((bits(of(x)), bits(of(-x)), bits(of32(x as f32))), (greatest, greatest | 0x80, greatest), "{x:e}");
    }
    assert_eq!(
        (bits(of32(f32::NAN)) & 0x7f, bits(of32(-f32::NAN)) & 0x7f, bits(of(f64::NAN)) & 0x7f),
        (0x7f, 0x7f, 0x7f)
    );
}

#[test]
fn conversions_round_once_and_saturate() {
    check(cast::<f64, F8E4M3>, cast::<f32, F8E4M3>, |b| value(b, 3, 7, 0x7e), 0x7e);
    check(cast::<f64, F8E5M2>, cast::<f32, F8E5M2>, |b| value(b, 2, 15, 0x7b), 0x7b);
    assert_eq!((F8E4M3::ONE.to_f32(), F8E5M2::ONE.to_f32(), F8E5M2::HIGHEST.to_f32()), (1.0, 1.0, f32::INFINITY));
    assert_eq!((cast::<i64, F8E4M3>(1000).to_f32(), cast::<F8E4M3, i32>(F8E4M3::LOWEST)), (448.0, -448));
    assert_eq!(cast::<F8E5M2, F8E4M3>(F8E5M2::from_f32(1.5)).to_f32(), 1.5);
}
