//! Checks of tensors, with candle's errors.

use crate::Input;
use candle_core::{DType, Error, Result, Shape, Tensor};

/// Runs code for the float type `T` of a dtype. Errors: `UnsupportedDTypeForOp`.
macro_rules! for_float {
    ($dtype:expr, $op:expr, $t:ident => $body:expr) => {
        match $dtype {
            candle_core::DType::F32 => {
                type $t = f32;
                $body
            }
            candle_core::DType::F16 => {
                type $t = tilewright::f16;
                $body
            }
            candle_core::DType::BF16 => {
                type $t = tilewright::bf16;
                $body
            }
            other => Err(candle_core::Error::UnsupportedDTypeForOp(other, $op).bt())?,
        }
    };
}
pub(crate) use for_float;

/// The dtype is f32, f16 or bf16.
pub fn float(op: &'static str, dtype: DType) -> Result<()> {
    match dtype {
        DType::F32 | DType::F16 | DType::BF16 => Ok(()),
        other => Err(Error::UnsupportedDTypeForOp(other, op).bt()),
    }
}

/// The inputs have the same dtype, f32, f16 or bf16.
pub fn floats(op: &'static str, inputs: &[&Input<'_>]) -> Result<DType> {
    let lhs = inputs[0].dtype();
    match inputs.iter().find(|x| x.dtype() != lhs) {
        Some(other) => Err(Error::DTypeMismatchBinaryOp { lhs, rhs: other.dtype(), op }.bt()),
        None => float(op, lhs).map(|()| lhs),
    }
}

/// An input has this shape.
pub fn shape(what: &str, x: &Input<'_>, expected: impl Into<Shape>) -> Result<()> {
    let expected = expected.into();
    if *x.shape() == expected {
        return Ok(());
    }
    Err(Error::UnexpectedShape { msg: what.into(), expected, got: x.shape().clone() }.bt())
}

/// The extents of an input of this rank.
pub fn dims<const R: usize>(x: &Input<'_>) -> Result<[usize; R]> {
    x.dims().try_into().map_err(|_| rank(R, x.shape()))
}

/// The error of a tensor of another rank.
pub fn rank(expected: usize, shape: &Shape) -> Error {
    Error::UnexpectedNumberOfDims { expected, got: shape.rank(), shape: shape.clone() }.bt()
}

/// The product of the extents before the last one, and the last one.
pub fn rows(x: &Input<'_>) -> Result<(usize, usize)> {
    match x.dims() {
        [] => Err(rank(1, x.shape())),
        [rows @ .., columns] => Ok((rows.iter().product(), *columns)),
    }
}

/// The error of a tensor of no dimension.
pub fn has_rows(x: &Tensor) -> Result<()> {
    if x.rank() == 0 { Err(rank(1, x.shape())) } else { Ok(()) }
}
