//! Operations of the last axis, and sums.

use crate::arguments::{options, queue, run_by_dtype, same_dtype, shape_error};
use pyo3::prelude::*;
use tilewright_challenges as challenges;
use tilewright_core::DType;
use tilewright_ops as ops;
use tilewright_python::{Array, Output};

type Object = Py<PyAny>;

/// The extents before the last one, multiplied, and the last one.
fn rows_of(py: Python<'_>, what: &'static str, x: &Array) -> PyResult<(usize, usize)> {
    match x.dims() {
        [] => Err(shape_error(py, what, "an array of rank 0 has no last axis".into())),
        [rows @ .., columns] => Ok((rows.iter().product(), *columns)),
    }
}

/// Softmax along the last axis. f32 of rank 1 or more.
#[pyfunction]
#[pyo3(signature = (x, /, *, out = None))]
fn softmax(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let (rows, columns) = rows_of(py, "softmax", &x)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "softmax", x.place(), x, [F32: f32], T => |on| {
        ops::softmax_rows(&options(on), x.slice::<T>()?, out.slice_mut::<T>()?, rows, columns)
    })?;
    out.into_object(py)
}

/// ``(x - mean) / sqrt(variance + eps) * weight + bias`` along the last axis. f32; ``weight`` and ``bias`` have the
/// length of that axis.
#[pyfunction]
#[pyo3(signature = (x, weight, bias, /, *, eps = 1e-5, out = None))]
fn layer_norm(py: Python<'_>, x: Array, weight: Array, bias: Array, eps: f32, out: Option<Output>) -> PyResult<Object> {
    let what = "layer_norm";
    same_dtype(py, what, &x, &[&weight, &bias])?;
    let (x, weight, bias) = (x.contiguous(py)?, weight.contiguous(py)?, bias.contiguous(py)?);
    let (_, columns) = rows_of(py, what, &x)?;
    for (name, y) in [("weight", &weight), ("bias", &bias)] {
        if y.dims() != [columns] {
            return Err(shape_error(py, what, format!("{name} is {:?}, and x is {:?}", y.dims(), x.dims())));
        }
    }
    let place = x.place_with(py, &[&weight, &bias])?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "layer_norm", place, x, [F32: f32], T => |on| {
        challenges::layer_normalization(
            &queue(on),
            x.slice::<T>()?,
            weight.slice::<T>()?,
            bias.slice::<T>()?,
            out.slice_mut::<T>()?,
            eps,
        )
    })?;
    out.into_object(py)
}

/// The sum of all elements, of rank 0. f32 of any shape. The same array gives the same bits every time.
#[pyfunction]
#[pyo3(signature = (x, /, *, out = None))]
fn sum(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, &[], DType::F32)?;
    run_by_dtype!(py, "sum", x.place(), x, [F32: f32], T => |on| {
        ops::reduction(&options(on), x.slice::<T>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(softmax, m)?)?;
    m.add_function(wrap_pyfunction!(layer_norm, m)?)?;
    m.add_function(wrap_pyfunction!(sum, m)?)
}
