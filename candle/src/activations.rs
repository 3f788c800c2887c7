//! SwiGLU.

use crate::check::{self, for_float};
use crate::{Input, LaunchResult, Operation, Output, apply, apply_no_bwd, derive_custom_op};
use candle_core::{DType, Result, Shape, Tensor};
use tilewright::ops::{self, ExecOptions};

/// `silu(gate) * up`, the gated activation of Llama, in one launch. f32, f16 or bf16, computed in f32.
///
/// `candle_nn::ops::swiglu` computes the same of the two halves of one tensor. Both tensors have one shape. Strided
/// tensors are copied first. It has gradients.
///
/// # Errors
/// Candle's, for other dtypes and shapes.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let (gate, up) = (Tensor::new(&[0.0f32, 100.0], &Device::Cpu)?, Tensor::new(&[3.0f32, 2.0], &Device::Cpu)?);
/// assert_eq!(tilewright_candle::swiglu(&gate, &up)?.to_vec1::<f32>()?, [0.0, 200.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn swiglu(gate: &Tensor, up: &Tensor) -> Result<Tensor> {
    apply(Swiglu, [&gate.contiguous()?, &up.contiguous()?])
}

struct Swiglu;

impl Operation<2> for Swiglu {
    const NAME: &'static str = "swiglu";

    fn output(&self, [gate, up]: &[Input<'_>; 2]) -> Result<(DType, Shape)> {
        gate.same_shape(up)?;
        Ok((check::floats(Self::NAME, &[gate, up])?, gate.shape().clone()))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [gate, up]: [Input<'a>; 2], y: Output<'a>) -> LaunchResult {
        for_float!(gate.dtype(), Self::NAME, T => {
            Ok(ops::swiglu(on, gate.slice::<T>()?, up.slice::<T>()?, y.slice::<T>()?)?)
        })
    }

    fn gradients(&self, [gate, up]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let both = apply_no_bwd(SwigluGradient, [gate, up, &grad.contiguous()?])?;
        Ok([Some(both.get(0)?), Some(both.get(1)?)])
    }
}
derive_custom_op!(Swiglu, gate, up);

/// Both gradients.
struct SwigluGradient;

impl Operation<3> for SwigluGradient {
    const NAME: &'static str = "swiglu-backward";

    fn output(&self, [gate, up, dy]: &[Input<'_>; 3]) -> Result<(DType, Shape)> {
        gate.same_shape(up)?;
        gate.same_shape(dy)?;
        let shape = Shape::from([&[2], gate.dims()].concat());
        Ok((check::floats(Self::NAME, &[gate, up, dy])?, shape))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [gate, up, dy]: [Input<'a>; 3], both: Output<'a>) -> LaunchResult {
        let len = gate.shape().elem_count();
        for_float!(gate.dtype(), Self::NAME, T => {
            let [d_gate, d_up] = both.parts::<T, 2>([len; 2])?;
            let (gate, up, dy) = (gate.slice::<T>()?, up.slice::<T>()?, dy.slice::<T>()?);
            Ok(ops::swiglu_backward(on, gate, up, dy, d_gate, d_up)?)
        })
    }
}
derive_custom_op!(SwigluGradient, gate, up, dy);
