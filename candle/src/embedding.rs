//! Rows of a table by index.

use crate::check::{self, for_float};
use crate::{Input, LaunchResult, Operation, Output, TensorElement, apply, apply_no_bwd, derive_custom_op, kernels};
use candle_core::{DType, Error, Result, Shape, Tensor};
use tilewright::ops::{self, ExecOptions, Executor};

/// The rows of a table that indices name, as of `candle_nn::Embedding`, with a gradient of the table.
///
/// `table` is `(rows, columns)` of f32, f16 or bf16, and the result has the shape of `ids` and `columns`. Indices are
/// u32, i32, i64 or u8. An index that is no row gives NaN, and a negative one zeros. Of u32, indices from 2^31 on count
/// as negative. Strided tensors are copied first.
///
/// The gradient of a row is the sum of those of its uses, in f32, in an order that may change from call to call.
///
/// # Errors
/// Candle's, for other dtypes and shapes.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
///
/// let table = Tensor::new(&[[1.0f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let ids = Tensor::new(&[1u32, 0, 1], &Device::Cpu)?;
/// let rows = tilewright_candle::embedding(&table, &ids)?;
/// assert_eq!(rows.to_vec2::<f32>()?, [[3.0, 4.0], [1.0, 2.0], [3.0, 4.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn embedding(table: &Tensor, ids: &Tensor) -> Result<Tensor> {
    apply(Embedding, [&table.contiguous()?, &indices(Embedding::NAME, ids)?])
}

/// Indices as kernels take them: contiguous, u32 or i32.
pub(crate) fn indices(op: &'static str, ids: &Tensor) -> Result<Tensor> {
    let ids = ids.contiguous()?;
    match ids.dtype() {
        DType::U32 | DType::I32 => Ok(ids),
        DType::I64 => ids.apply_op1_no_bwd(&Indices),
        // Bytes are converted by candle on every device.
        DType::U8 => ids.to_dtype(DType::U32),
        other => Err(Error::UnsupportedDTypeForOp(other, op).bt()),
    }
}

/// Indices of 64 bits, converted to 32. Indices that do not fit into 32 bits become numbers out of every range.
struct Indices;

impl Operation<1> for Indices {
    const NAME: &'static str = "indices";

    fn output(&self, [ids]: &[Input<'_>; 1]) -> Result<(DType, Shape)> {
        Ok((DType::I32, ids.shape().clone()))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [ids]: [Input<'a>; 1], y: Output<'a>) -> LaunchResult {
        Ok(on.launch(kernels::indices(ids.slice::<i64>()?, y.slice::<i32>()?))?)
    }
}
derive_custom_op!(Indices, ids);

struct Embedding;

impl Operation<2> for Embedding {
    const NAME: &'static str = "embedding";

    fn output(&self, [table, ids]: &[Input<'_>; 2]) -> Result<(DType, Shape)> {
        let [_, columns] = check::dims(table)?;
        Ok((check::floats(Self::NAME, &[table])?, Shape::from([ids.dims(), &[columns]].concat())))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [table, ids]: [Input<'a>; 2], y: Output<'a>) -> LaunchResult {
        let [_, columns] = check::dims(&table)?;
        for_float!(table.dtype(), Self::NAME, T => {
            Ok(ops::embedding(on, table.slice::<T>()?, ids.slice::<i32>()?, y.slice::<T>()?, columns)?)
        })
    }

    fn gradients(&self, [table, ids]: [&Tensor; 2], _: &Tensor, grad: &Tensor) -> Result<[Option<Tensor>; 2]> {
        let (rows, columns) = table.dims2()?;
        let gradient = apply_no_bwd(EmbeddingGradient { rows, columns }, [ids, &grad.contiguous()?])?;
        Ok([Some(gradient.to_dtype(table.dtype())?), None])
    }
}
derive_custom_op!(Embedding, table, ids);

/// Of a table of this size, in f32.
struct EmbeddingGradient {
    rows: usize,
    columns: usize,
}

impl Operation<2> for EmbeddingGradient {
    const NAME: &'static str = "embedding-backward";
    const ACCUMULATES: bool = true;

    fn output(&self, [ids, dy]: &[Input<'_>; 2]) -> Result<(DType, Shape)> {
        check::shape("embedding-backward: the gradient", dy, [ids.dims(), &[self.columns]].concat())?;
        check::floats(Self::NAME, &[dy])?;
        Ok((f32::CANDLE_DTYPE, Shape::from((self.rows, self.columns))))
    }

    fn launch<'a>(&self, on: &ExecOptions<'_>, [ids, dy]: [Input<'a>; 2], table: Output<'a>) -> LaunchResult {
        for_float!(dy.dtype(), Self::NAME, T => {
            let (ids, dy, table) = (ids.slice::<i32>()?, dy.slice::<T>()?, table.slice::<f32>()?);
            Ok(ops::embedding_backward(on, ids, dy, table, self.columns)?)
        })
    }
}
derive_custom_op!(EmbeddingGradient, ids, dy);
