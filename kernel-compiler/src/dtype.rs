//! Element types in generated code.

pub use tilewright_types::DType;

/// The Rust type of emitted code; `F16` and `BF16` come from `tilewright_core::scalar`.
pub(crate) fn rust_type(t: DType) -> &'static str {
    match t {
        DType::F16 => "F16",
        DType::BF16 => "BF16",
        DType::F8E4M3 => "s::F8E4M3",
        DType::F8E5M2 => "s::F8E5M2",
        t => t.name(),
    }
}

/// The register that inline assembly has a number of this type in, and the type of its bits; none of bytes and `bool`.
pub(crate) fn register(t: DType) -> Option<(&'static str, &'static str)> {
    match t.size() {
        2 => Some(("reg16", "u16")),
        4 => Some(("reg32", "u32")),
        8 => Some(("reg64", "u64")),
        _ => None,
    }
}

/// The unsigned integer type of as many bits; any other type is itself.
pub(crate) fn unsigned(t: DType) -> DType {
    match t {
        DType::I8 => DType::U8,
        DType::I16 => DType::U16,
        DType::I32 => DType::U32,
        DType::I64 => DType::U64,
        t => t,
    }
}

/// A number as a float of a type has it: the nearest one, ties to even. A number that is too large becomes
/// [`DType::overflowed`].
pub(crate) fn rounded(v: f64, t: DType) -> f64 {
    // The digits of the mantissa, with the leading one, and the exponent of the smallest normal number.
    let (digits, lowest) = match t {
        DType::F32 => (24, -126),
        DType::F16 => (11, -14),
        DType::BF16 => (8, -126),
        DType::F8E4M3 => (4, -6),
        DType::F8E5M2 => (3, -14),
        _ => return v,
    };
    if !v.is_finite() || v == 0.0 || planted!("constants-of-many-digits") {
        return v;
    }
    if !t.reaches(v) {
        return t.overflowed(v);
    }
    let exponent = ((v.to_bits() >> 52 & 0x7ff) as i32 - 1023).max(lowest);
    let unit = 2f64.powi(exponent + 1 - digits);
    (v / unit).round_ties_even() * unit
}

/// An integer as a number of a type of floats, rounded once.
pub(crate) fn rounded_integer(n: i128, t: DType) -> f64 {
    if t == DType::F64 {
        return n as f64;
    }
    // An `f64` of the first 53 bits, whose last one also stands for all that follow.
    let bits = u128::BITS - n.unsigned_abs().leading_zeros();
    let dropped = bits.saturating_sub(53);
    let kept = n.unsigned_abs() >> dropped;
    let is_exact = kept << dropped == n.unsigned_abs();
    let odd = (kept | u128::from(!is_exact)) as f64 * 2f64.powi(dropped as i32);
    rounded(if n < 0 { -odd } else { odd }, t)
}

/// A dtype in a message about a kernel. `usize` and `u64` are one dtype, called `usize`, and so are `isize` and `i64`.
pub(crate) fn in_message(t: DType) -> &'static str {
    match t {
        DType::U64 => "usize",
        DType::I64 => "isize",
        t => t.name(),
    }
}

/// An integer as one of a type, without the bits that it has no place for.
pub(crate) fn wrapped(n: i128, t: DType) -> i128 {
    let bits = 8 * t.size() as u32;
    let low = n & ((1i128 << bits) - 1);
    if t.is_signed() && low >> (bits - 1) == 1 { low - (1i128 << bits) } else { low }
}

/// A number as an integer of a type: the fraction is dropped, numbers beyond a limit become the limit, and NaN becomes
/// 0.
pub(crate) fn saturated(x: f64, t: DType) -> i128 {
    let bits = 8 * t.size() as u32;
    let (least, most) =
        if t.is_signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
    (x as i128).clamp(least, most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_rounded_to_the_nearest_even() {
        let all = [
            (DType::F32, 16777217.0, 16777216.0),
            (DType::F32, 1e300, f64::INFINITY),
            (DType::F32, 0.1, 0.1f32 as f64),
            // Subnormal numbers: the halves between them are ties.
            (DType::F32, 2f64.powi(-149) * 2.5, 2f64.powi(-148)),
            (DType::F32, 2f64.powi(-150), 0.0),
            (DType::F16, 0.1, 0.0999755859375),
            (DType::F16, 65519.9, 65504.0),
            (DType::BF16, 1.00390625, 1.0),
            (DType::BF16, -1.01171875, -1.015625),
            (DType::F8E4M3, 1000.0, 448.0),
            (DType::F8E4M3, 463.9, 448.0),
            (DType::F8E5M2, 1.125, 1.0),
            (DType::F64, 0.1, 0.1),
        ];
        for (t, v, wanted) in all {
            assert_eq!(rounded(v, t), wanted, "{v} in {t}");
        }
        assert!(rounded(f64::NAN, DType::F16).is_nan());
        for x in [1e-45f32, 1.17e-38, 1.5, 3.4e38, 0.3] {
            assert_eq!(rounded(x as f64, DType::F32), x as f64);
        }
    }
}
