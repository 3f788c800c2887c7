//! Element types.

use core::fmt;

/// The element type of a tile or a buffer.
///
/// # Examples
/// ```
/// use tilewright_types::DType;
///
/// let t = DType::parse("bf16").expect("a dtype");
/// assert_eq!((t, t.size(), t.name()), (DType::BF16, 2, "bf16"));
/// assert!(t.is_float() && !t.is_float8() && !t.is_int() && !t.is_signed());
/// assert_eq!(DType::parse("usize"), Some(DType::U64));
/// // The ranges of numbers:
/// assert!(DType::I8.holds(-128) && !DType::I8.holds(128));
/// assert_eq!((DType::F16.greatest(), DType::F16.reaches(65520.0)), (65504.0, false));
/// assert_eq!((DType::F16.overflowed(-1e6), DType::F8E4M3.overflowed(-1e6)), (f64::NEG_INFINITY, -448.0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum DType {
    /// 32-bit float.
    F32,
    /// 64-bit float.
    F64,
    /// IEEE 16-bit float.
    F16,
    /// bfloat16: the upper half of a 32-bit float.
    BF16,
    /// 8-bit integer with a sign.
    I8,
    /// 16-bit integer with a sign.
    I16,
    /// 32-bit integer with a sign.
    I32,
    /// 64-bit integer with a sign.
    I64,
    /// 8-bit integer without a sign.
    U8,
    /// 16-bit integer without a sign.
    U16,
    /// 32-bit integer without a sign.
    U32,
    /// 64-bit integer without a sign.
    U64,
    /// `bool`: 0 or 1 in a byte.
    Bool,
    /// 8-bit float of 4 exponent bits and 3 fraction bits, without infinities.
    F8E4M3,
    /// 8-bit float of 5 exponent bits and 2 fraction bits.
    F8E5M2,
}

use DType::*;

impl DType {
    /// Every dtype.
    pub const ALL: [DType; 15] = [F32, F64, F16, BF16, I8, I16, I32, I64, U8, U16, U32, U64, Bool, F8E4M3, F8E5M2];
    /// The names of all dtypes, with their aliases, for messages.
    pub const NAMES: &'static str =
        "f32, f64, f16, bf16, i8, i16, i32, i64, isize, u8, u16, u32, u64, usize, bool, f8e4m3, f8e5m2";

    /// The dtype of a name in kernel source; `None` for other names, which may be names of something else there.
    pub fn parse(name: &str) -> Option<DType> {
        match name {
            "usize" => Some(U64),
            "isize" => Some(I64),
            _ => DType::ALL.into_iter().find(|d| d.name() == name),
        }
    }

    /// The name as written in a kernel.
    pub const fn name(self) -> &'static str {
        match self {
            F32 => "f32",
            F64 => "f64",
            F16 => "f16",
            BF16 => "bf16",
            I8 => "i8",
            I16 => "i16",
            I32 => "i32",
            I64 => "i64",
            U8 => "u8",
            U16 => "u16",
            U32 => "u32",
            U64 => "u64",
            Bool => "bool",
            F8E4M3 => "f8e4m3",
            F8E5M2 => "f8e5m2",
        }
    }

    /// The size in bytes: 1, 2, 4 or 8.
    pub const fn size(self) -> usize {
        match self {
            I8 | U8 | Bool | F8E4M3 | F8E5M2 => 1,
            F16 | BF16 | I16 | U16 => 2,
            F32 | I32 | U32 => 4,
            F64 | I64 | U64 => 8,
        }
    }

    /// Whether it is a float of any size.
    pub fn is_float(self) -> bool {
        matches!(self, F32 | F64 | F16 | BF16) || self.is_float8()
    }

    /// Whether it is a float of 8 bits. Kernels load, store, convert and multiply these, and do not compute with them.
    pub fn is_float8(self) -> bool {
        matches!(self, F8E4M3 | F8E5M2)
    }

    /// Whether it is an integer; `bool` is none.
    pub fn is_int(self) -> bool {
        !self.is_float() && self != Bool
    }

    /// Whether it is an integer with a sign.
    pub fn is_signed(self) -> bool {
        matches!(self, I8 | I16 | I32 | I64)
    }

    /// The greatest finite number of a float; of other types that of `f32`.
    pub fn greatest(self) -> f64 {
        match self {
            F64 => f64::MAX,
            F16 => 65504.0,
            BF16 => 3.3895313892515355e38,
            F8E4M3 => 448.0,
            F8E5M2 => 57344.0,
            _ => f32::MAX as f64,
        }
    }

    /// The value that a number becomes which is too large for the float: an infinity, or the greatest number of an
    /// 8-bit float.
    pub fn overflowed(self, v: f64) -> f64 {
        if self.is_float8() { self.greatest().copysign(v) } else { f64::INFINITY.copysign(v) }
    }

    /// Whether a number fits the float: it does not round to an infinity, or to the greatest number in its place.
    pub fn reaches(self, v: f64) -> bool {
        let limit = match self {
            F8E4M3 => 464.0,
            F8E5M2 => 61440.0,
            F16 => 65520.0,
            BF16 => 3.3961775292304957e38,
            F32 => 3.4028235677973366e38,
            _ => f64::INFINITY,
        };
        !v.is_finite() || v.abs() < limit
    }

    /// Whether an integer literal is representable.
    pub fn holds(self, v: i128) -> bool {
        match self {
            Bool => false,
            d if d.is_float() => true,
            d => {
                let bits = d.size() as u32 * 8;
                let (lo, hi) = if d.is_signed() {
                    (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1)
                } else {
                    (0, (1i128 << bits) - 1)
                };
                (lo..=hi).contains(&v)
            }
        }
    }
}

impl fmt::Display for DType {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}
