//! Cross entropy.

use crate::check::{self, for_float};
use crate::embedding::indices;
use crate::{Input, LaunchResult, Operation, Output, apply, apply_no_bwd, derive_custom_op};
use candle_core::{DType, Error, Result, Shape, Tensor};
use tilewright::ops::{self, ExecOptions};

/// The mean cross entropy of rows of logits and their classes, as of `candle_nn::loss::cross_entropy`. The result is
/// f32, and logits have a gradient.
///
/// It is the mean of [`cross_entropy_rows`] over all rows, those of negative targets included.
///
/// # Errors
/// Candle's, for other dtypes and shapes.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let logits = Tensor::new(&[[0.0f32, 0.0], [100.0, 0.0]], &Device::Cpu)?;
/// let targets = Tensor::new(&[1u32, 0], &Device::Cpu)?;
/// let loss = tilewright_candle::cross_entropy(&logits, &targets)?.to_scalar::<f32>()?;
/// assert!((loss - 0.5 * 2.0f32.ln()).abs() < 1e-6);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn cross_entropy(logits: &Tensor, targets: &Tensor) -> Result<Tensor> {
    cross_entropy_rows(logits, targets)?.mean_all()
}

/// The cross entropy of each row of logits and its class, in f32 and in one launch. Logits have a gradient.
///
/// `logits` is `(rows, classes)` of f32, f16 or bf16, computed in f32. `targets` is `(rows,)` of u32, i32, i64 or u8.
/// A row whose target is negative has a loss of 0, and no gradient. A target that is no class gives NaN; of u32,
/// targets from 2^31 on count as negative. Strided tensors are copied first.
///
/// # Errors
/// Candle's, for other dtypes and shapes.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let logits = Tensor::new(&[[0.0f32, 0.0], [1.0, 3.0]], &Device::Cpu)?;
/// let targets = Tensor::new(&[1i64, -100], &Device::Cpu)?;
/// let losses = tilewright_candle::cross_entropy_rows(&logits, &targets)?.to_vec1::<f32>()?;
/// assert!((losses[0] - 2.0f32.ln()).abs() < 1e-6 && losses[1] == 0.0);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn cross_entropy_rows(logits: &Tensor, targets: &Tensor) -> Result<Tensor> {
    let targets = indices(CrossEntropy::NAME, targets)?;
    apply(CrossEntropy, [&logits.contiguous()?, &targets])?.get(0)
}

/// The losses of rows, and then the logarithms of their sums of exponentials.
struct CrossEntropy;

impl Operation<2> for CrossEntropy {
    const NAME: &'static str = "cross-entropy";

    fn output(&self, [logits, targets]: &[Input<'_>; 2]) -> Result<(DType, Shape)> {
        check::floats(Self::NAME, &[logits])?;
        let [rows, classes] = check::dims(logits)?;
        check::shape("cross-entropy: the shape of the targets", targets, rows)?;
        if classes == 0 && rows > 0 {
            return Err(Error::EmptyTensor { op: Self::NAME }.bt());
        }
        Ok((DType::F32, Shape::from((2, rows))))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [logits, targets]: [Input<'a>; 2], both: Output<'a>) -> LaunchResult {
        let targets = targets.slice::<i32>()?;
        let [losses, lse] = both.parts::<f32, 2>([targets.len(); 2])?;
        for_float!(logits.dtype(), Self::NAME, T => {
            Ok(ops::cross_entropy(on, logits.slice::<T>()?, targets, losses, lse)?)
        })
    }

    fn gradients(
        &self,
        [logits, targets]: [&Tensor; 2],
        result: &Tensor,
        grad: &Tensor,
    ) -> Result<[Option<Tensor>; 2]> {
        // The logarithms, and the gradients of the losses.
        let rows = Tensor::stack(&[result.get(1)?, grad.get(0)?], 0)?;
        Ok([Some(apply_no_bwd(CrossEntropyGradient, [logits, targets, &rows])?), None])
    }
}
derive_custom_op!(CrossEntropy, logits, targets);

struct CrossEntropyGradient;

impl Operation<3> for CrossEntropyGradient {
    const NAME: &'static str = "cross-entropy-backward";

    fn output(&self, [logits, _, rows]: &[Input<'_>; 3]) -> Result<(DType, Shape)> {
        let [n, _] = check::dims(logits)?;
        check::shape("cross-entropy-backward: the gradient", rows, (2, n))?;
        Ok((check::floats(Self::NAME, &[logits])?, logits.shape().clone()))
    }

    fn launch<'a>(
        &self,
        on: &ExecOptions<'_>,
        [logits, targets, rows]: [Input<'a>; 3],
        d_logits: Output<'a>,
    ) -> LaunchResult {
        let targets = targets.slice::<i32>()?;
        let n = targets.len();
        let (lse, d_losses) = (rows.part::<f32>(0, n)?, rows.part::<f32>(n, n)?);
        for_float!(logits.dtype(), Self::NAME, T => {
            let (logits, d_logits) = (logits.slice::<T>()?, d_logits.slice::<T>()?);
            Ok(ops::cross_entropy_backward(on, logits, targets, lse, d_losses, d_logits)?)
        })
    }
}
derive_custom_op!(CrossEntropyGradient, logits, targets, rows);
