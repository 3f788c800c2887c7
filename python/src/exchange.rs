//! DLPack's exchange of tensors by C functions: what a library puts on its class as `__dlpack_c_exchange_api__`. It
//! takes a tenth of the time of `__dlpack__`.

use core::ffi::{CStr, c_char, c_int, c_void};
use core::ptr::{NonNull, null_mut};
use pyo3::exceptions::{PyException, PyRuntimeError};
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use pyo3::{ffi, intern};
use tilewright_core::DType;
use tilewright_runtime::dlpack::{DLDataType, DLDevice, DLManagedTensorVersioned, DLTensor};

/// The functions of a library, as `dlpack.h` 1.3 lays them out.
#[repr(C)]
struct Functions {
    major: u32,
    minor: u32,
    /// Those of an older version; null where there are none.
    older: *const Functions,
    allocate: Option<Allocate>,
    from_object: Option<FromObject>,
    to_object: Option<ToObject>,
    borrow: Option<unsafe extern "C" fn(*mut c_void, *mut DLTensor) -> c_int>,
    current_stream: Option<CurrentStream>,
}

type SetError = unsafe extern "C" fn(*mut c_void, *const c_char, *const c_char);
type Allocate = unsafe extern "C" fn(*mut DLTensor, *mut *mut DLManagedTensorVersioned, *mut c_void, SetError) -> c_int;
type FromObject = unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int;
type ToObject = unsafe extern "C" fn(*mut DLManagedTensorVersioned, *mut *mut c_void) -> c_int;
type CurrentStream = unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int;

/// Those of version 1 that are used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    allocate: Allocate,
    from_object: FromObject,
    to_object: ToObject,
    current_stream: CurrentStream,
}

impl Exchange {
    /// None where the class has no such functions, or none of version 1.
    pub fn of(class: &Bound<'_, PyType>) -> PyResult<Option<Exchange>> {
        const NAME: &CStr = c"dlpack_exchange_api";
        let Some(capsule) = class.getattr_opt(intern!(class.py(), "__dlpack_c_exchange_api__"))? else {
            return Ok(None);
        };
        let Ok(capsule) = capsule.cast_into::<PyCapsule>() else { return Ok(None) };
        if !capsule.is_valid_checked(Some(NAME)) {
            return Ok(None);
        }
        let mut functions: *const Functions = capsule.pointer_checked(Some(NAME))?.as_ptr().cast();
        // SAFETY: DLPack's protocol: the structure, and those of older versions, are alive as long as the process. The
        // version and the pointer to an older one come first in every version.
        unsafe {
            while !functions.is_null() && (*functions).major != 1 {
                functions = (*functions).older;
            }
            Ok(functions.as_ref().and_then(Exchange::from_functions))
        }
    }

    /// None where one is missing.
    fn from_functions(f: &Functions) -> Option<Exchange> {
        let (allocate, from_object) = (f.allocate?, f.from_object?);
        Some(Exchange { allocate, from_object, to_object: f.to_object?, current_stream: f.current_stream? })
    }

    /// The tensor of an array of the class. Nothing is ordered.
    pub fn tensor(self, object: &Bound<'_, PyAny>) -> PyResult<NonNull<DLManagedTensorVersioned>> {
        let mut tensor = null_mut();
        // SAFETY: an object of the class that has the functions, and room for the result.
        let code = unsafe { (self.from_object)(object.as_ptr().cast(), &mut tensor) };
        let made = NonNull::new(tensor).filter(|_| code == 0);
        made.ok_or_else(|| failed(object.py(), "a tensor cannot be exchanged"))
    }

    /// The stream that the library works on.
    pub fn current_stream(self, py: Python<'_>, device: DLDevice) -> PyResult<usize> {
        let mut stream = null_mut();
        // SAFETY: room for the result.
        match unsafe { (self.current_stream)(device.device_type, device.device_id, &mut stream) } {
            0 => Ok(stream as usize),
            _ => Err(failed(py, "the library has no current stream")),
        }
    }

    /// A new array of the library, with unspecified contents.
    pub fn empty<'py>(
        self,
        py: Python<'py>,
        device: DLDevice,
        dims: &[usize],
        dtype: DType,
    ) -> PyResult<Bound<'py, PyAny>> {
        unsafe extern "C" fn set_error(said: *mut c_void, kind: *const c_char, message: *const c_char) {
            // SAFETY: the strings of `empty` below, and strings of C or null.
            unsafe {
                let text = |s: *const c_char| if s.is_null() { "".into() } else { CStr::from_ptr(s).to_string_lossy() };
                *said.cast::<[String; 2]>() = [kind, message].map(|s| text(s).into_owned());
            }
        }
        let mut shape: Vec<i64> = dims.iter().map(|&d| d as i64).collect();
        let mut like = DLTensor {
            data: null_mut(),
            device,
            ndim: dims.len() as i32,
            dtype: DLDataType::of(dtype),
            shape: shape.as_mut_ptr(),
            strides: null_mut(),
            byte_offset: 0,
        };
        let (mut tensor, mut said) = (null_mut(), [String::new(), String::new()]);
        // SAFETY: a tensor whose extents, type and device are set, room for the result, and strings for an error.
        let code = unsafe { (self.allocate)(&mut like, &mut tensor, (&raw mut said).cast(), set_error) };
        if code != 0 || tensor.is_null() {
            return Err(PyErr::take(py).unwrap_or_else(|| exception(py, said)));
        }
        let mut object = null_mut();
        // SAFETY: the tensor is new, and goes to the object.
        match unsafe { (self.to_object)(tensor, &mut object) } {
            // SAFETY: a new reference.
            0 => Ok(unsafe { Bound::from_owned_ptr(py, object.cast::<ffi::PyObject>()) }),
            _ => Err(failed(py, "the library makes no array of its tensor")),
        }
    }
}

/// The exception of a kind, the name of a class of Python.
fn exception(py: Python<'_>, [kind, message]: [String; 2]) -> PyErr {
    let class = py.import("builtins").and_then(|b| b.getattr(kind.as_str()));
    match class
        .ok()
        .and_then(|c| c.cast_into::<PyType>().ok())
        .filter(|c| matches!(c.is_subclass_of::<PyException>(), Ok(true)))
    {
        Some(class) => PyErr::from_type(class, message),
        None => PyRuntimeError::new_err(message),
    }
}

/// The exception that a function has raised.
fn failed(py: Python<'_>, otherwise: &'static str) -> PyErr {
    PyErr::take(py).unwrap_or_else(|| PyRuntimeError::new_err(otherwise))
}
