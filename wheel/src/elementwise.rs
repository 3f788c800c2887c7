//! Functions of each element.

use crate::arguments::{options, queue, run_by_dtype, same_dtype, shape_error};
use pyo3::prelude::*;
use tilewright_challenges as challenges;
use tilewright_core::{bf16, f16};
use tilewright_ops as ops;
use tilewright_python::{Array, Output};

type Object = Py<PyAny>;

/// ``max(x, 0)``. f32, f16 or bf16 of any shape; ``out`` may be ``x``.
#[pyfunction]
#[pyo3(signature = (x, /, *, out = None))]
fn relu(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "relu", x.place(), x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        ops::relu(&options(on), x.slice::<T>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

/// ``x``, or ``negative_slope * x`` where it is negative. f32, f16 or bf16 of any shape; ``out`` may be ``x``.
#[pyfunction]
#[pyo3(signature = (x, /, negative_slope = 0.01, *, out = None))]
fn leaky_relu(py: Python<'_>, x: Array, negative_slope: f32, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "leaky_relu", x.place(), x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        ops::leaky_relu(&options(on), x.slice::<T>()?, out.slice_mut::<T>()?, negative_slope)
    })?;
    out.into_object(py)
}

/// GeLU in its tanh form. f32, f16 or bf16 of any shape; ``out`` may be ``x``.
#[pyfunction]
#[pyo3(signature = (x, /, *, out = None))]
fn gelu(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "gelu", x.place(), x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        ops::gelu(&options(on), x.slice::<T>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

/// ``a + b``. f32, f16 or bf16, both of one shape: nothing is broadcast. ``out`` may be ``a`` or ``b``.
#[pyfunction]
#[pyo3(signature = (a, b, /, *, out = None))]
fn add(py: Python<'_>, a: Array, b: Array, out: Option<Output>) -> PyResult<Object> {
    let (a, b) = (a.contiguous(py)?, b.contiguous(py)?);
    same_dtype(py, "add", &a, &[&b])?;
    same_shape(py, "add", &a, &b)?;
    let place = a.place_with(py, &[&b])?;
    let mut out = Output::or_empty(py, out, &a, a.dims(), a.dtype())?;
    run_by_dtype!(py, "add", place, a, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        ops::vector_add(&options(on), a.slice::<T>()?, b.slice::<T>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

/// ``gate * sigmoid(gate) * up``. f32, f16 or bf16, both of one shape; ``out`` may be ``gate`` or ``up``.
#[pyfunction]
#[pyo3(signature = (gate, up, /, *, out = None))]
fn swiglu(py: Python<'_>, gate: Array, up: Array, out: Option<Output>) -> PyResult<Object> {
    let (gate, up) = (gate.contiguous(py)?, up.contiguous(py)?);
    same_dtype(py, "swiglu", &gate, &[&up])?;
    same_shape(py, "swiglu", &gate, &up)?;
    let place = gate.place_with(py, &[&up])?;
    let mut out = Output::or_empty(py, out, &gate, gate.dims(), gate.dtype())?;
    run_by_dtype!(py, "swiglu", place, gate, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        ops::swiglu(&options(on), gate.slice::<T>()?, up.slice::<T>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

fn same_shape(py: Python<'_>, what: &'static str, a: &Array, b: &Array) -> PyResult<()> {
    if a.dims() == b.dims() {
        return Ok(());
    }
    Err(shape_error(
        py,
        what,
        format!("{:?} and {:?}: one shape is needed, and nothing is broadcast", a.dims(), b.dims()),
    ))
}

/// ``1 / (1 + exp(-x))``. f32 of any shape; ``out`` may be ``x``.
#[pyfunction]
#[pyo3(signature = (x, /, *, out = None))]
fn sigmoid(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "sigmoid", x.place(), x, [F32: f32], T => |on| {
        challenges::sigmoid(&queue(on), x.slice::<T>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

/// ``x * sigmoid(x)``. f32 of any shape; ``out`` may be ``x``.
#[pyfunction]
#[pyo3(signature = (x, /, *, out = None))]
fn silu(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "silu", x.place(), x, [F32: f32], T => |on| {
        challenges::silu(&queue(on), x.slice::<T>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(relu, m)?)?;
    m.add_function(wrap_pyfunction!(leaky_relu, m)?)?;
    m.add_function(wrap_pyfunction!(gelu, m)?)?;
    m.add_function(wrap_pyfunction!(add, m)?)?;
    m.add_function(wrap_pyfunction!(swiglu, m)?)?;
    m.add_function(wrap_pyfunction!(sigmoid, m)?)?;
    m.add_function(wrap_pyfunction!(silu, m)?)
}
