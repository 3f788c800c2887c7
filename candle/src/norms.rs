//! Norms of the last dimension.

use crate::check::{self, for_float};
use crate::{Input, LaunchResult, Operation, Output, apply, apply_no_bwd, derive_custom_op};
use candle_core::{DType, Result, Shape, Tensor};
use tilewright::ops::{self, ExecOptions};

/// `x / sqrt(mean of x² + eps) * weight` along the last dimension, as of `candle_nn::ops::rms_norm`. f32, f16 or bf16,
/// computed in f32.
///
/// `weight` has the length of that dimension. Strided tensors are copied first. It has gradients.
///
/// # Errors
/// Candle's, for other dtypes and shapes.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[3.0f32, -3.0]], &Device::Cpu)?;
/// let weight = Tensor::new(&[1.0f32, 2.0], &Device::Cpu)?;
/// assert_eq!(tilewright_candle::rms_norm(&x, &weight, 0.0)?.to_vec2::<f32>()?, [[1.0, -2.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn rms_norm(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    apply(RmsNorm { eps }, [&x.contiguous()?, &weight.contiguous()?])
}

/// `sum = x + residual`, and the [`rms_norm`] of `sum`, in one launch. Returns both.
///
/// `x` and `residual` have one shape. Strided tensors are copied first. It has gradients.
///
/// # Errors
/// Candle's, for other dtypes and shapes.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let of = |x: [f32; 2]| Tensor::new(&x, &Device::Cpu);
/// let (sum, y) = tilewright_candle::add_rms_norm(&of([1.0, 2.0])?, &of([2.0, -5.0])?, &of([1.0, 2.0])?, 0.0)?;
/// assert_eq!((sum.to_vec1::<f32>()?, y.to_vec1::<f32>()?), (vec![3.0, -3.0], vec![1.0, -2.0]));
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn add_rms_norm(x: &Tensor, residual: &Tensor, weight: &Tensor, eps: f32) -> Result<(Tensor, Tensor)> {
    let both = apply(AddRmsNorm { eps }, [&x.contiguous()?, &residual.contiguous()?, &weight.contiguous()?])?;
    Ok((both.get(0)?, both.get(1)?))
}

/// `(x - mean) / sqrt(variance + eps) * weight + bias` along the last dimension, as of `candle_nn::ops::layer_norm`.
/// f32, f16 or bf16, computed in f32.
///
/// `weight` and `bias` have the length of that dimension. Strided tensors are copied first. It has gradients.
///
/// # Errors
/// Candle's, for other dtypes and shapes.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[1.0f32, 3.0]], &Device::Cpu)?;
/// let (weight, bias) = (Tensor::new(&[1.0f32, 10.0], &Device::Cpu)?, Tensor::new(&[0.0f32, 0.5], &Device::Cpu)?);
/// assert_eq!(tilewright_candle::layer_norm(&x, &weight, &bias, 0.0)?.to_vec2::<f32>()?, [[-1.0, 10.5]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn layer_norm(x: &Tensor, weight: &Tensor, bias: &Tensor, eps: f32) -> Result<Tensor> {
    apply(LayerNorm { eps }, [&x.contiguous()?, &weight.contiguous()?, &bias.contiguous()?])
}

/// [`layer_norm`] without a bias.
///
/// # Errors
/// As [`layer_norm`].
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[1.0f32, 3.0]], &Device::Cpu)?;
/// let weight = Tensor::new(&[1.0f32, 10.0], &Device::Cpu)?;
/// assert_eq!(tilewright_candle::layer_norm_no_bias(&x, &weight, 0.0)?.to_vec2::<f32>()?, [[-1.0, 10.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn layer_norm_no_bias(x: &Tensor, weight: &Tensor, eps: f32) -> Result<Tensor> {
    apply(LayerNorm { eps }, [&x.contiguous()?, &weight.contiguous()?])
}

/// The dtype and the shape of the result for rows and for parameters of a row.
fn output(op: &'static str, x: &Input<'_>, parameters: &[(&str, &Input<'_>)]) -> Result<(DType, Shape)> {
    let (_, columns) = check::rows(x)?;
    for (name, parameter) in parameters {
        check::floats(op, &[x, parameter])?;
        check::shape(&format!("{op}: the shape of the {name}"), parameter, columns)?;
    }
    Ok((check::floats(op, &[x])?, x.shape().clone()))
}

struct RmsNorm {
    eps: f32,
}

impl Operation<2> for RmsNorm {
    const NAME: &'static str = "rms-norm";

    fn output(&self, [x, weight]: &[Input<'_>; 2]) -> Result<(DType, Shape)> {
        output(Self::NAME, x, &[("weight", weight)])
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [x, weight]: [Input<'a>; 2], y: Output<'a>) -> LaunchResult {
        for_float!(x.dtype(), Self::NAME, T => {
            Ok(ops::rms_norm(on, x.slice::<T>()?, weight.slice::<T>()?, y.slice::<T>()?, self.eps)?)
        })
    }

    fn gradients(&self, [x, weight]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let all = apply_no_bwd(NormGradient::rms(self.eps), [x, weight, &grad.contiguous()?])?;
        let [dx, dw] = gradients(&all, x)?;
        Ok([Some(dx), Some(dw)])
    }
}
derive_custom_op!(RmsNorm, x, weight);

struct AddRmsNorm {
    eps: f32,
}

impl Operation<3> for AddRmsNorm {
    const NAME: &'static str = "add-rms-norm";

    fn output(&self, [x, residual, weight]: &[Input<'_>; 3]) -> Result<(DType, Shape)> {
        let (dtype, shape) = output(Self::NAME, x, &[("weight", weight)])?;
        check::floats(Self::NAME, &[x, residual])?;
        x.same_shape(residual)?;
        Ok((dtype, Shape::from([&[2], shape.dims()].concat())))
    }

    fn launch<'a>(
        &self,
        on: &ExecOptions<'_>,
        [x, residual, weight]: [Input<'a>; 3],
        both: Output<'a>,
    ) -> LaunchResult {
        let len = x.shape().elem_count();
        for_float!(x.dtype(), Self::NAME, T => {
            let [sum, y] = both.parts::<T, 2>([len; 2])?;
            let (x, residual, weight) = (x.slice::<T>()?, residual.slice::<T>()?, weight.slice::<T>()?);
            Ok(ops::add_rms_norm(on, x, residual, weight, sum, y, self.eps)?)
        })
    }

    fn gradients(&self, [x, _, weight]: [&Tensor; 3], result: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let (sum, grad) = (result.get(0)?, grad.contiguous()?);
        let all = apply_no_bwd(NormGradient::rms(self.eps), [&sum, weight, &grad.get(1)?])?;
        let [of_norm, dw] = gradients(&all, x)?;
        let of_sum = (of_norm + grad.get(0)?)?;
        Ok([Some(of_sum.clone()), Some(of_sum), Some(dw)])
    }
}
derive_custom_op!(AddRmsNorm, x, residual, weight);

struct LayerNorm {
    eps: f32,
}

impl Operation<3> for LayerNorm {
    const NAME: &'static str = "layer-norm";

    fn output(&self, [x, weight, bias]: &[Input<'_>; 3]) -> Result<(DType, Shape)> {
        output(<Self as Operation<3>>::NAME, x, &[("weight", weight), ("bias", bias)])
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [x, weight, bias]: [Input<'a>; 3], y: Output<'a>) -> LaunchResult {
        for_float!(x.dtype(), <Self as Operation<3>>::NAME, T => {
            let (x, weight, bias) = (x.slice::<T>()?, weight.slice::<T>()?, bias.slice::<T>()?);
            Ok(ops::layer_norm(on, x, weight, bias, y.slice::<T>()?, self.eps)?)
        })
    }

    fn gradients(&self, [x, weight, _]: [&Tensor; 3], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 3]> {
        let all = apply_no_bwd(NormGradient::layer(self.eps, true), [x, weight, &grad.contiguous()?])?;
        let [dx, dw, db] = gradients(&all, x)?;
        Ok([Some(dx), Some(dw), Some(db)])
    }
}
derive_custom_op!(LayerNorm, x, weight, bias);

impl Operation<2> for LayerNorm {
    const NAME: &'static str = "layer-norm";

    fn output(&self, [x, weight]: &[Input<'_>; 2]) -> Result<(DType, Shape)> {
        output(<Self as Operation<2>>::NAME, x, &[("weight", weight)])
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [x, weight]: [Input<'a>; 2], y: Output<'a>) -> LaunchResult {
        for_float!(x.dtype(), <Self as Operation<2>>::NAME, T => {
            Ok(ops::layer_norm(on, x.slice::<T>()?, weight.slice::<T>()?, &[], y.slice::<T>()?, self.eps)?)
        })
    }

    fn gradients(&self, [x, weight]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let all = apply_no_bwd(NormGradient::layer(self.eps, false), [x, weight, &grad.contiguous()?])?;
        let [dx, dw] = gradients(&all, x)?;
        Ok([Some(dx), Some(dw)])
    }
}
derive_custom_op!(LayerNorm, x, weight);

/// The gradients of the rows, and then that of the weight, and that of the bias where there is one: rows of a matrix.
struct NormGradient {
    eps: f32,
    is_layer_norm: bool,
    has_bias: bool,
}

impl NormGradient {
    fn rms(eps: f32) -> Self {
        NormGradient { eps, is_layer_norm: false, has_bias: false }
    }

    fn layer(eps: f32, has_bias: bool) -> Self {
        NormGradient { eps, is_layer_norm: true, has_bias }
    }
}

impl Operation<3> for NormGradient {
    const NAME: &'static str = "norm-backward";

    fn output(&self, [x, weight, dy]: &[Input<'_>; 3]) -> Result<(DType, Shape)> {
        let (dtype, _) = output(Self::NAME, x, &[("weight", weight)])?;
        check::floats(Self::NAME, &[x, dy])?;
        x.same_shape(dy)?;
        let (rows, columns) = check::rows(x)?;
        Ok((dtype, Shape::from((rows + 1 + usize::from(self.has_bias), columns))))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [x, weight, dy]: [Input<'a>; 3], all: Output<'a>) -> LaunchResult {
        let (rows, columns) = check::rows(&x)?;
        let of_bias = if self.has_bias { columns } else { 0 };
        for_float!(x.dtype(), Self::NAME, T => {
            let [dx, dw, db] = all.parts::<T, 3>([rows * columns, columns, of_bias])?;
            let (x, weight, dy) = (x.slice::<T>()?, weight.slice::<T>()?, dy.slice::<T>()?);
            match self.is_layer_norm {
                true => ops::layer_norm_backward(on, x, weight, dy, dx, dw, db, self.eps)?,
                false => ops::rms_norm_backward(on, x, weight, dy, dx, dw, self.eps)?,
            }
            Ok(())
        })
    }
}
derive_custom_op!(NormGradient, x, weight, dy);

/// The gradients of `x` and of parameters, of a result of [`NormGradient`].
fn gradients<const N: usize>(all: &Tensor, x: &Tensor) -> Result<[Tensor; N]> {
    let rows = all.dim(0)? + 1 - N;
    let mut gradients = vec![all.narrow(0, 0, rows)?.reshape(x.shape())?];
    for parameter in 0..N - 1 {
        gradients.push(all.get(rows + parameter)?);
    }
    Ok(gradients.try_into().expect("as many as were asked for"))
}
