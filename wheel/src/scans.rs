//! Prefix sums.

use crate::arguments::{queue, run_by_dtype, vector};
use pyo3::prelude::*;
use tilewright_challenges as challenges;
use tilewright_python::{Array, Output};

/// ``x[0] + .. + x[i]`` of a vector of f32. On a GPU the sums of blocks are added in an order that may change from
/// call to call, and the last bits of long vectors with it.
#[pyfunction]
#[pyo3(signature = (x, /, *, out = None))]
fn cumsum(py: Python<'_>, x: Array, out: Option<Output>) -> PyResult<Py<PyAny>> {
    vector(py, "cumsum", &x)?;
    let x = x.contiguous(py)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, "cumsum", x.context(), x, [F32: f32], T => |on| {
        challenges::prefix_sum(&queue(on), x.slice::<T>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(cumsum, m)?)
}
