//! Capsules of DLPack: what `__dlpack__` returns.

use crate::error::{argument_error, raise, raise_dtype};
use crate::managed::{Managed, VERSION, release};
use core::ffi::c_void;
use core::ptr::NonNull;
use pyo3::prelude::*;
use pyo3::types::PyCapsule;
use pyo3::{ffi, intern, types::PyDict};
use tilewright_runtime::Runtime;
use tilewright_runtime::dlpack::{DLDataType, DLManagedTensor, DLManagedTensorVersioned, DlpackTensor};

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
    let taken = if let Some(tensor) = take::<DLManagedTensorVersioned>(capsule)? {
        // SAFETY: the content of a capsule that nobody has consumed, and that is marked as consumed now. While a call
        // runs, Python code may write the array from another thread, as it may while NumPy computes: the module's
        // documentation forbids it.
        unsafe { DlpackTensor::from_versioned(rt, tensor.as_ptr()) }
    } else if let Some(tensor) = take::<DLManagedTensor>(capsule)? {
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
    // SAFETY: contents of capsules with their names, which nobody has consumed.
    unsafe {
        if let Some(tensor) = content::<DLManagedTensorVersioned>(capsule)? {
            // Of another version what follows may lie elsewhere: the runtime refuses it.
            let known = DLDataType { code: 2, bits: 32, lanes: 1 };
            return Ok(if tensor.as_ref().major == VERSION.0 { tensor.as_ref().dl_tensor.dtype } else { known });
        }
        if let Some(tensor) = content::<DLManagedTensor>(capsule)? {
            return Ok(tensor.as_ref().dl_tensor.dtype);
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

/// The content of a capsule of this structure that nobody has consumed.
fn content<M: Managed>(capsule: &Bound<'_, PyCapsule>) -> PyResult<Option<NonNull<M>>> {
    if !capsule.is_valid_checked(Some(M::NAME)) {
        return Ok(None);
    }
    capsule.pointer_checked(Some(M::NAME)).map(|content| Some(content.cast()))
}

/// The same of a capsule that is renamed: its destructor leaves the content alone from now on.
fn take<M: Managed>(capsule: &Bound<'_, PyCapsule>) -> PyResult<Option<NonNull<M>>> {
    let content = content(capsule)?;
    // SAFETY: a capsule, and a name that lives for ever.
    if content.is_some() && unsafe { ffi::PyCapsule_SetName(capsule.as_ptr(), M::USED.as_ptr()) } != 0 {
        return Err(PyErr::fetch(capsule.py()));
    }
    Ok(content)
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
                release::<M>(ffi::PyCapsule_GetPointer(capsule, M::NAME.as_ptr()).cast());
            }
        }
    }
    let content: *mut c_void = tensor.as_ptr().cast();
    // SAFETY: a pointer that is not null, and a name that lives for ever.
    let capsule = unsafe { ffi::PyCapsule_New(content, M::NAME.as_ptr(), Some(destroy::<M>)) };
    // SAFETY: a new reference, or null with an exception.
    unsafe { Bound::from_owned_ptr_or_err(py, capsule) }.inspect_err(|_| {
        // SAFETY: no capsule has it.
        unsafe { release(tensor.as_ptr()) };
    })
}
