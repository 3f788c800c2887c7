//! Arrays that the library makes: results for libraries whose arrays cannot be written.

use crate::capsule;
use crate::element::name_of;
use crate::error::raise;
use crate::exec_context::{ExecContext, dlpack_device, stream_of_library};
use crate::managed::{Managed, VERSION, owning};
use core::ffi::c_void;
use core::ptr::{NonNull, null_mut};
use pyo3::exceptions::PyBufferError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple};
use std::sync::{Arc, OnceLock};
use tilewright_core::DType;
use tilewright_runtime::dlpack::{
    DLDataType, DLDevice, DLManagedTensor, DLManagedTensorVersioned, DLTensor, DlpackTensor,
};
use tilewright_runtime::{Buffer, Event, Runtime};

/// An array of this library: the result for an array of an unknown one. ``numpy.from_dlpack(tensor)`` and the like
/// take it without a copy.
#[pyclass(frozen, module = "tilewright")]
pub struct Tensor {
    memory: Arc<Memory>,
    dims: Vec<usize>,
    dtype: DType,
}

struct Memory {
    bytes: Buffer<u8>,
    rt: Runtime,
    /// The work that has written it. The stream itself may be destroyed meanwhile.
    written: OnceLock<Event>,
}

impl Tensor {
    /// Unspecified contents.
    pub(crate) fn empty(context: &ExecContext, dims: &[usize], dtype: DType) -> tilewright_runtime::Result<Tensor> {
        let bytes = dims.iter().try_fold(dtype.size(), |n, d| n.checked_mul(*d));
        // More than any allocation.
        let bytes = Buffer::alloc(context.runtime(), bytes.unwrap_or(usize::MAX))?;
        Ok(Tensor {
            memory: Arc::new(Memory { bytes, rt: context.runtime().clone(), written: OnceLock::new() }),
            dims: dims.to_vec(),
            dtype,
        })
    }

    /// Says that the work on a stream so far has written it.
    pub(crate) fn is_written(&self, context: &ExecContext) -> tilewright_runtime::Result<()> {
        if !context.is_host() {
            let event = Event::new(context.runtime())?;
            event.record(context.stream())?;
            let _ = self.memory.written.set(event);
        }
        Ok(())
    }

    /// The same memory as an argument.
    pub(crate) fn borrowed(&self) -> tilewright_runtime::Result<DlpackTensor> {
        let tensor = self.export::<DLManagedTensorVersioned>();
        // SAFETY: a new structure, which owns a keeper of the memory. A tensor has one function that writes it, and is
        // not shown before that one is done.
        let tensor = unsafe { DlpackTensor::from_versioned(&self.memory.rt, tensor.as_ptr()) }?;
        // SAFETY: its owner is a buffer of the runtime, which is freed behind the work of all streams.
        Ok(unsafe { tensor.in_stream_order() })
    }

    fn device(&self) -> DLDevice {
        dlpack_device(&self.memory.rt)
    }

    fn export<M: Managed>(&self) -> NonNull<M> {
        let mut keeper =
            Box::new(Keeper { shape: self.dims.iter().map(|&d| d as i64).collect(), _memory: self.memory.clone() });
        let tensor = DLTensor {
            data: self.memory.bytes.addr() as *mut c_void,
            device: self.device(),
            ndim: self.dims.len() as i32,
            dtype: DLDataType::of(self.dtype),
            shape: keeper.shape.as_mut_ptr(),
            strides: null_mut(),
            byte_offset: 0,
        };
        owning(tensor, false, keeper)
    }

    /// The consumer's stream waits for the work that writes the tensor; by DLPack's numbers, in which -1 asks for no
    /// order and none is the default stream.
    fn order_before(&self, stream: Option<isize>) -> tilewright_runtime::Result<()> {
        let (Some(written), false) = (self.memory.written.get(), stream == Some(-1)) else { return Ok(()) };
        // SAFETY: DLPack's protocol: a stream of the consumer, which is alive during the call.
        unsafe { stream_of_library(&self.memory.rt, stream.unwrap_or(0) as usize) }?.wait(written)
    }
}

/// The memory and the shape that an exported tensor owns.
struct Keeper {
    shape: Box<[i64]>,
    _memory: Arc<Memory>,
}

#[pymethods]
impl Tensor {
    /// The extents.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.dims)
    }

    /// The element type by NumPy's name.
    #[getter]
    fn dtype(&self) -> &'static str {
        name_of(self.dtype)
    }

    fn __repr__(&self) -> String {
        format!("tilewright.Tensor(shape={:?}, dtype={})", self.dims, name_of(self.dtype))
    }

    fn __dlpack_device__(&self) -> (i32, i32) {
        let device = self.device();
        (device.device_type, device.device_id)
    }

    #[pyo3(signature = (*, stream = None, max_version = None, dl_device = None, copy = None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<isize>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if copy == Some(true) {
            return Err(PyBufferError::new_err("a tilewright.Tensor is not copied: the consumer can copy it"));
        }
        if dl_device.is_some_and(|device| device != self.__dlpack_device__()) {
            return Err(PyBufferError::new_err("a tilewright.Tensor stays on its device"));
        }
        self.order_before(stream).map_err(|e| raise(py, e))?;
        if max_version.is_some_and(|(major, _)| major >= VERSION.0) {
            // SAFETY: a new structure, which nobody else has.
            return unsafe { capsule::of_tensor(py, self.export::<DLManagedTensorVersioned>()) };
        }
        // SAFETY: as above.
        unsafe { capsule::of_tensor(py, self.export::<DLManagedTensor>()) }
    }

    /// NumPy's protocol, for tensors of the host.
    #[pyo3(signature = (dtype = None, copy = None))]
    fn __array__<'py>(
        slf: &Bound<'py, Self>,
        dtype: Option<Bound<'py, PyAny>>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = slf.py();
        let numpy = py.import(intern!(py, "numpy"))?;
        let array = numpy.call_method1(intern!(py, "from_dlpack"), (slf,))?;
        let options = PyDict::new(py);
        options.set_item("dtype", dtype)?;
        options.set_item("copy", copy)?;
        numpy.call_method("array", (array,), Some(&options))
    }
}
