//! The items that expanded macros name.

pub use crate::{Failure, Input, Operation, Output, apply_no_bwd};
pub use candle_core as candle;
pub use tilewright::ops::{ExecOptions, Executor};
pub use tilewright::{bf16, f8e4m3, f16};

use crate::{InputType, LaunchResult, OutputType, TensorElement};
use candle_core::{CpuStorage, CudaStorage, DType, Error, Layout, Result, Shape};

/// Runs an operation on the CPU.
pub fn cpu<const N: usize, O: Operation<N>>(
    op: &O,
    inputs: [(&CpuStorage, &Layout); N],
) -> Result<(CpuStorage, Shape)> {
    crate::cpu::forward(op, inputs)
}

/// Runs an operation on the GPU.
#[cfg(feature = "cuda")]
pub fn cuda<const N: usize, O: Operation<N>>(
    op: &O,
    inputs: [(&CudaStorage, &Layout); N],
) -> Result<(CudaStorage, Shape)> {
    crate::cuda::forward(op, inputs)
}

/// The error of a build without the feature `cuda`.
#[cfg(not(feature = "cuda"))]
pub fn cuda<const N: usize, O: Operation<N>>(
    _op: &O,
    _inputs: [(&CudaStorage, &Layout); N],
) -> Result<(CudaStorage, Shape)> {
    let why = format!("{}: enable the feature `cuda` of tilewright-candle", O::NAME);
    Err(Error::Cuda(why.into()).bt())
}

/// Whether a parameter of the type `A` takes the dtype of a tensor.
pub fn reads<A: for<'a> InputType<'a>>(input: &Input<'_>) -> bool {
    <<A as InputType<'_>>::Element as TensorElement>::reads(input.dtype())
}

/// The dtype of a result of the type `A`.
pub fn dtype_of<A: for<'a> OutputType<'a>>() -> DType {
    <<A as OutputType<'_>>::Element as TensorElement>::CANDLE_DTYPE
}

/// The argument of a kernel for a tensor.
pub fn input<'a, A: InputType<'a>>(input: &Input<'a>) -> LaunchResult<A::Argument> {
    A::argument(input)
}

/// The argument of a kernel for the result.
pub fn output<'a, A: OutputType<'a>>(output: Output<'a>) -> LaunchResult<A::Argument> {
    A::argument(output)
}

/// The error of tensors whose dtypes no instance of a kernel takes.
pub fn no_types(op: &'static str, inputs: &[Input<'_>]) -> Error {
    let first = inputs[0].dtype();
    match inputs.iter().find(|x| x.dtype() != first) {
        Some(other) => Error::DTypeMismatchBinaryOp { lhs: first, rhs: other.dtype(), op }.bt(),
        None => Error::UnsupportedDTypeForOp(first, op).bt(),
    }
}

/// The index of a name.
pub const fn index_of(names: &[&str], name: &str) -> usize {
    let mut i = 0;
    while i < names.len() {
        if are_equal(names[i].as_bytes(), name.as_bytes()) {
            return i;
        }
        i += 1;
    }
    panic!("`bwd` names a tensor that the operation does not have")
}

const fn are_equal(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}
