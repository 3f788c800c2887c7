//! Element types of floats, for problems of any of them.

use crate::pattern::Pattern;
use tilewright_core::{bf16, f16};
use tilewright_ops::Float;

/// f32, f16 and bf16 as numbers.
pub trait Number: Float + Pattern + PartialEq + Into<f64> {
    fn of(v: f32) -> Self;
    const NAN: Self;
    /// Half an ulp, relative.
    const ROUNDING: f64;
    /// The smallest normal number: below it the spacing no longer shrinks.
    const NORMAL: f64;
}

macro_rules! numbers { ($($t:ty, $of:expr, $eps:expr, $normal:expr;)*) => { $(impl Number for $t {
    fn of(v: f32) -> Self { $of(v) }
    const NAN: Self = <$t>::NAN;
    const ROUNDING: f64 = $eps;
    const NORMAL: f64 = $normal;
})* } }
numbers! {
    f32, |v| v, 5.97e-8, 1.18e-38;
    f16, f16::from_f32, 4.89e-4, 6.11e-5;
    bf16, bf16::from_f32, 3.91e-3, 1.18e-38;
}

macro_rules! by_dtype { ($setup:expr, $f:ident($($a:expr),*)) => { match $setup.dtype {
    tilewright_core::DType::F16 => $f::<tilewright_core::f16>($($a),*),
    tilewright_core::DType::BF16 => $f::<tilewright_core::bf16>($($a),*),
    _ => $f::<f32>($($a),*),
} } }
pub(super) use by_dtype;

/// In f64, without rounding.
pub(super) fn numbers<T: Number>(v: &[T]) -> Vec<f64> {
    v.iter().map(|&v| v.into()).collect()
}
