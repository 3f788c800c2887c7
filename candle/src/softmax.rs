//! Softmax.

use crate::check::{self, for_float};
use crate::{Input, LaunchResult, Operation, Output, apply_no_bwd, derive_custom_op};
use candle_core::shape::Dim;
use candle_core::{DType, Result, Shape, Tensor};
use tilewright::ops::{self, ExecOptions};

/// The softmax of the last dimension, as of `candle_nn::ops::softmax_last_dim`. f32, f16 or bf16, computed in f32.
///
/// A strided tensor is copied first. It has a gradient.
///
/// # Errors
/// Candle's, for another dtype and for a tensor without dimensions.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[3.0f32, 3.0], [0.0, -200.0]], &Device::Cpu)?;
/// assert_eq!(tilewright_candle::softmax_last_dim(&x)?.to_vec2::<f32>()?, [[0.5, 0.5], [1.0, 0.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn softmax_last_dim(x: &Tensor) -> Result<Tensor> {
    check::has_rows(x)?;
    x.contiguous()?.apply_op1(Softmax)
}

/// The softmax of a dimension, as of `candle_nn::ops::softmax`. Any but the last one is brought to the end by a copy,
/// and back by another one.
///
/// # Errors
/// As [`softmax_last_dim`], and candle's for a dimension that there is not.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[3.0f32, 0.0], [3.0, -200.0]], &Device::Cpu)?;
/// assert_eq!(tilewright_candle::softmax(&x, 0)?.to_vec2::<f32>()?, [[0.5, 1.0], [0.5, 0.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn softmax<D: Dim>(x: &Tensor, dim: D) -> Result<Tensor> {
    let dim = dim.to_index(x.shape(), "softmax")?;
    let last = x.rank() - 1;
    if dim == last {
        return softmax_last_dim(x);
    }
    softmax_last_dim(&x.transpose(dim, last)?)?.transpose(dim, last)?.contiguous()
}

/// Softmax of contiguous rows.
struct Softmax;

impl Operation<1> for Softmax {
    const NAME: &'static str = "softmax";

    fn output(&self, [x]: &[Input<'_>; 1]) -> Result<(DType, Shape)> {
        check::rows(x)?;
        Ok((check::floats(Self::NAME, &[x])?, x.shape().clone()))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [x]: [Input<'a>; 1], y: Output<'a>) -> LaunchResult {
        let (rows, columns) = check::rows(&x)?;
        for_float!(x.dtype(), Self::NAME, T => {
            Ok(ops::softmax_rows(on, x.slice::<T>()?, y.slice::<T>()?, rows, columns)?)
        })
    }

    fn gradients(&self, _: [&Tensor; 1], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 1]> {
        Ok([Some(apply_no_bwd(SoftmaxGradient, [result, &grad.contiguous()?])?)])
    }
}
derive_custom_op!(Softmax, x);

/// The gradient of softmax, by its result and the gradient of that.
struct SoftmaxGradient;

impl Operation<2> for SoftmaxGradient {
    const NAME: &'static str = "softmax-backward";

    fn output(&self, [y, dy]: &[Input<'_>; 2]) -> Result<(DType, Shape)> {
        y.same_shape(dy)?;
        Ok((check::floats(Self::NAME, &[y, dy])?, y.shape().clone()))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [y, dy]: [Input<'a>; 2], dx: Output<'a>) -> LaunchResult {
        let (rows, columns) = check::rows(&y)?;
        for_float!(y.dtype(), Self::NAME, T => {
            let (y, dy, dx) = (y.slice::<T>()?, dy.slice::<T>()?, dx.slice::<T>()?);
            Ok(ops::softmax_rows_backward(on, y, dy, dx, rows, columns)?)
        })
    }
}
derive_custom_op!(SoftmaxGradient, y, dy);
