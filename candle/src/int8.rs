//! Products of matrices of signed bytes.

use crate::check::{self, for_float};
use crate::{Input, LaunchResult, Operation, Output, apply_no_bwd, derive_custom_op, kernels};
use candle_core::{DType, Error, Result, Shape, Tensor};
use tilewright::ops::{ExecOptions, Executor, Matmul, Transpose};

/// A linear layer whose weight is of signed bytes, with a scale for each output: `x Wᵀ`.
///
/// A call quantizes each row of `x` to signed bytes with a scale of its own, multiplies bytes with exact sums of 32
/// bits, and scales the sums. The relative error of an element of either matrix is half of a 127th of its row's
/// greatest one. There is no gradient.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
/// use tilewright_candle::Int8Linear;
///
/// let weight = Tensor::new(&[[1.0f32, 0.5], [-2.0, 4.0]], &Device::Cpu)?; // 2 outputs of 2 inputs
/// let layer = Int8Linear::new(&weight)?;
/// assert_eq!((layer.weight().dims(), layer.scales().dims()), (&[2, 2][..], &[2][..]));
/// let y = layer.forward(&Tensor::new(&[[1.0f32, 1.0]], &Device::Cpu)?)?.to_vec2::<f32>()?;
/// assert!((y[0][0] - 1.5).abs() < 0.02 && (y[0][1] - 2.0).abs() < 0.04);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Int8Linear {
    weight: Tensor,
    scales: Tensor,
}

impl Int8Linear {
    /// Quantizes a weight of f32, f16 or bf16, `(outputs, inputs)`. A strided one is copied first.
    ///
    /// # Errors
    /// Candle's, for another dtype or rank.
    pub fn new(weight: &Tensor) -> Result<Int8Linear> {
        weight.dims2()?;
        let (weight, scales) = quantize_rows(weight)?;
        Ok(Int8Linear { weight, scales })
    }

    /// The bytes of the weight, `(outputs, inputs)`. Their dtype is u8, since candle has no signed bytes.
    pub fn weight(&self) -> &Tensor {
        &self.weight
    }

    /// The scales of the outputs, of f32. A weight is its byte times the scale.
    pub fn scales(&self) -> &Tensor {
        &self.scales
    }

    /// `x Wᵀ`, of `x`'s dtype, f32, f16 or bf16. `x` is `(.., inputs)`, and the result `(.., outputs)`.
    ///
    /// # Errors
    /// Candle's, for another dtype or last extent, and an error of tilewright for more than 131 071 inputs.
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        check::has_rows(x)?;
        let (outputs, inputs) = self.weight.dims2()?;
        let [before @ .., columns] = x.dims() else { return Err(check::rank(1, x.shape())) };
        if *columns != inputs {
            let (lhs, rhs) = (x.shape().clone(), self.weight.shape().clone());
            return Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op: Int8Matmul::NAME }.bt());
        }
        let rows: usize = before.iter().product();
        let (bytes, scales) = quantize_rows(&x.reshape((rows, inputs))?)?;
        let sums = int8_matmul(&bytes, &self.weight)?;
        let y = apply_no_bwd(Dequantize { dtype: x.dtype() }, [&sums, &scales, &self.scales])?;
        y.reshape([before, &[outputs]].concat())
    }
}

/// The exact product `a bᵀ` of matrices of signed bytes, as i32. The dtype of `a`, `(m, k)`, and of `b`, `(n, k)`, is
/// u8, since candle has no signed bytes. `k` is 131 071 at most.
///
/// Matrices of any strides are taken as they are. There is no gradient.
///
/// # Errors
/// Candle's, for another dtype or other shapes, and errors of tilewright.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// // The bytes of 1 and -2, and of 3 and 4.
/// let (a, b) = (Tensor::new(&[[1u8, 254]], &Device::Cpu)?, Tensor::new(&[[3u8, 4]], &Device::Cpu)?);
/// assert_eq!(tilewright_candle::int8_matmul(&a, &b)?.to_vec2::<i32>()?, [[-5]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn int8_matmul(a: &Tensor, b: &Tensor) -> Result<Tensor> {
    apply_no_bwd(Int8Matmul, [a, b])
}

/// The bytes of a matrix, and the scales of its rows: an element is its byte times the scale of its row.
///
/// `x` is f32, f16 or bf16. The bytes are signed, of dtype u8 since candle has no signed ones, and scales are f32: the
/// greatest absolute value of a row over 127. A row whose elements are all below 1.5e-36 counts as zeros, with a scale
/// of 0. A row with a NaN has a scale of NaN. A strided matrix is copied first.
///
/// # Errors
/// Candle's, for another dtype or rank.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let x = Tensor::new(&[[127.0f32, -1.0], [0.0, 0.0]], &Device::Cpu)?;
/// let (bytes, scales) = tilewright_candle::quantize_rows(&x)?;
/// assert_eq!(bytes.to_vec2::<u8>()?, [[127, 255], [0, 0]]);
/// assert_eq!(scales.to_vec1::<f32>()?, [1.0, 0.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn quantize_rows(x: &Tensor) -> Result<(Tensor, Tensor)> {
    x.dims2()?;
    let x = x.contiguous()?;
    let scales = apply_no_bwd(RowScales, [&x])?;
    Ok((apply_no_bwd(Quantize, [&x, &scales])?, scales))
}

struct RowScales;

impl Operation<1> for RowScales {
    const NAME: &'static str = "row-scales";

    fn output(&self, [x]: &[Input<'_>; 1]) -> Result<(DType, Shape)> {
        check::floats(Self::NAME, &[x])?;
        let [rows, _] = check::dims(x)?;
        Ok((DType::F32, Shape::from(rows)))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [x]: [Input<'a>; 1], scales: Output<'a>) -> LaunchResult {
        let [_, columns] = check::dims(&x)?;
        for_float!(x.dtype(), Self::NAME, T => {
            Ok(on.launch(kernels::row_scales::<T>(x.slice::<T>()?, scales.slice::<f32>()?, columns))?)
        })
    }
}
derive_custom_op!(RowScales, x);

struct Quantize;

impl Operation<2> for Quantize {
    const NAME: &'static str = "quantize";

    fn output(&self, [x, _]: &[Input<'_>; 2]) -> Result<(DType, Shape)> {
        check::floats(Self::NAME, &[x])?;
        Ok((DType::U8, x.shape().clone()))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [x, scales]: [Input<'a>; 2], y: Output<'a>) -> LaunchResult {
        let [_, columns] = check::dims(&x)?;
        for_float!(x.dtype(), Self::NAME, T => {
            let (x, scales, y) = (x.slice::<T>()?, scales.slice::<f32>()?, y.slice::<i8>()?);
            Ok(on.launch(kernels::quantize::<T>(x, scales, y, columns))?)
        })
    }
}
derive_custom_op!(Quantize, x, scales);

/// Sums as floats of a dtype.
struct Dequantize {
    dtype: DType,
}

impl Operation<3> for Dequantize {
    const NAME: &'static str = "dequantize";

    fn output(&self, [sums, _, _]: &[Input<'_>; 3]) -> Result<(DType, Shape)> {
        check::float(Self::NAME, self.dtype)?;
        Ok((self.dtype, sums.shape().clone()))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [sums, rows, columns]: [Input<'a>; 3], y: Output<'a>) -> LaunchResult {
        let (sums, rows, columns) = (sums.slice::<i32>()?, rows.slice::<f32>()?, columns.slice::<f32>()?);
        for_float!(self.dtype, Self::NAME, T => {
            Ok(on.launch(kernels::dequantize::<T>(sums, rows, columns, y.slice::<T>()?))?)
        })
    }
}
derive_custom_op!(Dequantize, sums, rows, columns);

struct Int8Matmul;

impl Operation<2> for Int8Matmul {
    const NAME: &'static str = "int8-matmul";

    fn output(&self, [a, b]: &[Input<'_>; 2]) -> Result<(DType, Shape)> {
        for x in [a, b] {
            if x.dtype() != DType::U8 {
                return Err(Error::UnsupportedDTypeForOp(x.dtype(), Self::NAME).bt());
            }
        }
        let ([m, k], [n, of_b]) = (check::dims(a)?, check::dims(b)?);
        if k != of_b {
            let (lhs, rhs) = (a.shape().clone(), b.shape().clone());
            return Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op: Self::NAME }.bt());
        }
        // Sums of products of 2^14 at most.
        if k > 131_071 {
            candle_core::bail!("int8-matmul: sums of {k} products may leave 32 bits: 131071 at most are allowed");
        }
        Ok((DType::I32, Shape::from((m, n))))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [a, b]: [Input<'a>; 2], c: Output<'a>) -> LaunchResult {
        let (a, b, c) = (a.view::<i8, 2>()?, b.view::<i8, 2>()?, c.view::<i32, 2>()?);
        Ok(Matmul::new(a, b, c).transpose(Transpose { a: false, b: true }).launch(on)?)
    }
}
derive_custom_op!(Int8Matmul, a, b);
