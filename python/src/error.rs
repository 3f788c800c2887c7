//! Errors as exceptions.

use pyo3::exceptions::{PyMemoryError, PyRuntimeError, PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyDict, PyTuple, PyType};
use tilewright_core::DType;
use tilewright_runtime::{Error, ErrorKind};

/// The exceptions of this module.
struct Exceptions {
    error: Py<PyType>,
    argument: Py<PyType>,
    dtype: Py<PyType>,
    device: Py<PyType>,
    memory: Py<PyType>,
}

static EXCEPTIONS: PyOnceLock<Exceptions> = PyOnceLock::new();

/// They are named after the module that asks first.
fn exceptions<'py>(py: Python<'py>, module: &str) -> PyResult<&'py Exceptions> {
    EXCEPTIONS.get_or_try_init(py, || {
        let new = |name: &str, doc: &str, bases: &[Bound<'py, PyType>]| -> PyResult<Py<PyType>> {
            let dict = PyDict::new(py);
            dict.set_item("__module__", module)?;
            dict.set_item("__doc__", doc)?;
            let made = py.get_type::<PyType>().call1((name, PyTuple::new(py, bases)?, dict))?;
            Ok(made.cast_into::<PyType>()?.unbind())
        };
        let error = new("Error", "A call failed.", &[py.get_type::<PyRuntimeError>()])?;
        let also = |builtin: Bound<'py, PyType>| [error.bind(py).clone(), builtin];
        Ok(Exceptions {
            argument: new(
                "ArgumentError",
                "Shapes or lengths do not agree, an output overlaps an input, or an argument is out of its range.",
                &also(py.get_type::<PyValueError>()),
            )?,
            dtype: new(
                "DTypeError",
                "There is no kernel for the element type of an array.",
                &also(py.get_type::<PyTypeError>()),
            )?,
            device: new(
                "DeviceError",
                "There is no usable GPU, driver or compiled kernel, or the device is lost.",
                &[error.bind(py).clone()],
            )?,
            memory: new("OutOfMemoryError", "There is not enough memory.", &also(py.get_type::<PyMemoryError>()))?,
            error,
        })
    })
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let name = module.name()?.to_string();
    // `_native` is a part of the package, which shows its names.
    let public = name.strip_suffix("._native").unwrap_or(&name);
    let e = exceptions(module.py(), public)?;
    for (name, exception) in [
        ("Error", &e.error),
        ("ArgumentError", &e.argument),
        ("DTypeError", &e.dtype),
        ("DeviceError", &e.device),
        ("OutOfMemoryError", &e.memory),
    ] {
        module.add(name, exception)?;
    }
    Ok(())
}

/// The exception for an error.
///
/// # Examples
/// ```no_run
/// use pyo3::prelude::*;
/// use tilewright::Runtime;
/// use tilewright_python::raise;
///
/// /// The name of the first GPU. Without one, a `DeviceError`.
/// #[pyfunction]
/// fn gpu(py: Python<'_>) -> PyResult<String> {
///     let rt = Runtime::cuda(0).map_err(|e| raise(py, e))?;
///     Ok(rt.device().name.clone())
/// }
/// # fn main() {}
/// ```
pub fn raise(py: Python<'_>, error: Error) -> PyErr {
    of(
        py,
        error.to_string(),
        match error.kind() {
            ErrorKind::Argument | ErrorKind::Overlap => |e| &e.argument,
            ErrorKind::NoDevice | ErrorKind::DeviceLost => |e| &e.device,
            ErrorKind::OutOfMemory => |e| &e.memory,
            _ => |e| &e.error,
        },
    )
}

/// The exception of a function that has no kernel for an element type. `known` names those that it has kernels for.
///
/// # Examples
/// ```no_run
/// use pyo3::prelude::*;
/// use tilewright::DType;
/// use tilewright_python::{Array, dtype_error};
///
/// fn check(py: Python<'_>, x: &Array) -> PyResult<()> {
///     match x.dtype() {
///         DType::F32 | DType::F16 => Ok(()),
///         other => Err(dtype_error(py, "scale", other, "f32 and f16")),
///     }
/// }
/// # fn main() {}
/// ```
pub fn dtype_error(py: Python<'_>, what: &str, found: DType, known: &str) -> PyErr {
    raise_dtype(py, format!("{what} has no kernel for {}: it takes {known}", found.name()))
}

pub(crate) fn raise_dtype(py: Python<'_>, message: String) -> PyErr {
    of(py, message, |e| &e.dtype)
}

/// The exception of a library that has no memory for a result.
pub(crate) fn out_of_memory(py: Python<'_>, said: &PyErr) -> PyErr {
    of(py, said.value(py).to_string(), |e| &e.memory)
}

/// The exception of an argument that is wrong.
///
/// # Examples
/// ```no_run
/// use pyo3::prelude::*;
/// use tilewright_python::{Array, argument_error};
///
/// fn check(py: Python<'_>, x: &Array, y: &Array) -> PyResult<()> {
///     if x.dims() == y.dims() {
///         return Ok(());
///     }
///     Err(argument_error(py, format!("add: x is {:?}, and y is {:?}", x.dims(), y.dims())))
/// }
/// # fn main() {}
/// ```
pub fn argument_error(py: Python<'_>, message: impl Into<String>) -> PyErr {
    of(py, message.into(), |e| &e.argument)
}

fn of(py: Python<'_>, message: String, exception: fn(&Exceptions) -> &Py<PyType>) -> PyErr {
    match exceptions(py, "tilewright") {
        Ok(e) => PyErr::from_type(exception(e).bind(py).clone(), message),
        Err(failed) => failed,
    }
}
