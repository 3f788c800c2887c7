//! Operations of the last axis, and sums.

use crate::arguments::{options, run_by_dtype, same_dtype, shape_error};
use pyo3::prelude::*;
use tilewright_core::{DType, bf16, f16};
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

/// The exception of arrays whose shape is not that of a row of `x`.
fn row_of(py: Python<'_>, what: &'static str, x: &Array, arrays: &[(&str, &Array)]) -> PyResult<()> {
    let (_, columns) = rows_of(py, what, x)?;
    match arrays.iter().find(|(_, y)| y.dims() != [columns]) {
        None => Ok(()),
        Some((name, y)) => Err(shape_error(py, what, format!("{name} is {:?}, and x is {:?}", y.dims(), x.dims()))),
    }
}

/// Softmax along the last axis. f32, f16 or bf16 of rank 1 or more, computed in f32.
#[pyfunction]
#[pyo3(signature = (x, /, *, out = None))]
fn softmax(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let (rows, columns) = rows_of(py, "softmax", &x)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "softmax", x.context(), x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        ops::softmax_rows(&options(on), x.slice::<T>()?, out.slice_mut::<T>()?, rows, columns)
    })?;
    out.into_object(py)
}

/// The gradient of the input of `softmax`, by its result `y`. For `tilewright.torch`.
#[pyfunction]
#[pyo3(name = "_softmax_backward")]
fn softmax_backward(py: Python<'_>, y: Array, dy: Array) -> PyResult<Object> {
    let what = "softmax_backward";
    same_dtype(py, what, &y, &[&dy])?;
    let (y, dy) = (y.contiguous(py)?, dy.contiguous(py)?);
    let (rows, columns) = rows_of(py, what, &y)?;
    let context = y.context_with(py, &[&dy])?;
    let mut dx = Output::empty(py, &y, y.dims(), y.dtype())?;
    run_by_dtype!(py, what, context, y, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        let (y, dy) = (y.slice::<T>()?, dy.slice::<T>()?);
        ops::softmax_rows_backward(&options(on), y, dy, dx.slice_mut::<T>()?, rows, columns)
    })?;
    dx.into_object(py)
}

/// ``(x - mean) / sqrt(variance + eps) * weight + bias`` along the last axis, whose length ``weight`` and ``bias``
/// have. f32, f16 and bf16, computed in f32.
#[pyfunction]
#[pyo3(signature = (x, weight, bias, /, *, eps = 1e-5, out = None))]
fn layer_norm(py: Python<'_>, x: Array, weight: Array, bias: Array, eps: f32, out: Option<Output>) -> PyResult<Object> {
    let what = "layer_norm";
    same_dtype(py, what, &x, &[&weight, &bias])?;
    let (x, weight, bias) = (x.contiguous(py)?, weight.contiguous(py)?, bias.contiguous(py)?);
    row_of(py, what, &x, &[("weight", &weight), ("bias", &bias)])?;
    let context = x.context_with(py, &[&weight, &bias])?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "layer_norm", context, x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        ops::layer_norm(
            &options(on),
            x.slice::<T>()?,
            weight.slice::<T>()?,
            bias.slice::<T>()?,
            out.slice_mut::<T>()?,
            eps,
        )
    })?;
    out.into_object(py)
}

/// ``x / sqrt(mean of x**2 + eps) * weight`` along the last axis, whose length ``weight`` has. f32, f16 and bf16,
/// computed in f32.
#[pyfunction]
#[pyo3(signature = (x, weight, /, *, eps = 1e-5, out = None))]
fn rms_norm(py: Python<'_>, x: Array, weight: Array, eps: f32, out: Option<Output>) -> PyResult<Object> {
    let what = "rms_norm";
    same_dtype(py, what, &x, &[&weight])?;
    let (x, weight) = (x.contiguous(py)?, weight.contiguous(py)?);
    row_of(py, what, &x, &[("weight", &weight)])?;
    let context = x.context_with(py, &[&weight])?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "rms_norm", context, x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        ops::rms_norm(&options(on), x.slice::<T>()?, weight.slice::<T>()?, out.slice_mut::<T>()?, eps)
    })?;
    out.into_object(py)
}

/// The gradients of `x` and of the weight, and of the bias of a layer norm. For `tilewright.torch`.
#[pyfunction]
#[pyo3(name = "_norm_backward")]
fn norm_backward(
    py: Python<'_>,
    x: Array,
    weight: Array,
    dy: Array,
    eps: f32,
    has_bias: bool,
) -> PyResult<(Object, Object, Option<Object>)> {
    let what = "norm_backward";
    same_dtype(py, what, &x, &[&weight, &dy])?;
    let (x, weight, dy) = (x.contiguous(py)?, weight.contiguous(py)?, dy.contiguous(py)?);
    row_of(py, what, &x, &[("weight", &weight)])?;
    let context = x.context_with(py, &[&weight, &dy])?;
    let mut dx = Output::empty(py, &x, x.dims(), x.dtype())?;
    let mut dw = Output::empty(py, &weight, weight.dims(), x.dtype())?;
    if !has_bias {
        run_by_dtype!(py, "norm_backward", context, x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
            let (x, weight, dy) = (x.slice::<T>()?, weight.slice::<T>()?, dy.slice::<T>()?);
            ops::rms_norm_backward(&options(on), x, weight, dy, dx.slice_mut::<T>()?, dw.slice_mut::<T>()?, eps)
        })?;
        return Ok((dx.into_object(py)?, dw.into_object(py)?, None));
    }
    let mut db = Output::empty(py, &weight, weight.dims(), x.dtype())?;
    run_by_dtype!(py, "norm_backward", context, x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        let (x, weight, dy) = (x.slice::<T>()?, weight.slice::<T>()?, dy.slice::<T>()?);
        let (dx, dw, db) = (dx.slice_mut::<T>()?, dw.slice_mut::<T>()?, db.slice_mut::<T>()?);
        ops::layer_norm_backward(&options(on), x, weight, dy, dx, dw, db, eps)
    })?;
    Ok((dx.into_object(py)?, dw.into_object(py)?, Some(db.into_object(py)?)))
}

/// The sum of all elements, of rank 0. f32 of any shape. The order of the sum is that of the configuration that runs:
/// the same one gives the same bits every time.
#[pyfunction]
#[pyo3(signature = (x, /, *, out = None))]
fn sum(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, &[], DType::F32)?;
    run_by_dtype!(py, "sum", x.context(), x, [F32: f32], T => |on| {
        ops::reduction(&options(on), x.slice::<T>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(softmax, m)?)?;
    m.add_function(wrap_pyfunction!(softmax_backward, m)?)?;
    m.add_function(wrap_pyfunction!(layer_norm, m)?)?;
    m.add_function(wrap_pyfunction!(rms_norm, m)?)?;
    m.add_function(wrap_pyfunction!(norm_backward, m)?)?;
    m.add_function(wrap_pyfunction!(sum, m)?)
}
