//! Sorts and selections.

use crate::arguments::{queue, run, run_by_dtype, shape_error, vector};
use pyo3::prelude::*;
use tilewright_challenges as challenges;
use tilewright_core::DType;
use tilewright_python::{Array, Output};

type Object = Py<PyAny>;

/// The elements of a vector in ascending order. f32, NaN last, or uint32. ``out`` may overlap ``x``.
#[pyfunction]
#[pyo3(signature = (x, /, *, out = None))]
fn sort(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Object> {
    vector(py, "sort", &x)?;
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    match x.dtype() {
        DType::U32 => run(py, "sort", x.context(), |on| {
            challenges::radix_sort(&queue(on), x.slice::<u32>()?, out.slice_mut::<u32>()?)
        })?,
        DType::F32 => run(py, "sort", x.context(), |on| {
            challenges::sorted(&queue(on), x.slice::<f32>()?, out.slice_mut::<f32>()?)
        })?,
        other => return Err(tilewright_python::dtype_error(py, "sort", other, "f32, u32")),
    }
    out.into_object(py)
}

/// The ``k`` greatest elements of a vector of f32 in descending order. NaN is greater than all numbers. ``out`` may
/// overlap ``x``.
#[pyfunction]
#[pyo3(signature = (x, k, /, *, out = None))]
fn topk(py: Python<'_>, x: Array, k: isize, out: Option<Output>) -> PyResult<Object> {
    vector(py, "topk", &x)?;
    let Some(k) = usize::try_from(k).ok().filter(|k| *k <= x.len()) else {
        return Err(shape_error(py, "topk", format!("k is {k}, and x has {} elements", x.len())));
    };
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, &[k], x.dtype())?;
    run_by_dtype!(py, "topk", x.context(), x, [F32: f32], T => |on| {
        challenges::top_k_selection(&queue(on), x.slice::<T>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(sort, m)?)?;
    m.add_function(wrap_pyfunction!(topk, m)?)
}
