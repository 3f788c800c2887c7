//! DLPack: tensors of other frameworks (PyTorch, JAX, CuPy), borrowed without a copy.
//!
//! The structures are those of `dlpack.h`, version 1, with the names that it gives their fields. Work of the other
//! framework is not waited for: launch on its stream ([`crate::Stream::from_raw`]), or synchronize.

mod structures;

use crate::cuda::Cuda;
use crate::error::{Error, Result};
use crate::external::check_address;
use crate::runtime::Runtime;
use crate::stream::Stream;
use core::ptr::NonNull;
use std::sync::Arc;
use tilewright_core::{DType, DeviceId, Element, SliceArg, SliceMutArg, ViewArg, ViewMutArg};

pub use structures::{DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor};

/// A tensor taken over from another framework. Its deleter runs on drop, once the work of the runtime's streams is
/// done: a drop on a GPU waits.
///
/// # Examples
/// ```
/// use std::ptr::null_mut;
/// use tilewright::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor, DlpackTensor};
/// use tilewright::{Buffer, DType, DeviceId, Runtime, tile_kernel};
///
/// #[tile_kernel(grid = [1])]
/// fn row_sums(x: View<f32, 2>, y: &mut [f32]) {
///     store(y, arange(2), sum(x.tile([0, 0], [2, 4]), 1));
/// }
///
/// // The tensor of another framework: 2 x 3 of f32.
/// let (mut data, mut shape) = ([1.0f32, 2.0, 3.0, 4.0, 5.0, 6.0], [2, 3]);
/// let dl_tensor = DLTensor {
///     data: data.as_mut_ptr().cast(),
///     device: DLDevice { device_type: 1, device_id: 0 },
///     ndim: 2,
///     dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
///     shape: shape.as_mut_ptr(),
///     strides: null_mut(),
///     byte_offset: 0,
/// };
/// let mut managed = DLManagedTensor { dl_tensor, manager_ctx: null_mut(), deleter: None };
///
/// let rt = Runtime::cpu();
/// // SAFETY: the tensor and its memory live as long as `x`, and nobody writes them.
/// let x = unsafe { DlpackTensor::from_managed(&rt, &mut managed) }?;
/// assert_eq!((x.dtype(), x.dims(), x.strides()), (DType::F32, &[2, 3][..], &[3, 1][..]));
/// assert!(x.is_contiguous() && x.device() == DeviceId::Host);
/// let mut y = Buffer::<f32>::zeros(&rt, 2)?;
/// rt.launch(row_sums(x.view::<f32, 2>()?, &mut y))?;
/// assert_eq!(y.to_vec()?, [6.0, 15.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Debug)]
pub struct DlpackTensor {
    addr: u64,
    device: DeviceId,
    dtype: DType,
    dims: Vec<usize>,
    strides: Vec<usize>,
    read_only: bool,
    owner: Held,
}

/// The tensor, and the context whose work may use its memory.
#[derive(Debug)]
struct Held {
    /// Taken by the drop alone.
    owner: Option<Owner>,
    cuda: Option<Handle>,
}

struct Handle(Arc<Cuda>);

impl core::fmt::Debug for Handle {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "{:?}", self.0.device())
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        let owner = self.owner.take();
        let (Some(owner), Some(Handle(cuda))) = (owner, &self.cuda) else { return };
        cuda.drop_borrowed(Box::new(owner));
    }
}

#[derive(Debug)]
enum Owner {
    Managed(NonNull<DLManagedTensor>),
    Versioned(NonNull<DLManagedTensorVersioned>),
}

// SAFETY: DLPack lets a consumer call the deleter from any thread, and the memory is plain data.
unsafe impl Send for Owner {}
// SAFETY: a shared owner does nothing: only its drop follows the pointer.
unsafe impl Sync for Owner {}

impl Drop for Owner {
    fn drop(&mut self) {
        // SAFETY: the constructor took the tensor over; this is its one release.
        unsafe {
            match *self {
                Owner::Managed(t) => t.as_ref().deleter.into_iter().for_each(|f| f(t.as_ptr())),
                Owner::Versioned(t) => t.as_ref().deleter.into_iter().for_each(|f| f(t.as_ptr())),
            }
        }
    }
}

impl DlpackTensor {
    /// Takes a tensor over, for launches on `rt`, whose device it must be on; on an error, too, it is released.
    ///
    /// Errors: [`Error::ExternalMemory`] for null, another device than the runtime's, an element type without a
    /// [`DType`], negative extents or strides, and misaligned data.
    ///
    /// # Safety
    /// `tensor` is null or a valid capsule's content, not yet consumed; during the life of this value nobody else
    /// writes what is read through it, or uses what is written.
    pub unsafe fn from_managed(rt: &Runtime, tensor: *mut DLManagedTensor) -> Result<DlpackTensor> {
        let t = NonNull::new(tensor).ok_or_else(|| foreign("the DLPack tensor is null"))?;
        let owner = Owner::Managed(t);
        // SAFETY: the caller's contract; the tensor lives as long as `owner`.
        unsafe { Self::read(rt, &t.as_ref().dl_tensor, false, owner) }
    }

    /// As [`DlpackTensor::from_managed`], for `dltensor_versioned` capsules.
    ///
    /// # Safety
    /// As [`DlpackTensor::from_managed`].
    ///
    /// # Examples
    /// ```
    /// use std::ptr::null_mut;
    /// use tilewright::Runtime;
    /// use tilewright::dlpack::{DLDataType, DLDevice, DLManagedTensorVersioned, DLTensor, DlpackTensor};
    ///
    /// let (mut data, mut shape) = ([1i32, 2, 3], [3]);
    /// let mut managed = DLManagedTensorVersioned {
    ///     major: 1,
    ///     minor: 0,
    ///     manager_ctx: null_mut(),
    ///     deleter: None,
    ///     flags: 0,
    ///     dl_tensor: DLTensor {
    ///         data: data.as_mut_ptr().cast(),
    ///         device: DLDevice { device_type: 1, device_id: 0 },
    ///         ndim: 1,
    ///         dtype: DLDataType { code: 0, bits: 32, lanes: 1 },
    ///         shape: shape.as_mut_ptr(),
    ///         strides: null_mut(),
    ///         byte_offset: 0,
    ///     },
    /// };
    /// // SAFETY: the tensor and its memory live as long as `x`, and nobody writes them.
    /// let x = unsafe { DlpackTensor::from_versioned(&Runtime::cpu(), &mut managed) }?;
    /// assert_eq!(x.slice::<i32>()?.len(), 3);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn from_versioned(rt: &Runtime, tensor: *mut DLManagedTensorVersioned) -> Result<DlpackTensor> {
        let t = NonNull::new(tensor).ok_or_else(|| foreign("the DLPack tensor is null"))?;
        let owner = Owner::Versioned(t);
        // SAFETY: the caller's contract. The version comes first in every version of the structure.
        let major = unsafe { t.as_ref() }.major;
        if major != 1 {
            return Err(foreign(format!("DLPack version {major} is not understood, version 1 is")));
        }
        // SAFETY: the caller's contract; the tensor lives as long as `owner`.
        unsafe { Self::read(rt, &t.as_ref().dl_tensor, t.as_ref().flags & 1 != 0, owner) }
    }

    /// # Safety
    /// As [`DlpackTensor::from_managed`]: the shape and the strides that are not null have as many numbers as the rank
    /// says.
    unsafe fn read(rt: &Runtime, t: &DLTensor, read_only: bool, owner: Owner) -> Result<DlpackTensor> {
        let ordinal = match t.device.device_type {
            1 | 3 => None,
            2 | 13 => Some(u32::try_from(t.device.device_id).map_err(|_| foreign("its device number is negative"))?),
            other => return Err(foreign(format!("DLPack device type {other} is neither a CPU nor CUDA"))),
        };
        let device = rt.device().id;
        if ordinal != rt.cuda_context().map(|c| c.ordinal) {
            let found = ordinal.map_or("the host".into(), |n| format!("CUDA device {n}"));
            return Err(foreign(format!("it lives on {found}, the runtime on {device:?}")));
        }
        let dtype = t.dtype.dtype().ok_or_else(|| {
            let DLDataType { code, bits, lanes } = t.dtype;
            foreign(format!("DLPack element type (code {code}, {bits} bits, {lanes} lanes) is not supported"))
        })?;
        let rank = usize::try_from(t.ndim).map_err(|_| foreign("its rank is negative"))?;
        let numbers = |p: *const i64| -> &[i64] {
            // SAFETY: called with the shape and the strides, where these are not null.
            if rank == 0 { &[] } else { unsafe { core::slice::from_raw_parts(p, rank) } }
        };
        if rank > 0 && t.shape.is_null() {
            return Err(foreign("it has no shape"));
        }
        let dims = numbers(t.shape).iter().map(|&d| usize::try_from(d).map_err(|_| foreign("an extent is negative")));
        let dims = dims.collect::<Result<Vec<usize>>>()?;
        let strides = if t.strides.is_null() {
            row_major(&dims)?
        } else {
            // The stride of an axis with one element says nothing.
            let stride = |(&s, &d): (&i64, &usize)| match usize::try_from(s) {
                Err(_) if d > 1 => Err(foreign("a stride is negative")),
                s => Ok(s.unwrap_or(0)),
            };
            numbers(t.strides).iter().zip(&dims).map(stride).collect::<Result<_>>()?
        };
        if t.data.is_null() && t.byte_offset != 0 {
            return Err(foreign("its data is null, with an offset"));
        }
        let addr = (t.data as u64)
            .checked_add(t.byte_offset)
            .ok_or_else(|| foreign("its byte offset reaches past the end of the address space"))?;
        let len = span(&dims, &strides)?;
        check_address(addr, len, dtype.size())?;
        if len > 0 {
            rt.check_reachable(addr)?;
            rt.check_reachable(addr + (len * dtype.size()) as u64 - 1)?;
        }
        let cuda = rt.cuda_context().cloned().map(Handle);
        Ok(DlpackTensor { addr, device, dtype, dims, strides, read_only, owner: Held { owner: Some(owner), cuda } })
    }

    /// The same tensor, whose drop on a GPU does not wait.
    ///
    /// # Safety
    /// Its owner gives memory that it frees to later work of one stream alone, as PyTorch's allocator does, and all
    /// launches with this tensor go to that stream. Or its owner is a buffer of the same runtime.
    ///
    /// # Examples
    /// ```
    /// use tilewright::Runtime;
    /// # use tilewright::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor, DlpackTensor};
    /// # let (mut data, mut shape) = ([1.0f32, 2.0, 3.0, 4.0], [2, 2]);
    /// # let dl_tensor = DLTensor {
    /// #     data: data.as_mut_ptr().cast(),
    /// #     device: DLDevice { device_type: 1, device_id: 0 },
    /// #     ndim: 2,
    /// #     dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
    /// #     shape: shape.as_mut_ptr(),
    /// #     strides: std::ptr::null_mut(),
    /// #     byte_offset: 0,
    /// # };
    /// # let mut managed = DLManagedTensor { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter: None };
    /// // `managed` is a 2 x 2 tensor of PyTorch.
    /// // SAFETY: the tensor and its memory live as long as `x`, and nobody writes them.
    /// let x = unsafe { DlpackTensor::from_managed(&Runtime::cpu(), &mut managed) }?;
    /// // SAFETY: all launches go to the current stream of PyTorch.
    /// let x = unsafe { x.in_stream_order() };
    /// assert_eq!(x.dims(), [2, 2]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn in_stream_order(mut self) -> DlpackTensor {
        self.owner.cuda = None;
        self
    }

    /// The same tensor for launches on one stream, on a GPU: its drop does not wait, and a launch on any other stream
    /// is [`Error::StreamOfArgument`].
    ///
    /// # Safety
    /// The owner gives memory that it frees to later work of `stream` alone, as PyTorch's allocator does with the
    /// memory of its current stream. Or it does not free the memory before the work that the stream has by the drop of
    /// this value is done.
    ///
    /// # Examples
    /// ```
    /// use tilewright::Runtime;
    /// # use tilewright::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor, DlpackTensor};
    /// # let (mut data, mut shape) = ([1.0f32, 2.0, 3.0, 4.0], [2, 2]);
    /// # let dl_tensor = DLTensor {
    /// #     data: data.as_mut_ptr().cast(),
    /// #     device: DLDevice { device_type: 1, device_id: 0 },
    /// #     ndim: 2,
    /// #     dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
    /// #     shape: shape.as_mut_ptr(),
    /// #     strides: std::ptr::null_mut(),
    /// #     byte_offset: 0,
    /// # };
    /// # let mut managed = DLManagedTensor { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter: None };
    /// let rt = Runtime::cpu();
    /// // `managed` is a 2 x 2 tensor of PyTorch.
    /// // SAFETY: the tensor and its memory live as long as `x`, and nobody writes them.
    /// let x = unsafe { DlpackTensor::from_managed(&rt, &mut managed) }?;
    /// // SAFETY: the stream is the current one of PyTorch.
    /// let x = unsafe { x.for_stream(rt.stream()) };
    /// assert_eq!(x.dims(), [2, 2]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn for_stream(mut self, stream: &Stream) -> DlpackTensor {
        if let DeviceId::Cuda { device, context } = self.device {
            self.device = DeviceId::CudaStream { device, context, stream: stream.as_raw() as u64 };
        }
        self.owner.cuda = None;
        self
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.dtype
    }

    /// The device whose memory it is, and the stream whose work alone may use it, if there is one.
    pub fn device(&self) -> DeviceId {
        self.device
    }

    /// The extents.
    pub fn dims(&self) -> &[usize] {
        &self.dims
    }

    /// The stride of each axis, in elements.
    pub fn strides(&self) -> &[usize] {
        &self.strides
    }

    /// Whether the elements follow each other in row-major order, as those of an empty tensor do. [`DlpackTensor`] has
    /// an example.
    pub fn is_contiguous(&self) -> bool {
        let mut step = 1usize;
        let mut axes = self.dims.iter().zip(&self.strides).rev();
        self.dims.contains(&0)
            || axes.all(|(&extent, &stride)| {
                // The stride of an axis with one element says nothing.
                let follows = extent == 1 || stride == step;
                step = step.saturating_mul(extent);
                follows
            })
    }

    /// All elements of a row-major tensor. Errors: [`Error::ExternalMemory`] for another element type or a strided
    /// tensor.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Error, Runtime};
    /// # use tilewright::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor, DlpackTensor};
    /// # let (mut data, mut shape) = ([1.0f32, 2.0, 3.0, 4.0], [2, 2]);
    /// # let dl_tensor = DLTensor {
    /// #     data: data.as_mut_ptr().cast(),
    /// #     device: DLDevice { device_type: 1, device_id: 0 },
    /// #     ndim: 2,
    /// #     dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
    /// #     shape: shape.as_mut_ptr(),
    /// #     strides: std::ptr::null_mut(),
    /// #     byte_offset: 0,
    /// # };
    /// # let mut managed = DLManagedTensor { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter: None };
    /// // `managed` is a 2 x 2 tensor of f32.
    /// // SAFETY: the tensor and its memory live as long as `x`, and nobody writes them.
    /// let x = unsafe { DlpackTensor::from_managed(&Runtime::cpu(), &mut managed) }?;
    /// assert_eq!(x.slice::<f32>()?.len(), 4);
    /// assert!(matches!(x.slice::<i32>(), Err(Error::ExternalMemory { .. })));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn slice<T: Element>(&self) -> Result<SliceArg<'_, T>> {
        self.typed::<T>()?;
        // Of a dense tensor it is the product of the extents, which may overflow elsewhere.
        let len = span(&self.dims, &self.strides)?;
        if !self.is_contiguous() {
            return Err(foreign(format!("it is strided ({:?}): make it contiguous, or take a view", self.strides)));
        }
        // SAFETY: the constructor's contract.
        Ok(unsafe { SliceArg::from_raw(self.addr, len, self.device) })
    }

    /// As [`DlpackTensor::slice`], to write. Errors: also where the tensor is read-only.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, tile_kernel};
    /// # use tilewright::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor, DlpackTensor};
    /// # let (mut data, mut shape) = ([1.0f32, 2.0, 3.0, 4.0], [2, 2]);
    /// # let dl_tensor = DLTensor {
    /// #     data: data.as_mut_ptr().cast(),
    /// #     device: DLDevice { device_type: 1, device_id: 0 },
    /// #     ndim: 2,
    /// #     dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
    /// #     shape: shape.as_mut_ptr(),
    /// #     strides: std::ptr::null_mut(),
    /// #     byte_offset: 0,
    /// # };
    /// # let mut managed = DLManagedTensor { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter: None };
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn ones(y: &mut [f32]) {
    ///     store(y, arange(4), 1.0);
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// // `managed` is a 2 x 2 tensor with the memory of `data`.
    /// // SAFETY: the tensor and its memory live as long as `y`, and nothing else uses them.
    /// let mut y = unsafe { DlpackTensor::from_managed(&rt, &mut managed) }?;
    /// rt.launch(ones(y.slice_mut::<f32>()?))?;
    /// drop(y);
    /// assert_eq!(data, [1.0; 4]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn slice_mut<T: Element>(&mut self) -> Result<SliceMutArg<'_, T>> {
        self.writable()?;
        let len = self.slice::<T>()?.len();
        // SAFETY: the constructor's contract, and `self` is borrowed mutably.
        Ok(unsafe { SliceMutArg::from_raw(self.addr, len, self.device) })
    }

    /// The tensor with its strides. [`DlpackTensor`] has an example. Errors: [`Error::ExternalMemory`] for another
    /// element type or rank.
    pub fn view<T: Element, const R: usize>(&self) -> Result<ViewArg<'_, T, R>> {
        let (dims, strides) = self.typed::<T>().and_then(|()| self.shape())?;
        // SAFETY: the constructor's contract.
        let all = unsafe { SliceArg::from_raw(self.addr, span(&self.dims, &self.strides)?, self.device) };
        Ok(all.strided(dims, strides)?)
    }

    /// As [`DlpackTensor::view`], to write. Errors: also where the tensor is read-only, and where two of its elements
    /// may be one, as with a stride of 0.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, tile_kernel};
    /// # use tilewright::dlpack::{DLDataType, DLDevice, DLManagedTensor, DLTensor, DlpackTensor};
    /// # let (mut data, mut shape) = ([1.0f32, 2.0, 3.0, 4.0], [2, 2]);
    /// # let dl_tensor = DLTensor {
    /// #     data: data.as_mut_ptr().cast(),
    /// #     device: DLDevice { device_type: 1, device_id: 0 },
    /// #     ndim: 2,
    /// #     dtype: DLDataType { code: 2, bits: 32, lanes: 1 },
    /// #     shape: shape.as_mut_ptr(),
    /// #     strides: std::ptr::null_mut(),
    /// #     byte_offset: 0,
    /// # };
    /// # let mut managed = DLManagedTensor { dl_tensor, manager_ctx: std::ptr::null_mut(), deleter: None };
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn first_row(mut y: ViewMut<f32, 2>) {
    ///     y.store([0, 0], full([1, 2], 9.0));
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// // `managed` is a 2 x 2 tensor with the memory of `data`.
    /// // SAFETY: the tensor and its memory live as long as `y`, and nothing else uses them.
    /// let mut y = unsafe { DlpackTensor::from_managed(&rt, &mut managed) }?;
    /// rt.launch(first_row(y.view_mut::<f32, 2>()?))?;
    /// drop(y);
    /// assert_eq!(data, [9.0, 9.0, 3.0, 4.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn view_mut<T: Element, const R: usize>(&mut self) -> Result<ViewMutArg<'_, T, R>> {
        self.writable()?;
        if !is_injective(&self.dims, &self.strides) {
            return Err(foreign(format!("its strides {:?} put several elements into one place", self.strides)));
        }
        let (dims, strides) = self.typed::<T>().and_then(|()| self.shape())?;
        // SAFETY: the constructor's contract, and `self` is borrowed mutably.
        let all = unsafe { SliceMutArg::from_raw(self.addr, span(&self.dims, &self.strides)?, self.device) };
        Ok(all.strided(dims, strides)?)
    }

    fn typed<T: Element>(&self) -> Result<()> {
        if self.dtype == T::DTYPE {
            return Ok(());
        }
        Err(foreign(format!("its elements are {}, not {}", self.dtype.name(), T::DTYPE.name())))
    }

    fn shape<const R: usize>(&self) -> Result<([usize; R], [usize; R])> {
        match (self.dims[..].try_into(), self.strides[..].try_into()) {
            (Ok(d), Ok(s)) => Ok((d, s)),
            _ => Err(foreign(format!("its rank is {}, not {R}", self.dims.len()))),
        }
    }

    fn writable(&self) -> Result<()> {
        if self.read_only { Err(foreign("it is read-only")) } else { Ok(()) }
    }
}

fn foreign(why: impl Into<String>) -> Error {
    Error::ExternalMemory { why: why.into() }
}

fn row_major(dims: &[usize]) -> Result<Vec<usize>> {
    let mut strides = vec![1usize; dims.len()];
    for i in (0..dims.len().saturating_sub(1)).rev() {
        strides[i] = strides[i + 1].checked_mul(dims[i + 1]).ok_or_else(|| foreign("its extents overflow"))?;
    }
    Ok(strides)
}

/// Whether each axis steps over all elements of the axes with smaller strides, so that no two elements are one.
fn is_injective(dims: &[usize], strides: &[usize]) -> bool {
    let mut axes: Vec<(usize, usize)> = strides.iter().copied().zip(dims.iter().copied()).filter(|a| a.1 > 1).collect();
    axes.sort_unstable();
    let mut last = 0usize;
    dims.contains(&0)
        || axes.iter().all(|&(stride, extent)| {
            let steps_over = stride > last;
            last = last.saturating_add(stride.saturating_mul(extent - 1));
            steps_over
        })
}

fn span(dims: &[usize], strides: &[usize]) -> Result<usize> {
    if dims.contains(&0) {
        return Ok(0);
    }
    let mut last = 0usize;
    for (d, s) in dims.iter().zip(strides) {
        last =
            (d - 1).checked_mul(*s).and_then(|x| x.checked_add(last)).ok_or_else(|| foreign("its extents overflow"))?;
    }
    last.checked_add(1).ok_or_else(|| foreign("its extents overflow"))
}
