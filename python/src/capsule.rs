//! Capsules of DLPack: what `__dlpack__` returns.

use crate::error::{argument_error, raise, raise_dtype};
use core::ffi::{CStr, c_void};
use core::ptr::NonNull;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3::{ffi, intern, types::PyDict};
use tilewright_runtime::Runtime;
use tilewright_runtime::dlpack::{DLDataType, DLManagedTensor, DLManagedTensorVersioned, DlpackTensor};

const NAME: &CStr = c"dltensor";
const USED: &CStr = c"used_dltensor";
const VERSIONED: &CStr = c"dltensor_versioned";
const USED_VERSIONED: &CStr = c"used_dltensor_versioned";

/// The newest version of DLPack that is understood.
pub(crate) const VERSION: (u32, u32) = (1, 1);

/// Asks an array for its tensor. `stream` is where the consumer works, in DLPack's numbers.
pub(crate) fn tensor_of(object: &Bound<'_, PyAny>, stream: Option<isize>, rt: &Runtime) -> PyResult<DlpackTensor> {
    let py = object.py();
    let method = object.getattr(intern!(py, "__dlpack__"))?;
    let options = PyDict::new(py);
    if let Some(stream) = stream {
        options.set_item(intern!(py, "stream"), stream)?;
    }
    options.set_item(intern!(py, "max_version"), VERSION)?;
    let capsule = match method.call((), Some(&options)) {
        // Written before DLPack had versions.
        Err(e) if e.is_instance_of::<pyo3::exceptions::PyTypeError>(py) => {
            options.del_item(intern!(py, "max_version"))?;
            method.call((), Some(&options))?
        }
        capsule => capsule?,
    };
    let capsule = capsule.cast::<PyCapsule>().map_err(|_| argument_error(py, "its `__dlpack__` returns no capsule"))?;
    known(py, element_of(capsule)?)?;
    let taken = if let Some(tensor) = take::<DLManagedTensorVersioned>(capsule, VERSIONED, USED_VERSIONED)? {
        // SAFETY: the content of a capsule that nobody has consumed, and that is marked as consumed now. While a call
        // runs, Python code may write the array from another thread, as it may while NumPy computes: the module's
        // documentation forbids it.
        unsafe { DlpackTensor::from_versioned(rt, tensor.as_ptr()) }
    } else if let Some(tensor) = take::<DLManagedTensor>(capsule, NAME, USED)? {
        // SAFETY: as above.
        unsafe { DlpackTensor::from_managed(rt, tensor.as_ptr()) }
    } else {
        return Err(strange(py));
    };
    taken.map_err(|e| raise(py, e))
}

fn strange(py: Python<'_>) -> PyErr {
    argument_error(py, "its `__dlpack__` returns a capsule of another kind, or one that was consumed")
}

/// The element type of the tensor in a capsule.
fn element_of(capsule: &Bound<'_, PyCapsule>) -> PyResult<DLDataType> {
    // SAFETY: contents of capsules with these names, which nobody has consumed.
    unsafe {
        if capsule.is_valid_checked(Some(VERSIONED)) {
            let tensor = capsule.pointer_checked(Some(VERSIONED))?.cast::<DLManagedTensorVersioned>();
            // Of another version what follows may lie elsewhere: the runtime refuses it.
            let known = DLDataType { code: 2, bits: 32, lanes: 1 };
            return Ok(if tensor.as_ref().major == VERSION.0 { tensor.as_ref().dl_tensor.dtype } else { known });
        }
        if capsule.is_valid_checked(Some(NAME)) {
            return Ok(capsule.pointer_checked(Some(NAME))?.cast::<DLManagedTensor>().as_ref().dl_tensor.dtype);
        }
    }
    Err(strange(capsule.py()))
}

/// The exception of an element type that no kernel has.
pub(crate) fn known(py: Python<'_>, element: DLDataType) -> PyResult<()> {
    let DLDataType { code, bits, lanes } = element;
    match (element.dtype(), code) {
        (Some(_), _) => Ok(()),
        (None, 5) => Err(raise_dtype(py, format!("no kernel takes complex numbers, here of {bits} bits"))),
        _ => Err(raise_dtype(
            py,
            format!("no kernel takes elements of {bits} bits and {lanes} lanes of DLPack's code {code}"),
        )),
    }
}

/// The content of a capsule of this name, which is renamed: its destructor leaves the content alone from now on.
fn take<M>(capsule: &Bound<'_, PyCapsule>, name: &'static CStr, used: &'static CStr) -> PyResult<Option<NonNull<M>>> {
    if !capsule.is_valid_checked(Some(name)) {
        return Ok(None);
    }
    let content = capsule.pointer_checked(Some(name))?;
    // SAFETY: a capsule, and a name that lives for ever.
    if unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), used.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    Ok(Some(content.cast()))
}

/// A structure of DLPack, by the version that a consumer understands.
pub(crate) trait Managed: Sized {
    const NAME: &CStr;

    /// Frees the tensor and the structure.
    ///
    /// # Safety
    /// `this` is valid, and not used later.
    unsafe fn release(this: *mut Self);
}

impl Managed for DLManagedTensor {
    const NAME: &CStr = NAME;

    unsafe fn release(this: *mut Self) {
        // SAFETY: the caller's contract.
        unsafe {
            if let Some(deleter) = (*this).deleter {
                deleter(this);
            }
        }
    }
}

impl Managed for DLManagedTensorVersioned {
    const NAME: &CStr = VERSIONED;

    unsafe fn release(this: *mut Self) {
        // SAFETY: the caller's contract.
        unsafe {
            if let Some(deleter) = (*this).deleter {
                deleter(this);
            }
        }
    }
}

/// A capsule that owns a tensor until it is consumed.
///
/// # Safety
/// `tensor` is valid, and nobody else frees it.
pub(crate) unsafe fn of_tensor<M: Managed>(py: Python<'_>, tensor: NonNull<M>) -> PyResult<Bound<'_, PyAny>> {
    unsafe extern "C" fn destroy<M: Managed>(capsule: *mut ffi::PyObject) {
        // SAFETY: the capsule is being destroyed. One that was consumed has another name, and its content another
        // owner.
        unsafe {
            if ffi::PyCapsule_IsValid(capsule, M::NAME.as_ptr()) != 0 {
                M::release(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast());
            }
        }
    }
    let content: *mut c_void = tensor.as_ptr().cast();
    // SAFETY: a pointer that is not null, and a name that lives for ever.
    let capsule = unsafe { ffi::PyCapsule_New(content, M::NAME.as_ptr(), Some(destroy::<M>)) };
    // SAFETY: a new reference, or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.inspect_err(|_| {
        // SAFETY: no capsule has it.
        unsafe { M::release(tensor.as_ptr()) };
    })
}
