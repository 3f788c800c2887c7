//! Element types, and values of which it is known how large they get.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ty {
    F64,
    F32,
    F16,
    Bf16,
    F8e4m3,
    F8e5m2,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    Usize,
}

impl Ty {
    pub const FLOATS: [Ty; 4] = [Ty::F32, Ty::F16, Ty::Bf16, Ty::F64];
    pub const INTEGERS: [Ty; 7] = [Ty::I32, Ty::I8, Ty::U8, Ty::I16, Ty::U16, Ty::U32, Ty::I64];

    pub fn name(self) -> &'static str {
        match self {
            Ty::F64 => "f64",
            Ty::F32 => "f32",
            Ty::F16 => "f16",
            Ty::Bf16 => "bf16",
            Ty::F8e4m3 => "f8e4m3",
            Ty::F8e5m2 => "f8e5m2",
            Ty::I8 => "i8",
            Ty::I16 => "i16",
            Ty::I32 => "i32",
            Ty::I64 => "i64",
            Ty::U8 => "u8",
            Ty::U16 => "u16",
            Ty::U32 => "u32",
            Ty::Usize => "usize",
        }
    }

    pub fn bytes(self) -> usize {
        match self {
            Ty::F64 | Ty::I64 | Ty::Usize => 8,
            Ty::F32 | Ty::I32 | Ty::U32 => 4,
            Ty::F16 | Ty::Bf16 | Ty::I16 | Ty::U16 => 2,
            Ty::F8e4m3 | Ty::F8e5m2 | Ty::I8 | Ty::U8 => 1,
        }
    }

    pub fn is_float(self) -> bool {
        matches!(self, Ty::F64 | Ty::F32 | Ty::F16 | Ty::Bf16 | Ty::F8e4m3 | Ty::F8e5m2)
    }

    pub fn is_signed(self) -> bool {
        !matches!(self, Ty::U8 | Ty::U16 | Ty::U32 | Ty::Usize)
    }

    /// All whole numbers up to this are held as they are, or as the opposite.
    pub fn exact(self) -> u64 {
        match self {
            Ty::F64 => 1 << 53,
            Ty::F32 => 1 << 24,
            Ty::F16 => 1 << 11,
            Ty::Bf16 => 1 << 8,
            Ty::F8e4m3 => 1 << 4,
            Ty::F8e5m2 => 1 << 3,
            Ty::I8 => i8::MIN.unsigned_abs() as u64,
            Ty::I16 => i16::MIN.unsigned_abs() as u64,
            Ty::I32 => i32::MIN.unsigned_abs() as u64,
            Ty::I64 => i64::MIN.unsigned_abs(),
            Ty::U8 => u8::MAX as u64,
            Ty::U16 => u16::MAX as u64,
            Ty::U32 => u32::MAX as u64,
            Ty::Usize => u64::MAX,
        }
    }

    /// How inputs are made: whole numbers up to this.
    pub fn input(self) -> u64 {
        match self {
            Ty::F8e4m3 | Ty::F8e5m2 => 4,
            _ => 8,
        }
    }

    pub fn literal(self, v: i64) -> String {
        if self.is_float() { format!("{v}.0") } else { v.to_string() }
    }
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// An expression of the language: of whole numbers, whose floats no rounding changes, so that every backend has to
/// give the same.
#[derive(Clone, Debug)]
pub struct Value {
    pub text: String,
    pub ty: Ty,
    /// None for a scalar.
    pub shape: Vec<usize>,
    /// What its numbers do not exceed, with either sign. Of integers the greatest where they may have wrapped.
    pub top: u64,
}

impl Value {
    pub fn new(text: impl Into<String>, ty: Ty, shape: &[usize], top: u64) -> Value {
        let text = text.into();
        assert!(!ty.is_float() || top <= ty.exact(), "{text}: {top} as {ty}");
        Value { text, ty, shape: shape.into(), top: top.min(ty.exact()) }
    }

    /// Of a computation whose results are up to `top`, if the type holds them or wraps.
    pub fn computed(text: String, ty: Ty, shape: &[usize], top: u128) -> Option<Value> {
        let fits = top <= ty.exact() as u128;
        (fits || !ty.is_float()).then(|| Value::new(text, ty, shape, if fits { top as u64 } else { ty.exact() }))
    }
}
