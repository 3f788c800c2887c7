//! DLPack's exchange of tensors by C functions: what a library puts on its class as `__dlpack_c_exchange_api__`. It
//! takes a tenth of the time of `__dlpack__`.

use core::ffi::{CStr, c_int, c_void};
use core::ptr::{NonNull, null_mut};
use pyo3::exceptions::PyRuntimeError;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyCapsule, PyType};
use tilewright_runtime::dlpack::{DLDevice, DLManagedTensorVersioned};

/// The functions of a library, as `dlpack.h` 1.3 lays them out.
#[repr(C)]
struct Functions {
    major: u32,
    minor: u32,
    /// Those of an older version; null where there are none.
    older: *const Functions,
    allocate: *const c_void,
    from_object: Option<FromObject>,
    to_object: *const c_void,
    borrow: *const c_void,
    current_stream: Option<CurrentStream>,
}

type FromObject = unsafe extern "C" fn(*mut c_void, *mut *mut DLManagedTensorVersioned) -> c_int;
type CurrentStream = unsafe extern "C" fn(i32, i32, *mut *mut c_void) -> c_int;

/// Those of version 1 that are used.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exchange {
    from_object: FromObject,
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
        Some(Exchange { from_object: f.from_object?, current_stream: f.current_stream? })
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
}

/// The exception that a function has raised.
fn failed(py: Python<'_>, otherwise: &'static str) -> PyErr {
    PyErr::take(py).unwrap_or_else(|| PyRuntimeError::new_err(otherwise))
}
