//! Functions of each element.

use crate::arguments::{options, queue, run_by_dtype, same_dtype, shape_error};
use pyo3::prelude::*;
use tilewright_challenges as challenges;
use tilewright_core::{bf16, f16};
use tilewright_ops as ops;
use tilewright_python::{Array, Output};

type Object = Py<PyAny>;

/// Functions of one array, whose shape the result has.
macro_rules! unary { ($(
    $(#[$doc:meta])*
    $name:ident [$($D:ident: $T:ty),*], $E:ident => |$on:ident, $x:ident, $y:ident| $body:expr;
)*) => { $(
    $(#[$doc])*
    #[pyfunction]
    #[pyo3(signature = (x, /, *, out = None))]
    fn $name(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Object> {
        let x = x.contiguous(py)?;
        let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
        run_by_dtype!(py, stringify!($name), x.context(), x, [$($D: $T),*], $E => |$on| {
            let ($x, $y) = (x.slice::<$E>()?, out.slice_mut::<$E>()?);
            $body
        })?;
        out.into_object(py)
    }
)* } }

unary! {
    /// ``max(x, 0)``. f32, f16 or bf16 of any shape; ``out`` may be ``x``.
    relu [F32: f32, F16: f16, BF16: bf16], T => |on, x, y| ops::relu(&options(on), x, y);

    /// GeLU in its tanh form. f32, f16 or bf16 of any shape; ``out`` may be ``x``.
    gelu [F32: f32, F16: f16, BF16: bf16], T => |on, x, y| ops::gelu(&options(on), x, y);

    /// ``1 / (1 + exp(-x))``. f32 of any shape; ``out`` may be ``x``.
    sigmoid [F32: f32], T => |on, x, y| challenges::sigmoid(&queue(on), x, y);

    /// ``x * sigmoid(x)``. f32 of any shape; ``out`` may be ``x``.
    silu [F32: f32], T => |on, x, y| challenges::silu(&queue(on), x, y);
}

/// ``x``, or ``negative_slope * x`` where it is negative. f32, f16 or bf16 of any shape; ``out`` may be ``x``.
#[pyfunction]
#[pyo3(signature = (x, /, negative_slope = 0.01, *, out = None))]
fn leaky_relu(py: Python<'_>, x: Array, negative_slope: f32, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "leaky_relu", x.context(), x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        ops::leaky_relu(&options(on), x.slice::<T>()?, out.slice_mut::<T>()?, negative_slope)
    })?;
    out.into_object(py)
}

/// ``x / (1 - p)`` where an element is kept, else 0: each is dropped with probability ``p``. Which ones are kept
/// depends on ``seed``, an integer of 64 bits, and on their places alone. f32, f16 or bf16 of any shape; ``out`` may be
/// ``x``.
#[pyfunction]
#[pyo3(signature = (x, /, p = 0.5, *, seed, out = None))]
fn dropout(py: Python<'_>, x: Array, p: f32, seed: u64, out: Option<Output>) -> PyResult<Object> {
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "dropout", x.context(), x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        ops::dropout(&options(on), x.slice::<T>()?, out.slice_mut::<T>()?, p, seed)
    })?;
    out.into_object(py)
}

/// Functions of two arrays of one shape, which the result has.
macro_rules! binary { ($(
    $(#[$doc:meta])*
    $name:ident($a:ident, $b:ident) = $op:path;
)*) => { $(
    $(#[$doc])*
    #[pyfunction]
    #[pyo3(signature = ($a, $b, /, *, out = None))]
    fn $name(py: Python<'_>, $a: Array, $b: Array, out: Option<Output>) -> PyResult<Object> {
        let ($a, $b) = ($a.contiguous(py)?, $b.contiguous(py)?);
        same_dtype(py, stringify!($name), &$a, &[&$b])?;
        same_shape(py, stringify!($name), &$a, &$b)?;
        let context = $a.context_with(py, &[&$b])?;
        let mut out = Output::or_empty(py, out, &$a, $a.dims(), $a.dtype())?;
        run_by_dtype!(py, stringify!($name), context, $a, [F32: f32, F16: f16, BF16: bf16], T => |on| {
            $op(&options(on), $a.slice::<T>()?, $b.slice::<T>()?, out.slice_mut::<T>()?)
        })?;
        out.into_object(py)
    }
)* } }

binary! {
    /// ``a + b``. f32, f16 or bf16, both of one shape: nothing is broadcast. ``out`` may be ``a`` or ``b``.
    add(a, b) = ops::vector_add;

    /// ``gate * sigmoid(gate) * up``. f32, f16 or bf16, both of one shape; ``out`` may be ``gate`` or ``up``.
    swiglu(gate, up) = ops::swiglu;
}

/// The gradients of the inputs of `swiglu`. For `tilewright.torch`.
#[pyfunction]
#[pyo3(name = "_swiglu_backward")]
fn swiglu_backward(py: Python<'_>, gate: Array, up: Array, dy: Array) -> PyResult<(Object, Object)> {
    let (gate, up, dy) = (gate.contiguous(py)?, up.contiguous(py)?, dy.contiguous(py)?);
    same_dtype(py, "swiglu_backward", &gate, &[&up, &dy])?;
    let context = gate.context_with(py, &[&up, &dy])?;
    let mut d_gate = Output::empty(py, &gate, gate.dims(), gate.dtype())?;
    let mut d_up = Output::empty(py, &up, up.dims(), up.dtype())?;
    run_by_dtype!(py, "swiglu_backward", context, gate, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        let (gate, up, dy) = (gate.slice::<T>()?, up.slice::<T>()?, dy.slice::<T>()?);
        ops::swiglu_backward(&options(on), gate, up, dy, d_gate.slice_mut::<T>()?, d_up.slice_mut::<T>()?)
    })?;
    Ok((d_gate.into_object(py)?, d_up.into_object(py)?))
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

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(relu, m)?)?;
    m.add_function(wrap_pyfunction!(leaky_relu, m)?)?;
    m.add_function(wrap_pyfunction!(gelu, m)?)?;
    m.add_function(wrap_pyfunction!(dropout, m)?)?;
    m.add_function(wrap_pyfunction!(add, m)?)?;
    m.add_function(wrap_pyfunction!(swiglu, m)?)?;
    m.add_function(wrap_pyfunction!(swiglu_backward, m)?)?;
    m.add_function(wrap_pyfunction!(sigmoid, m)?)?;
    m.add_function(wrap_pyfunction!(silu, m)?)
}
