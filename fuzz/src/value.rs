//! Values of which it is known how large they get.

use DType::*;
pub use tilewright_compiler::dtype::DType;

pub const FLOATS: [DType; 4] = [F32, F16, BF16, F64];
pub const INTEGERS: [DType; 7] = [I32, I8, U8, I16, U16, U32, I64];

/// Whole numbers of a type.
pub trait Whole {
    /// All whole numbers up to this are held as they are, or as the opposite.
    fn exact(self) -> u64;
    /// How inputs are made: whole numbers up to this.
    fn input(self) -> u64;
    fn has_sign(self) -> bool;
    fn literal(self, v: i64) -> String;
    /// An expression, converted to it.
    fn of(self, text: &str) -> String;
    fn zeros(self, shape: &[usize]) -> String;
}

impl Whole for DType {
    fn exact(self) -> u64 {
        match self {
            F64 => 1 << 53,
            F32 => 1 << 24,
            F16 => 1 << 11,
            BF16 => 1 << 8,
            F8E4M3 => 1 << 4,
            F8E5M2 => 1 << 3,
            Bool => 1,
            _ if self.is_signed() => 1 << (8 * self.size() - 1),
            _ => u64::MAX >> (64 - 8 * self.size()),
        }
    }

    fn input(self) -> u64 {
        if self.is_float8() { 4 } else { 8 }
    }

    fn has_sign(self) -> bool {
        self.is_float() || self.is_signed()
    }

    fn literal(self, v: i64) -> String {
        if self.is_float() { format!("{v}.0") } else { v.to_string() }
    }

    fn of(self, text: &str) -> String {
        format!("({text}).to::<{}>()", self.name())
    }

    fn zeros(self, shape: &[usize]) -> String {
        format!("zeros::<{}>({shape:?})", self.name())
    }
}

/// An expression of the language: of whole numbers, whose floats no rounding changes, so that every backend has to
/// give the same.
#[derive(Clone, Debug)]
pub struct Value {
    pub text: String,
    pub ty: DType,
    /// None for a scalar.
    pub shape: Vec<usize>,
    /// The bound of its numbers, with either sign. For integers that may have wrapped, the greatest integer.
    pub top: u64,
}

impl Value {
    pub fn new(text: impl Into<String>, ty: DType, shape: &[usize], top: u64) -> Value {
        let text = text.into();
        assert!(!ty.is_float() || top <= ty.exact(), "{text}: {top} as {ty}");
        Value { text, ty, shape: shape.into(), top: top.min(ty.exact()) }
    }

    /// Of a computation whose results are up to `top`, if the type holds them or wraps.
    pub fn computed(text: String, ty: DType, shape: &[usize], top: u128) -> Option<Value> {
        let fits = top <= ty.exact() as u128;
        (fits || !ty.is_float()).then(|| Value::new(text, ty, shape, if fits { top as u64 } else { ty.exact() }))
    }
}
