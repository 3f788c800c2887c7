//! `__cuda_array_interface__`: arrays of libraries without DLPack.

use crate::error::{argument_error, raise};
use crate::exec_context::stream_of_library;
use crate::managed::owning;
use core::ffi::c_void;
use core::ptr::null_mut;
use pyo3::intern;
use pyo3::prelude::*;
use pyo3::types::{PyAnyMethods, PyDict};
use tilewright_runtime::dlpack::{DLDataType, DLDevice, DLTensor, DlpackTensor};
use tilewright_runtime::{Runtime, Stream};

/// The owner of the array.
struct Owner {
    shape: Vec<i64>,
    strides: Option<Vec<i64>>,
    _object: Py<PyAny>,
}

/// The tensor of an array, and the address of the stream that its contents are written on, where it says one.
pub(crate) fn tensor_of(
    object: &Bound<'_, PyAny>,
    rt: &Runtime,
    ordinal: i32,
) -> PyResult<(DlpackTensor, Option<usize>)> {
    let py = object.py();
    let interface = object.getattr(intern!(py, "__cuda_array_interface__"))?;
    let wrong = |why: &str| argument_error(py, format!("its `__cuda_array_interface__` {why}"));
    let interface = interface.cast_into::<PyDict>().map_err(|_| wrong("is no dict"))?;
    let get = |name: &str| interface.get_item(name).map(|v| v.filter(|v| !v.is_none()));
    let needed = |name: &str| get(name)?.ok_or_else(|| wrong(&format!("has no `{name}`")));
    if get("mask")?.is_some() {
        return Err(wrong("has a mask, which kernels do not read"));
    }
    let shape: Vec<i64> = needed("shape")?.extract()?;
    let typestr: String = needed("typestr")?.extract()?;
    let dtype =
        element(&typestr).ok_or_else(|| wrong(&format!("has the element type {typestr}, which is not known")))?;
    let size = i64::from(dtype.bits / 8);
    let (data, read_only): (usize, bool) = needed("data")?.extract()?;
    let in_elements = |bytes: Vec<i64>| {
        if bytes.len() != shape.len() || bytes.iter().any(|b| b % size != 0) {
            return Err(wrong("has strides that are no multiples of the element, or of another rank"));
        }
        Ok(bytes.into_iter().map(|b| b / size).collect::<Vec<_>>())
    };
    // Without them the array is row-major, as DLPack has it.
    let strides = get("strides")?.map(|bytes| in_elements(bytes.extract()?)).transpose()?;
    let stream = get("stream")?.map(|s| s.extract::<usize>()).transpose()?;
    let mut owner = Box::new(Owner { shape, strides, _object: object.clone().unbind() });
    let tensor = DLTensor {
        data: data as *mut c_void,
        device: DLDevice { device_type: 2, device_id: ordinal },
        ndim: owner.shape.len() as i32,
        dtype,
        shape: owner.shape.as_mut_ptr(),
        strides: owner.strides.as_mut().map_or(null_mut(), |strides| strides.as_mut_ptr()),
        byte_offset: 0,
    };
    let managed = owning(tensor, read_only, owner);
    // SAFETY: a new structure, whose memory the object keeps. As for DLPack, nobody writes it during a call.
    let tensor = unsafe { DlpackTensor::from_versioned(rt, managed.as_ptr()) }.map_err(|e| raise(py, e))?;
    Ok((tensor, stream))
}

/// The work of a call waits for the stream that the contents are written on.
pub(crate) fn order_behind(rt: &Runtime, stream: &Stream, writer: usize) -> tilewright_runtime::Result<()> {
    // SAFETY: the protocol of the interface: the stream is alive as long as its dict is in use.
    let writer = unsafe { stream_of_library(rt, writer) }?;
    stream.wait_for(&writer)
}

/// As in `<f4`: little-endian or of one byte.
fn element(typestr: &str) -> Option<DLDataType> {
    let (order, rest) = typestr.split_at_checked(1)?;
    let (kind, bytes) = rest.split_at_checked(1)?;
    let bits = bytes.parse::<u8>().ok()?.checked_mul(8)?;
    let code = match kind {
        "i" => 0,
        "u" => 1,
        "f" => 2,
        "b" => 6,
        _ => return None,
    };
    (matches!(order, "<" | "|" | "=") && bits > 0).then_some(DLDataType { code, bits, lanes: 1 })
}
