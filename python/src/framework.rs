//! The libraries whose arrays are known: how each makes one, and which stream it works on.

use crate::element::name_of;
use crate::error::{argument_error, out_of_memory};
use crate::exchange::Exchange;
use pyo3::exceptions::{PyBufferError, PyMemoryError, PyTypeError};
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use std::cell::RefCell;
use tilewright_core::DType;
use tilewright_runtime::dlpack::DLDevice;

/// The library that an array belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Framework {
    NumPy,
    Torch,
    CuPy,
    Jax,
    /// Results are given as a [`Tensor`](crate::Tensor).
    Other,
}

/// The facts about a class of arrays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Kind {
    pub framework: Framework,
    /// Its functions of C.
    pub exchange: Option<Exchange>,
}

thread_local! {
    /// The last few classes.
    static KINDS: RefCell<Vec<(Py<PyType>, Kind)>> = const { RefCell::new(vec![]) };
}

impl Kind {
    /// By the class of the object.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<Kind> {
        const MOST: usize = 8;
        let class = object.get_type();
        let known = |kinds: &Vec<(Py<PyType>, Kind)>| kinds.iter().find(|(c, _)| c.is(&class)).map(|(_, kind)| *kind);
        if let Some(kind) = KINDS.with_borrow(known) {
            return Ok(kind);
        }
        let kind = Kind { framework: Framework::of(&class)?, exchange: Exchange::of(&class)? };
        let oldest = KINDS.with_borrow_mut(|kinds| {
            kinds.push((class.unbind(), kind));
            (kinds.len() > MOST).then(|| kinds.remove(0))
        });
        // Its drop may run code of Python.
        drop(oldest);
        Ok(kind)
    }

    /// Whether the library lets its own work on the current stream use an array that is freed meanwhile: its allocator
    /// gives the memory to later work of the stream.
    pub fn frees_in_stream_order(self) -> bool {
        matches!(self.framework, Framework::Torch | Framework::CuPy)
    }

    /// The current stream on a GPU, and an object that keeps it alive; none where the library has no such thing.
    pub fn current_stream(self, py: Python<'_>, device: DLDevice) -> PyResult<Option<(usize, Option<Py<PyAny>>)>> {
        if let Some(exchange) = self.exchange {
            return Ok(Some((exchange.current_stream(py, device)?, None)));
        }
        let (stream, handle) = match self.framework {
            Framework::Torch => {
                let cuda = py.import(intern!(py, "torch"))?.getattr(intern!(py, "cuda"))?;
                (cuda.call_method1(intern!(py, "current_stream"), (device.device_id,))?, intern!(py, "cuda_stream"))
            }
            Framework::CuPy => {
                let cuda = py.import(intern!(py, "cupy"))?.getattr(intern!(py, "cuda"))?;
                (cuda.call_method1(intern!(py, "get_current_stream"), (device.device_id,))?, intern!(py, "ptr"))
            }
            Framework::NumPy | Framework::Jax | Framework::Other => return Ok(None),
        };
        Ok(Some((stream.getattr(handle)?.extract()?, Some(stream.unbind()))))
    }
}

impl Framework {
    /// By the module of the class, or of one that it derives from.
    fn of(class: &Bound<'_, PyType>) -> PyResult<Framework> {
        for class in class.mro() {
            let module = class.cast::<PyType>()?.module()?;
            if module.to_cow()?.starts_with("numpy.ma") {
                return Err(PyTypeError::new_err("a masked array is no argument of a kernel, which reads no mask"));
            }
            match module.to_cow()?.split('.').next() {
                Some("numpy") => return Ok(Framework::NumPy),
                Some("torch") => return Ok(Framework::Torch),
                Some("cupy") => return Ok(Framework::CuPy),
                Some("jax" | "jaxlib") => return Ok(Framework::Jax),
                _ => {}
            }
        }
        Ok(Framework::Other)
    }

    /// Resolves the state that PyTorch keeps beside the memory of a tensor: a copy resolves a negative sign. The
    /// gradient of a tensor would be lost where gradients are recorded.
    pub fn resolved<'py>(self, object: &Bound<'py, PyAny>, copies: bool) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        if self != Framework::Torch {
            return Ok(object.clone());
        }
        let mut object = object.clone();
        if object.getattr(intern!(py, "requires_grad"))?.is_truthy()? {
            static IS_RECORDING: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
            if IS_RECORDING.import(py, "torch", "is_grad_enabled")?.call0()?.is_truthy()? {
                let why = "the tensor requires a gradient: call tilewright.torch, or pass tensor.detach()";
                return Err(PyBufferError::new_err(why));
            }
            object = object.call_method0(intern!(py, "detach"))?;
        }
        if !object.call_method0(intern!(py, "is_neg"))?.is_truthy()? {
            return Ok(object);
        }
        if !copies {
            return Err(PyBufferError::new_err("the tensor has its negative bit set: it cannot be written"));
        }
        object.call_method0(intern!(py, "resolve_neg"))
    }

    /// The array, or a contiguous copy of it.
    pub fn contiguous<'py>(self, object: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = object.py();
        match self {
            Framework::NumPy => py.import(intern!(py, "numpy"))?.call_method1("ascontiguousarray", (object,)),
            Framework::CuPy => on_device_of(object, |cupy| cupy.call_method1("ascontiguousarray", (object,))),
            Framework::Torch => object.call_method0(intern!(py, "contiguous")),
            Framework::Jax | Framework::Other => Ok(object.clone()),
        }
    }

    /// A new array beside `like`, with unspecified contents; none where the library does not make one that can be
    /// written. It is the library's own: PyTorch's `record_stream` knows no memory that comes by DLPack.
    pub fn empty<'py>(
        self,
        like: &Bound<'py, PyAny>,
        dims: &[usize],
        dtype: DType,
    ) -> PyResult<Option<Bound<'py, PyAny>>> {
        let py = like.py();
        let dims = PyTuple::new(py, dims)?;
        let name = name_of(dtype);
        let made = match self {
            Framework::NumPy => {
                if matches!(dtype, DType::BF16 | DType::F8E4M3 | DType::F8E5M2) {
                    return Err(argument_error(py, format!("NumPy has no element type {name}: pass `out`")));
                }
                static EMPTY: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
                let made = EMPTY.import(py, "numpy", "empty")?.call1((dims, name));
                made.map_err(|e| if e.is_instance_of::<PyMemoryError>(py) { out_of_memory(py, &e) } else { e })?
            }
            Framework::Torch => {
                static TORCH: PyOnceLock<Py<PyModule>> = PyOnceLock::new();
                let torch = TORCH.get_or_try_init(py, || py.import("torch").map(Bound::unbind))?.bind(py);
                let options = PyDict::new(py);
                options.set_item(intern!(py, "dtype"), torch.getattr(name)?)?;
                options.set_item(intern!(py, "device"), like.getattr(intern!(py, "device"))?)?;
                torch.call_method(intern!(py, "empty"), (dims,), Some(&options))?
            }
            Framework::CuPy => on_device_of(like, |cupy| cupy.call_method1(intern!(py, "empty"), (dims, name)))?,
            Framework::Jax | Framework::Other => return Ok(None),
        };
        Ok(Some(made))
    }
}

/// Calls a function of CuPy while the device of an array is current, which that of the caller need not be.
fn on_device_of<'py>(
    object: &Bound<'py, PyAny>,
    call: impl FnOnce(Bound<'py, PyModule>) -> PyResult<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = object.py();
    let device = object.getattr(intern!(py, "device"))?;
    device.call_method0(intern!(py, "__enter__"))?;
    let made = py.import(intern!(py, "cupy")).and_then(call);
    device.call_method1(intern!(py, "__exit__"), (py.None(), py.None(), py.None()))?;
    made
}
