//! Operations as one describes them to this crate, and how tensors go through them.

use crate::{Input, LaunchResult, Output};
use candle_core::{CustomOp1, CustomOp2, CustomOp3, DType, Error, Result, Shape, Tensor};
use tilewright::ops::ExecOptions;

/// An operation of `N` tensors with one result, on the CPU and on the GPU.
///
/// [`custom_op!`](crate::custom_op!) writes it for one kernel. An operation of several launches is written by hand, and
/// [`derive_custom_op!`](crate::derive_custom_op!) makes a `CustomOp1`, `CustomOp2` or `CustomOp3` of it.
///
/// # Examples
/// ```
/// use candle_core::{DType, Device, Result, Shape, Tensor};
/// use tilewright::ops::{self, ExecOptions};
/// use tilewright_candle::{Input, LaunchResult, Operation, Output, derive_custom_op};
///
/// /// ReLU of f32.
/// struct Relu;
///
/// impl Operation<1> for Relu {
///     const NAME: &'static str = "relu";
///
///     fn output(&self, [x]: &[Input<'_>; 1]) -> Result<(DType, Shape)> {
///         Ok((DType::F32, x.shape().clone()))
///     }
///
///     fn launch<'a>(&self, on: &ExecOptions<'_>, [x]: [Input<'a>; 1], y: Output<'a>) -> LaunchResult {
///         Ok(ops::relu(on, x.slice::<f32>()?, y.slice::<f32>()?)?)
///     }
/// }
/// derive_custom_op!(Relu, x);
///
/// let x = Tensor::new(&[-1.0f32, 2.0], &Device::Cpu)?;
/// assert_eq!(x.apply_op1(Relu)?.to_vec1::<f32>()?, [0.0, 2.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub trait Operation<const N: usize> {
    /// The name in messages of errors.
    const NAME: &'static str;

    /// Whether the result is full of zeros before the launch, which adds to it. Else its contents are unspecified.
    const ACCUMULATES: bool = false;

    /// Checks the inputs, and says the dtype and the shape of the result. Nothing is allocated before.
    fn output(&self, inputs: &[Input<'_>; N]) -> Result<(DType, Shape)>;

    /// Enqueues the work. It is not called for a result without elements.
    ///
    /// `on` has the CPU, or candle's GPU and stream. After an error the result is dropped.
    fn launch<'a>(&self, on: &ExecOptions<'_>, inputs: [Input<'a>; N], output: Output<'a>) -> LaunchResult;

    /// The gradients of the inputs, by the result and its gradient. `None` stands for no gradient.
    fn gradients(&self, _inputs: [&Tensor; N], _result: &Tensor, _grad: &Tensor) -> Result<[Option<Tensor>; N]> {
        Err(Error::BackwardNotSupported { op: Self::NAME }.bt())
    }
}

/// Tensors that an operation takes: arrays of one to three references. [`apply`] has an example.
pub trait Tensors<O> {
    /// The result of the operation, which the gradients of the tensors know.
    fn apply(self, op: O) -> Result<Tensor>;

    /// The result of the operation, without gradients.
    fn apply_no_bwd(self, op: O) -> Result<Tensor>;
}

impl<O: CustomOp1 + Send + Sync + 'static> Tensors<O> for [&Tensor; 1] {
    fn apply(self, op: O) -> Result<Tensor> {
        self[0].apply_op1(op)
    }

    fn apply_no_bwd(self, op: O) -> Result<Tensor> {
        self[0].apply_op1_no_bwd(&op)
    }
}

impl<O: CustomOp2 + Send + Sync + 'static> Tensors<O> for [&Tensor; 2] {
    fn apply(self, op: O) -> Result<Tensor> {
        self[0].apply_op2(self[1], op)
    }

    fn apply_no_bwd(self, op: O) -> Result<Tensor> {
        self[0].apply_op2_no_bwd(self[1], &op)
    }
}

impl<O: CustomOp3 + Send + Sync + 'static> Tensors<O> for [&Tensor; 3] {
    fn apply(self, op: O) -> Result<Tensor> {
        self[0].apply_op3(self[1], self[2], op)
    }

    fn apply_no_bwd(self, op: O) -> Result<Tensor> {
        self[0].apply_op3_no_bwd(self[1], self[2], &op)
    }
}

/// The result of an operation for one to three tensors, as of candle's `apply_op1`, `apply_op2` and `apply_op3`.
///
/// # Errors
/// The errors of the operation.
///
/// # Examples
/// ```
/// use candle_core::{Device, Tensor};
/// use tilewright::tile_kernel;
/// use tilewright_candle::{apply, custom_op};
///
/// #[tile_kernel(grid = [cdiv(y.len(), 1024)])]
/// fn square(x: &[f32], y: &mut [f32]) {
///     let i = program_id(0) * 1024 + arange(1024);
///     store(y, i, load(x, i) * load(x, i));
/// }
/// custom_op! {
///     struct Square;
///     types T in [f32];
///     fn(self, x: &[T]) -> y: &mut [T] = x.dims();
///     launch square(x, y);
/// }
///
/// let x = Tensor::new(&[2.0f32, 3.0], &Device::Cpu)?;
/// assert_eq!(apply(Square, [&x])?.to_vec1::<f32>()?, [4.0, 9.0]);
/// # Ok::<(), candle_core::Error>(())
/// ```
pub fn apply<O, X: Tensors<O>>(op: O, tensors: X) -> Result<Tensor> {
    tensors.apply(op)
}

/// As [`apply`], without gradients. [`apply`] has an example.
///
/// # Errors
/// The errors of the operation.
pub fn apply_no_bwd<O, X: Tensors<O>>(op: O, tensors: X) -> Result<Tensor> {
    tensors.apply_no_bwd(op)
}
