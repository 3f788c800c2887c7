//! Losses.

use crate::arguments::{is_i32, options, queue, run_by_dtype, shape_error};
use pyo3::prelude::*;
use tilewright_challenges as challenges;
use tilewright_core::{DType, bf16, f16};
use tilewright_ops as ops;
use tilewright_python::{Array, Output};

type Object = Py<PyAny>;

/// The exception of logits and labels that do not fit together.
fn check(py: Python<'_>, logits: &Array, labels: &Array) -> PyResult<()> {
    match (logits.dims(), labels.dims()) {
        ([rows, _], [n]) if rows == n => is_i32(py, "cross_entropy", "labels", labels),
        (x, y) => {
            let why = format!("logits are {x:?} and labels {y:?}: rows x classes and rows are needed");
            Err(shape_error(py, "cross_entropy", why))
        }
    }
}

/// The mean of ``log(sum of exp(logits)) - logits[label]``, of rank 0. ``logits`` are ``rows x classes`` of f32,
/// ``labels`` ``rows`` of int32. A label that is no class gives NaN; none is ignored.
#[pyfunction]
#[pyo3(signature = (logits, labels, /, *, out = None))]
fn cross_entropy(py: Python<'_>, logits: Array, labels: Array, out: Option<Output>) -> PyResult<Object> {
    let (logits, labels) = (logits.contiguous(py)?, labels.contiguous(py)?);
    check(py, &logits, &labels)?;
    let context = logits.context_with(py, &[&labels])?;
    let mut out = Output::or_empty(py, out, &logits, &[], DType::F32)?;
    run_by_dtype!(py, "cross_entropy", context, logits, [F32: f32], T => |on| {
        challenges::softmax_cross_entropy(
            &queue(on),
            logits.slice::<T>()?,
            labels.slice::<i32>()?,
            out.slice_mut::<T>()?,
        )
    })?;
    out.into_object(py)
}

/// The loss of each row, and the logarithm of its sum of exponentials, both f32. For `tilewright.torch`.
#[pyfunction]
#[pyo3(name = "_cross_entropy")]
fn of_rows(py: Python<'_>, logits: Array, labels: Array) -> PyResult<(Object, Object)> {
    let (logits, labels) = (logits.contiguous(py)?, labels.contiguous(py)?);
    check(py, &logits, &labels)?;
    let context = logits.context_with(py, &[&labels])?;
    let [mut losses, mut lse] = [
        Output::empty(py, &logits, labels.dims(), DType::F32)?,
        Output::empty(py, &logits, labels.dims(), DType::F32)?,
    ];
    run_by_dtype!(py, "cross_entropy", context, logits, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        let (logits, labels) = (logits.slice::<T>()?, labels.slice::<i32>()?);
        ops::cross_entropy(&options(on), logits, labels, losses.slice_mut::<f32>()?, lse.slice_mut::<f32>()?)
    })?;
    Ok((losses.into_object(py)?, lse.into_object(py)?))
}

/// The gradient of the logits, by those of the losses of rows. For `tilewright.torch`.
#[pyfunction]
#[pyo3(name = "_cross_entropy_backward")]
fn backward(py: Python<'_>, logits: Array, labels: Array, lse: Array, d_losses: Array) -> PyResult<Object> {
    let (logits, labels) = (logits.contiguous(py)?, labels.contiguous(py)?);
    let (lse, d_losses) = (lse.contiguous(py)?, d_losses.contiguous(py)?);
    check(py, &logits, &labels)?;
    let context = logits.context_with(py, &[&labels, &lse, &d_losses])?;
    let mut d_logits = Output::empty(py, &logits, logits.dims(), logits.dtype())?;
    run_by_dtype!(py, "cross_entropy", context, logits, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        let (logits, labels, d_logits) = (logits.slice::<T>()?, labels.slice::<i32>()?, d_logits.slice_mut::<T>()?);
        let (lse, d_losses) = (lse.slice::<f32>()?, d_losses.slice::<f32>()?);
        ops::cross_entropy_backward(&options(on), logits, labels, lse, d_losses, d_logits)
    })?;
    d_logits.into_object(py)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(of_rows, m)?)?;
    m.add_function(wrap_pyfunction!(backward, m)?)?;
    m.add_function(wrap_pyfunction!(cross_entropy, m)?)
}
