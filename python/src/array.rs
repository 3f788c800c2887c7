//! Arguments and results of functions.

use crate::capsule;
use crate::cuda_array;
use crate::error::{argument_error, raise};
use crate::exchange::Exchange;
use crate::exec_context::{self, ExecContext, stream_of_library};
use crate::framework::{Framework, Kind};
use crate::managed::release;
use crate::tensor::Tensor;
use core::ptr::NonNull;
use pyo3::exceptions::PyTypeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use tilewright_core::{DType, DeviceId, Element, SliceArg, SliceMutArg, ViewArg, ViewMutArg};
use tilewright_runtime::dlpack::{DLDevice, DLManagedTensorVersioned, DlpackTensor};
use tilewright_runtime::{Error, Result, Runtime};

/// An array that a function reads, borrowed from Python for a call.
///
/// # Examples
/// ```no_run
/// use pyo3::prelude::*;
/// use tilewright::{DType, tile_kernel};
/// use tilewright_python::{Array, Output, argument_error, dtype_error};
///
/// #[tile_kernel(grid = [cdiv(y.len(), 1024)])]
/// fn copy(x: &[f32], y: &mut [f32]) {
///     let i = program_id(0) * 1024 + arange(1024);
///     store(y, i, load(x, i));
/// }
///
/// /// The elements of a matrix of f32, as a vector.
/// #[pyfunction]
/// fn flat(py: Python<'_>, x: Array) -> PyResult<Py<PyAny>> {
///     if x.dims().len() != 2 || x.is_empty() {
///         return Err(argument_error(py, format!("flat: x is {:?}, and not a matrix with elements", x.dims())));
///     }
///     if x.dtype() != DType::F32 {
///         return Err(dtype_error(py, "flat", x.dtype(), "f32"));
///     }
///     let x = x.contiguous(py)?; // copies a transposed matrix
///     let mut y = Output::empty(py, &x, &[x.len()], x.dtype())?;
///     x.context().run(py, |on| on.launch(copy(x.slice()?, y.slice_mut()?)))?;
///     y.into_object(py)
/// }
/// # fn main() {}
/// ```
#[derive(Debug)]
pub struct Array {
    object: Py<PyAny>,
    kind: Kind,
    context: ExecContext,
    /// Taken by the drop alone.
    tensor: Option<DlpackTensor>,
    /// The drop waits for work on a GPU.
    waits: bool,
}

/// An array that a function writes: one that the caller has passed, or a new one.
///
/// # Examples
/// ```no_run
/// use pyo3::prelude::*;
/// use tilewright::tile_kernel;
/// use tilewright_python::{Array, Output};
///
/// #[tile_kernel(grid = [cdiv(z.len(), 1024)])]
/// fn add(x: &[f32], y: &[f32], z: &mut [f32]) {
///     let i = program_id(0) * 1024 + arange(1024);
///     store(z, i, load(x, i) + load(y, i));
/// }
///
/// /// `x + y`, in `out` where the caller passes it.
/// #[pyfunction]
/// #[pyo3(signature = (x, y, *, out = None))]
/// fn sum(py: Python<'_>, x: Array, y: Array, out: Option<Output>) -> PyResult<Py<PyAny>> {
///     let context = x.context_with(py, &[&y])?;
///     let mut z = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
///     context.run(py, |on| on.launch(add(x.slice()?, y.slice()?, z.slice_mut()?)))?;
///     z.into_object(py)
/// }
/// # fn main() {}
/// ```
#[derive(Debug)]
pub struct Output {
    array: Array,
    is_new: bool,
}

impl Drop for Array {
    fn drop(&mut self) {
        let tensor = self.tensor.take();
        if self.waits && !self.context.is_host() {
            // Work that is waited for may need Python's lock.
            Python::attach(|py| py.detach(|| drop(tensor)));
        }
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Array {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        Array::borrow(&object, true)
    }
}

impl<'a, 'py> FromPyObject<'a, 'py> for Output {
    type Error = PyErr;

    fn extract(object: Borrowed<'a, 'py, PyAny>) -> PyResult<Self> {
        if Kind::of(&object)?.framework == Framework::Jax {
            return Err(PyTypeError::new_err("an array of JAX is never written: leave `out` away"));
        }
        Array::borrow(&object, false).map(|array| Output { array, is_new: false })
    }
}

impl Array {
    /// With `copies` an array is copied where its memory cannot be read as it is.
    fn borrow(object: &Bound<'_, PyAny>, copies: bool) -> PyResult<Array> {
        let py = object.py();
        let kind = Kind::of(object)?;
        let readable = &kind.framework.resolved(object, copies)?;
        let (context, tensor) = match kind.exchange {
            Some(exchange) => by_exchange(readable, kind, exchange)?,
            None if readable.hasattr(intern!(py, "__dlpack__"))? => match by_capsule(readable, kind) {
                Err(_) if copies && descends(object, kind.framework)? => {
                    return Array::borrow(&kind.framework.contiguous(object)?, false);
                }
                taken => taken?,
            },
            None => return Array::by_interface(readable, kind),
        };
        let in_order = runs_in_order(kind);
        // SAFETY: the library gives memory that is freed to later work of the stream that it was allocated on. That is
        // the context's, its current one, or the caller keeps the array, as SECURITY.md says.
        let tensor = if in_order { unsafe { tensor.for_stream(&context.stream) } } else { tensor };
        Ok(Array { object: object.clone().unbind(), kind, context, tensor: Some(tensor), waits: !in_order })
    }

    fn by_interface(object: &Bound<'_, PyAny>, kind: Kind) -> PyResult<Array> {
        let py = object.py();
        if !object.hasattr(intern!(py, "__cuda_array_interface__"))? {
            return Err(no_array(object)?);
        }
        // The interface says no device: it is that of the current context.
        let DeviceId::Cuda { device, .. } = Runtime::current().map_err(|e| raise(py, e))?.device().id else {
            return Err(argument_error(py, "its memory is on no device that is known"));
        };
        let ordinal = device as i32;
        let context = ExecContext::of(py, DLDevice { device_type: 2, device_id: ordinal }, kind)?;
        let (tensor, writer) = cuda_array::tensor_of(object, context.runtime(), ordinal)?;
        if let Some(writer) = writer {
            cuda_array::order_behind(context.runtime(), context.stream(), writer).map_err(|e| raise(py, e))?;
        }
        Ok(Array { object: object.clone().unbind(), kind, context, tensor: Some(tensor), waits: true })
    }

    fn tensor(&self) -> &DlpackTensor {
        self.tensor.as_ref().expect("the drop alone takes it")
    }

    /// The element type.
    pub fn dtype(&self) -> DType {
        self.tensor().dtype()
    }

    /// The extents.
    pub fn dims(&self) -> &[usize] {
        self.tensor().dims()
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.dims().iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.dims().contains(&0)
    }

    /// The device and the stream of a call with this array.
    pub fn context(&self) -> &ExecContext {
        &self.context
    }

    /// The device and the stream of a call with this array and the others. Errors: an `ArgumentError` of Python where
    /// one of them is on another device or stream. [`Output`] has an example.
    pub fn context_with(&self, py: Python<'_>, others: &[&Array]) -> PyResult<&ExecContext> {
        match others.iter().find(|other| !other.context.is_same(&self.context)) {
            None => Ok(&self.context),
            Some(other) => Err(apart(py, self, other)),
        }
    }

    /// The array itself, or a row-major copy of it in the same library.
    pub fn contiguous(self, py: Python<'_>) -> PyResult<Array> {
        if self.tensor().is_contiguous() {
            return Ok(self);
        }
        Array::borrow(&self.kind.framework.contiguous(self.object.bind(py))?, true)
    }

    /// All elements of a row-major array. Errors: another element type, and other strides, for which
    /// [`contiguous`](Array::contiguous) makes a copy. [`Array`] has an example.
    pub fn slice<T: Element>(&self) -> Result<SliceArg<'_, T>> {
        self.tensor().slice()
    }

    /// The array with its strides. Errors: another element type or rank.
    ///
    /// # Examples
    /// ```no_run
    /// use pyo3::prelude::*;
    /// use tilewright::tile_kernel;
    /// use tilewright_python::{Array, Output};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn row_sums(x: View<f32, 2>, y: &mut [f32]) {
    ///     store(y, arange(2), sum(x.tile([0, 0], [2, 4]), 1));
    /// }
    ///
    /// /// The sums of the rows of a 2 x 4 matrix, whatever its strides are.
    /// #[pyfunction]
    /// fn sums(py: Python<'_>, x: Array) -> PyResult<Py<PyAny>> {
    ///     let mut y = Output::empty(py, &x, &[2], x.dtype())?;
    ///     x.context().run(py, |on| on.launch(row_sums(x.view::<f32, 2>()?, y.slice_mut()?)))?;
    ///     y.into_object(py)
    /// }
    /// # fn main() {}
    /// ```
    pub fn view<T: Element, const R: usize>(&self) -> Result<ViewArg<'_, T, R>> {
        self.tensor().view()
    }
}

/// Whether a call runs on the current stream of a library that frees memory in its order.
fn runs_in_order(kind: Kind) -> bool {
    kind.frees_in_stream_order() && !exec_context::is_set()
}

/// A tensor that nobody has taken yet.
struct Owned(NonNull<DLManagedTensorVersioned>);

impl Owned {
    fn into_raw(self) -> *mut DLManagedTensorVersioned {
        core::mem::ManuallyDrop::new(self).0.as_ptr()
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        // SAFETY: nobody has taken it, and this is its last use.
        unsafe { release(self.0.as_ptr()) };
    }
}

/// By the functions of C, which order nothing.
fn by_exchange(object: &Bound<'_, PyAny>, kind: Kind, exchange: Exchange) -> PyResult<(ExecContext, DlpackTensor)> {
    let py = object.py();
    let owned = Owned(exchange.tensor(object)?);
    // SAFETY: the tensor is alive.
    let (device, element) = unsafe { (owned.0.as_ref().dl_tensor.device, owned.0.as_ref().dl_tensor.dtype) };
    capsule::known(py, element)?;
    let context = ExecContext::of(py, device, kind)?;
    if exec_context::is_set() && !context.is_host() {
        let raw = exchange.current_stream(py, device)?;
        // SAFETY: the current stream of the library, which is alive during the call.
        let current = unsafe { stream_of_library(context.runtime(), raw) };
        current.and_then(|current| context.stream().wait_for(&current)).map_err(|e| raise(py, e))?;
    }
    // SAFETY: a new tensor. As for capsules, nobody else writes it during a call.
    let tensor = unsafe { DlpackTensor::from_versioned(context.runtime(), owned.into_raw()) };
    Ok((context, tensor.map_err(|e| raise(py, e))?))
}

/// By `__dlpack__`.
fn by_capsule(object: &Bound<'_, PyAny>, kind: Kind) -> PyResult<(ExecContext, DlpackTensor)> {
    let py = object.py();
    // Arrays of NumPy are on the host.
    let device = if kind.framework == Framework::NumPy {
        DLDevice { device_type: 1, device_id: 0 }
    } else {
        let method =
            object.getattr_opt(intern!(py, "__dlpack_device__"))?.map_or_else(|| Err(no_array(object)?), Ok)?;
        let (device_type, device_id) = method.call0()?.extract()?;
        DLDevice { device_type, device_id }
    };
    let context = ExecContext::of(py, device, kind)?;
    let stream = match context.dlpack_stream() {
        // Its current stream, which the call takes, has written the array.
        Some(_) if runs_in_order(kind) => Some(-1),
        stream => stream.map(|s| s as isize),
    };
    let tensor = capsule::tensor_of(object, stream, context.runtime())?;
    Ok((context, tensor))
}

/// The exception of an object without memory that can be borrowed.
fn no_array(object: &Bound<'_, PyAny>) -> PyResult<PyErr> {
    if Kind::of(object)?.framework == Framework::Jax {
        return Ok(PyTypeError::new_err(
            "an array of JAX has no memory while it is traced, in jit, grad or vmap: call through jax.pure_callback",
        ));
    }
    Ok(PyTypeError::new_err(format!(
        "`{}` is no array: pass one of NumPy, PyTorch, JAX or CuPy, or another object with `__dlpack__`",
        object.get_type().name()?
    )))
}

/// The same error, of the output.
fn of_out(error: Error) -> Error {
    match error {
        Error::ExternalMemory { why } => Error::InvalidArgument { what: "out", why },
        other => other,
    }
}

/// The exception of arrays that are on different devices or streams.
fn apart(py: Python<'_>, a: &Array, b: &Array) -> PyErr {
    if a.context.runtime().device().id != b.context.runtime().device().id {
        return argument_error(py, "the arrays of a call are on different devices: copy them to one");
    }
    argument_error(py, "the arrays of a call are on different streams: set one for all, as with `stream`")
}

/// Whether an array of NumPy or CuPy has elements in descending order.
fn descends(object: &Bound<'_, PyAny>, framework: Framework) -> PyResult<bool> {
    if !matches!(framework, Framework::NumPy | Framework::CuPy) {
        return Ok(false);
    }
    let strides: Vec<isize> = object.getattr(intern!(object.py(), "strides"))?.extract()?;
    Ok(strides.iter().any(|s| *s < 0))
}

impl Output {
    /// The caller's `out`, which has to have these extents and this element type, or a new array of the library that
    /// `like` belongs to, on its device.
    pub fn or_empty(
        py: Python<'_>,
        out: Option<Output>,
        like: &Array,
        dims: &[usize],
        dtype: DType,
    ) -> PyResult<Output> {
        let Some(out) = out else { return Output::empty(py, like, dims, dtype) };
        if !out.array.context.is_same(&like.context) {
            return Err(apart(py, &out.array, like));
        }
        let (found, of) = (out.array.dims(), out.array.dtype());
        if found != dims || of != dtype {
            let why = format!("`out` is {found:?} of {}, and the result is {dims:?} of {}", of.name(), dtype.name());
            return Err(argument_error(py, why));
        }
        Ok(out)
    }

    /// Extents.
    pub fn dims(&self) -> &[usize] {
        self.array.dims()
    }

    /// A new array.
    pub fn empty(py: Python<'_>, like: &Array, dims: &[usize], dtype: DType) -> PyResult<Output> {
        if let Some(object) = like.kind.framework.empty(like.object.bind(py), dims, dtype)? {
            return Array::borrow(&object, false).map(|array| Output { array, is_new: true });
        }
        let tensor = Tensor::empty(&like.context, dims, dtype).map_err(|e| raise(py, e))?;
        let borrowed = tensor.borrowed().map_err(|e| raise(py, e))?;
        let object = Py::new(py, tensor)?.into_any();
        let (kind, context, tensor) = (like.kind, like.context.clone(), Some(borrowed));
        Ok(Output { array: Array { object, kind, context, tensor, waits: false }, is_new: true })
    }

    /// All elements of a row-major array, to write. Errors: another element type, other strides, a read-only array.
    pub fn slice_mut<T: Element>(&mut self) -> Result<SliceMutArg<'_, T>> {
        if !self.array.tensor().is_contiguous() {
            let strides = self.array.tensor().strides();
            let why = format!("it has the strides {strides:?}: pass a contiguous array, and copy from that");
            return Err(Error::InvalidArgument { what: "out", why });
        }
        self.tensor().slice_mut().map_err(of_out)
    }

    /// The array with its strides, to write. Errors: another element type or rank, a read-only array, and strides that
    /// put several elements into one place.
    ///
    /// # Examples
    /// ```no_run
    /// use pyo3::prelude::*;
    /// use tilewright::tile_kernel;
    /// use tilewright_python::{Array, Output};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn first_row(x: &[f32], mut y: ViewMut<f32, 2>) {
    ///     y.store([0, 0], reshape(load(x, arange(4)), [1, 4]));
    /// }
    ///
    /// /// Writes `x` to the first row of a matrix with four columns, whatever its strides are.
    /// #[pyfunction]
    /// fn set_first_row(py: Python<'_>, x: Array, mut y: Output) -> PyResult<Py<PyAny>> {
    ///     x.context().run(py, |on| on.launch(first_row(x.slice()?, y.view_mut::<f32, 2>()?)))?;
    ///     y.into_object(py)
    /// }
    /// # fn main() {}
    /// ```
    pub fn view_mut<T: Element, const R: usize>(&mut self) -> Result<ViewMutArg<'_, T, R>> {
        self.tensor().view_mut().map_err(of_out)
    }

    fn tensor(&mut self) -> &mut DlpackTensor {
        self.array.tensor.as_mut().expect("the drop alone takes it")
    }

    /// The result, as an array of the library that it was made for.
    pub fn into_object(self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let Array { object, kind, context, .. } = &self.array;
        if let Ok(tensor) = object.bind(py).cast::<Tensor>()
            && self.is_new
        {
            tensor.get().is_written(context).map_err(|e| raise(py, e))?;
            if kind.framework == Framework::Jax {
                let dlpack = py.import(intern!(py, "jax.dlpack"))?;
                return Ok(dlpack.call_method1(intern!(py, "from_dlpack"), (tensor,))?.unbind());
            }
        }
        if kind.framework == Framework::Torch && !self.is_new {
            // PyTorch reports a value that a gradient needs and this call has overwritten.
            static INCREMENT: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            INCREMENT.import(py, "torch.autograd.graph", "increment_version")?.call1((object,))?;
        }
        Ok(object.clone_ref(py))
    }
}
