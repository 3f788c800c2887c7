//! Losses.

use crate::arguments::{queue, run_by_dtype, shape_error};
use pyo3::prelude::*;
use tilewright_challenges as challenges;
use tilewright_core::DType;
use tilewright_python::{Array, Output};

/// The mean of ``log(sum of exp(logits)) - logits[label]``, of rank 0. ``logits`` are ``rows x classes`` of f32,
/// ``labels`` ``rows`` of int32. A label that is no class gives NaN; none is ignored.
#[pyfunction]
#[pyo3(signature = (logits, labels, /, *, out = None))]
fn cross_entropy(py: Python<'_>, logits: Array, labels: Array, out: Option<Output>) -> PyResult<Py<PyAny>> {
    let (logits, labels) = (logits.contiguous(py)?, labels.contiguous(py)?);
    match (logits.dims(), labels.dims()) {
        ([rows, _], [n]) if rows == n => {}
        (x, y) => {
            let why = format!("logits are {x:?} and labels {y:?}: rows x classes and rows are needed");
            return Err(shape_error(py, "cross_entropy", why));
        }
    }
    if labels.dtype() != DType::I32 {
        return Err(tilewright_python::dtype_error(
            py,
            "cross_entropy",
            labels.dtype(),
            "i32 for labels: convert them, as with labels.astype('int32')",
        ));
    }
    let place = logits.place_with(py, &[&labels])?;
    let mut out = Output::or_empty(py, out, &logits, &[], DType::F32)?;
    run_by_dtype!(py, "cross_entropy", place, logits, [F32: f32], T => |on| {
        challenges::softmax_cross_entropy(
            &queue(on),
            logits.slice::<T>()?,
            labels.slice::<i32>()?,
            out.slice_mut::<T>()?,
        )
    })?;
    out.into_object(py)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(cross_entropy, m)?)
}
