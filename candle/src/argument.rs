//! Tensors as arguments of kernels.

use crate::{LaunchResult, TensorElement};
use candle_core::{DType, Error, Layout, Shape};
use core::marker::PhantomData;
use tilewright::DeviceId;
use tilewright::kernel::{SliceArg, SliceMutArg, ViewArg, ViewMutArg};

/// A tensor that an operation reads: its layout, and its elements on the device of the launch.
///
/// # Examples
/// The sum of two tensors of one shape, the first of which may be strided:
/// ```
/// use candle_core::{DType, Device, Result, Shape, Tensor};
/// use tilewright::ops::{ExecOptions, Executor};
/// use tilewright::tile_kernel;
/// use tilewright_candle::{Input, LaunchResult, Operation, Output, derive_custom_op};
///
/// #[tile_kernel(grid = [cdiv(a.dim(0), 16), cdiv(a.dim(1), 16)])]
/// fn sum(a: View<f32, 2>, b: &[f32], c: ViewMut<f32, 2>) {
///     let (i, j) = (program_id(0) * 16, program_id(1) * 16);
///     let at = (i + arange(16)).expand(1) * a.dim(1) + (j + arange(16)).expand(0);
///     c.store([i, j], a.tile([i, j], [16, 16]) + load(b, at));
/// }
///
/// struct Sum;
///
/// impl Operation<2> for Sum {
///     const NAME: &'static str = "sum";
///
///     fn output(&self, [a, b]: &[Input<'_>; 2]) -> Result<(DType, Shape)> {
///         Ok((a.dtype(), Shape::from(a.same_shape(b)?)))
///     }
///
///     fn launch<'a>(&self, on: &ExecOptions<'_>, [a, b]: [Input<'a>; 2], c: Output<'a>) -> LaunchResult {
///         assert!(a.dims() == c.dims() && a.dtype() == c.dtype());
///         // The elements of `b` with those behind it in its storage: as many as a contiguous tensor has.
///         let b = if b.layout().is_contiguous() { b.slice::<f32>()? } else { b.behind::<f32>(0)? };
///         Ok(on.launch(sum(a.view::<f32, 2>()?, b, c.view::<f32, 2>()?))?)
///     }
/// }
/// derive_custom_op!(Sum, a, b);
///
/// let a = Tensor::new(&[[1.0f32, 2.0], [3.0, 4.0]], &Device::Cpu)?;
/// let c = a.t()?.apply_op2(&a, Sum)?;
/// assert_eq!(c.to_vec2::<f32>()?, [[2.0, 5.0], [5.0, 8.0]]);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    op: &'static str,
    layout: &'a Layout,
    dtype: DType,
    /// The address of the first element of the storage.
    addr: u64,
    /// The elements of the storage.
    len: usize,
    device: DeviceId,
}

impl<'a> Input<'a> {
    /// # Safety
    /// `addr` addresses `len` initialized elements of `dtype` on `device`. They stay valid and unwritten during `'a`,
    /// and on a GPU until the work is done that is enqueued in that time.
    pub(crate) unsafe fn new(
        op: &'static str,
        layout: &'a Layout,
        dtype: DType,
        (addr, len): (u64, usize),
        device: DeviceId,
    ) -> Self {
        Input { op, layout, dtype, addr, len, device }
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// Extents, strides and the offset of the first element.
    pub fn layout(&self) -> &'a Layout {
        self.layout
    }

    /// The shape.
    pub fn shape(&self) -> &'a Shape {
        self.layout.shape()
    }

    /// The extents.
    pub fn dims(&self) -> &'a [usize] {
        self.layout.dims()
    }

    /// The extents of this tensor and of another one of the same shape.
    ///
    /// # Errors
    /// [`Error::ShapeMismatchBinaryOp`] for tensors of two shapes.
    pub fn same_shape(&self, other: &Input<'_>) -> candle_core::Result<&'a [usize]> {
        if self.dims() == other.dims() {
            return Ok(self.dims());
        }
        let (lhs, rhs) = (self.shape().clone(), other.shape().clone());
        Err(Error::ShapeMismatchBinaryOp { lhs, rhs, op: self.op }.bt())
    }

    /// All elements in row-major order.
    ///
    /// # Errors
    /// [`Error::RequiresContiguous`] for a strided or broadcast tensor, [`Error::UnsupportedDTypeForOp`] for another
    /// dtype.
    pub fn slice<T: TensorElement>(&self) -> LaunchResult<SliceArg<'a, T>> {
        self.part(0, self.layout.shape().elem_count())
    }

    /// `len` elements in row-major order, from element `start` of the tensor on. Errors: as [`Input::slice`].
    pub(crate) fn part<T: TensorElement>(&self, start: usize, len: usize) -> LaunchResult<SliceArg<'a, T>> {
        if !self.layout.is_contiguous() {
            return Err(Error::RequiresContiguous { op: self.op }.bt().into());
        }
        debug_assert!(start + len <= self.layout.shape().elem_count(), "a part of the tensor");
        self.elements(self.layout.start_offset() + start, len)
    }

    /// The tensor with its strides, of which those of broadcast dimensions are 0.
    ///
    /// # Errors
    /// [`Error::UnexpectedNumberOfDims`] for another rank, [`Error::UnsupportedDTypeForOp`] for another dtype.
    pub fn view<T: TensorElement, const R: usize>(&self) -> LaunchResult<ViewArg<'a, T, R>> {
        let dims: [usize; R] = self.dims().try_into().map_err(|_| self.rank(R))?;
        let strides: [usize; R] = self.layout.stride().try_into().map_err(|_| self.rank(R))?;
        Ok(self.behind(0)?.strided(dims, strides)?)
    }

    /// The elements of the storage from `offset` elements behind the first one of the tensor on, for views that are
    /// parts of the tensor.
    ///
    /// # Errors
    /// [`Error::UnsupportedDTypeForOp`] for another dtype, an error of tilewright for an offset behind the storage.
    pub fn behind<T: TensorElement>(&self, offset: usize) -> LaunchResult<SliceArg<'a, T>> {
        let start = self.layout.start_offset().saturating_add(offset);
        // An empty tensor may begin at the end of its storage or behind it.
        let start = if self.layout.shape().elem_count() == 0 { start.min(self.len) } else { start };
        self.elements(start, self.len.saturating_sub(start))
    }

    fn rank(&self, expected: usize) -> Error {
        let (got, shape) = (self.dims().len(), self.shape().clone());
        Error::UnexpectedNumberOfDims { expected, got, shape }.bt()
    }

    /// Elements of the storage.
    fn elements<T: TensorElement>(&self, start: usize, len: usize) -> LaunchResult<SliceArg<'a, T>> {
        if !T::reads(self.dtype) {
            return Err(Error::UnsupportedDTypeForOp(self.dtype, self.op).bt().into());
        }
        let end = start.checked_add(len).filter(|end| *end <= self.len);
        if end.is_none() && len > 0 {
            let end = start.saturating_add(len);
            return Err(tilewright::Error::OutOfRange { what: self.op, start, end, len: self.len }.into());
        }
        let addr = self.addr + (start.min(self.len) * size_of::<T>()) as u64;
        // SAFETY: by the contract of `new` the storage has `self.len` elements, among which these are. `T` has the size
        // of the dtype that it reads, and every pattern of its bits is a value.
        Ok(unsafe { SliceArg::from_raw(addr, len, self.device) })
    }
}

/// The result of an operation: new memory of a row-major tensor, to be written.
///
/// # Examples
/// Two results in one tensor, as of operations that candle takes for one:
/// ```
/// use candle_core::{DType, Device, Result, Shape, Tensor};
/// use tilewright::ops::{self, ExecOptions};
/// use tilewright_candle::{Input, LaunchResult, Operation, Output, derive_custom_op};
///
/// /// ReLU and GeLU, one behind the other.
/// struct Both;
///
/// impl Operation<1> for Both {
///     const NAME: &'static str = "both";
///
///     fn output(&self, [x]: &[Input<'_>; 1]) -> Result<(DType, Shape)> {
///         Ok((DType::F32, Shape::from((2, x.shape().elem_count()))))
///     }
///
///     fn launch<'a>(&self, on: &ExecOptions<'_>, [x]: [Input<'a>; 1], y: Output<'a>) -> LaunchResult {
///         let n = y.dims()[1];
///         let [relu, gelu] = y.parts::<f32, 2>([n, n])?; // of a number that is known as it runs: y.split(&[n, n])?
///         ops::relu(on, x.slice::<f32>()?, relu)?;
///         Ok(ops::gelu(on, x.slice::<f32>()?, gelu)?)
///     }
/// }
/// derive_custom_op!(Both, x);
///
/// let x = Tensor::new(&[-9.0f32, 9.0], &Device::Cpu)?;
/// let y = x.apply_op1(Both)?.to_vec2::<f32>()?;
/// assert!(y[0] == [0.0, 9.0] && y[1][1] == 9.0 && y[1][0].abs() < 1e-6);
/// # Ok::<(), candle_core::Error>(())
/// ```
#[derive(Debug)]
pub struct Output<'a> {
    op: &'static str,
    dims: &'a [usize],
    dtype: DType,
    addr: u64,
    len: usize,
    device: DeviceId,
}

impl<'a> Output<'a> {
    /// # Safety
    /// `addr` addresses the elements of a tensor with these extents and this dtype, on `device`. They are valid, and
    /// nothing else uses them, during `'a`, and on a GPU until the work is done that is enqueued in that time.
    pub(crate) unsafe fn new(
        op: &'static str,
        dims: &'a [usize],
        dtype: DType,
        (addr, len): (u64, usize),
        device: DeviceId,
    ) -> Self {
        Output { op, dims, dtype, addr, len, device }
    }

    /// The dtype.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The extents.
    pub fn dims(&self) -> &'a [usize] {
        self.dims
    }

    /// All elements in row-major order.
    ///
    /// # Errors
    /// [`Error::UnsupportedDTypeForOp`] for another dtype.
    pub fn slice<T: TensorElement>(self) -> LaunchResult<SliceMutArg<'a, T>> {
        let len = self.len;
        let [all] = self.parts([len])?;
        Ok(all)
    }

    /// The row-major tensor.
    ///
    /// # Errors
    /// [`Error::UnexpectedNumberOfDims`] for another rank, [`Error::UnsupportedDTypeForOp`] for another dtype.
    pub fn view<T: TensorElement, const R: usize>(self) -> LaunchResult<ViewMutArg<'a, T, R>> {
        let Ok(dims) = <[usize; R]>::try_from(self.dims) else {
            let (got, shape) = (self.dims.len(), Shape::from(self.dims));
            return Err(Error::UnexpectedNumberOfDims { expected: R, got, shape }.bt().into());
        };
        Ok(self.slice()?.view(dims)?)
    }

    /// Parts of these lengths, one behind the other, for operations with several results.
    ///
    /// # Errors
    /// [`Error::UnsupportedDTypeForOp`] for another dtype, an error of tilewright for more elements than there are.
    pub fn parts<T: TensorElement, const P: usize>(self, lengths: [usize; P]) -> LaunchResult<[SliceMutArg<'a, T>; P]> {
        let parts = self.split(&lengths)?;
        Ok(parts.try_into().unwrap_or_else(|_| unreachable!("a part for each length")))
    }

    /// As [`Output::parts`], of any number of parts.
    ///
    /// # Errors
    /// As [`Output::parts`].
    pub fn split<T: TensorElement>(self, lengths: &[usize]) -> LaunchResult<Vec<SliceMutArg<'a, T>>> {
        self.check::<T>(lengths.iter().copied().fold(0, usize::saturating_add))?;
        let mut start = 0;
        let part = |&len: &usize| {
            start += len;
            // SAFETY: `check` has seen that the parts are in the memory, and they do not overlap.
            unsafe { self.part(start - len, len) }
        };
        Ok(lengths.iter().map(part).collect())
    }

    fn check<T: TensorElement>(&self, len: usize) -> LaunchResult {
        if T::CANDLE_DTYPE != self.dtype {
            return Err(Error::UnsupportedDTypeForOp(self.dtype, self.op).bt().into());
        }
        if len > self.len {
            return Err(tilewright::Error::OutOfRange { what: self.op, start: 0, end: len, len: self.len }.into());
        }
        Ok(())
    }

    /// # Safety
    /// The elements are those of the tensor, `T` has their dtype, and no other argument has them.
    unsafe fn part<T: TensorElement>(&self, start: usize, len: usize) -> SliceMutArg<'a, T> {
        // SAFETY: by the contracts of `new` and of this function.
        unsafe { SliceMutArg::from_raw(self.addr + (start * size_of::<T>()) as u64, len, self.device) }
    }
}

/// In [`custom_op!`](crate::custom_op!), a tensor of rank `R` that a kernel takes as `View<T, R>`, with its strides.
/// [`Input::view`] gives it to the kernel. [`Input`] has an example.
pub struct View<T, const R: usize>(PhantomData<T>);

/// In [`custom_op!`](crate::custom_op!), a result of rank `R` that a kernel takes as `ViewMut<T, R>`.
/// [`Output::view`] gives it to the kernel. [`Input`] has an example.
pub struct ViewMut<T, const R: usize>(PhantomData<T>);

/// A type of a parameter that is read, in [`custom_op!`](crate::custom_op!): `&[T]`, or [`View`].
/// [`apply`](crate::apply) has an example.
pub trait InputType<'a> {
    /// The element type.
    type Element: TensorElement;
    /// The argument of the kernel.
    type Argument;

    /// The argument for this tensor. Errors: those of [`Input::slice`] and [`Input::view`].
    fn argument(input: &Input<'a>) -> LaunchResult<Self::Argument>;
}

impl<'a, T: TensorElement> InputType<'a> for &[T] {
    type Element = T;
    type Argument = SliceArg<'a, T>;

    fn argument(input: &Input<'a>) -> LaunchResult<Self::Argument> {
        input.slice()
    }
}

impl<'a, T: TensorElement, const R: usize> InputType<'a> for View<T, R> {
    type Element = T;
    type Argument = ViewArg<'a, T, R>;

    fn argument(input: &Input<'a>) -> LaunchResult<Self::Argument> {
        input.view()
    }
}

/// A type of the parameter that is written, in [`custom_op!`](crate::custom_op!): `&mut [T]`, or [`ViewMut`].
/// [`apply`](crate::apply) has an example.
pub trait OutputType<'a> {
    /// The element type.
    type Element: TensorElement;
    /// The argument of the kernel.
    type Argument;

    /// The argument for this result. Errors: those of [`Output::slice`] and [`Output::view`].
    fn argument(output: Output<'a>) -> LaunchResult<Self::Argument>;
}

impl<'a, T: TensorElement> OutputType<'a> for &mut [T] {
    type Element = T;
    type Argument = SliceMutArg<'a, T>;

    fn argument(output: Output<'a>) -> LaunchResult<Self::Argument> {
        output.slice()
    }
}

impl<'a, T: TensorElement, const R: usize> OutputType<'a> for ViewMut<T, R> {
    type Element = T;
    type Argument = ViewMutArg<'a, T, R>;

    fn argument(output: Output<'a>) -> LaunchResult<Self::Argument> {
        output.view()
    }
}
