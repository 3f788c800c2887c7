//! Tile kernels as functions of Python.

use pyo3::prelude::*;
use tilewright::{DType, tile_kernel};
use tilewright_python::{Array, Output, argument_error, dtype_error};

/// `z = a x + y`. One program computes a block of `BLOCK` elements.
#[tile_kernel(tune(BLOCK = [1024, 4096], warps = [4]), grid = [cdiv(z.len(), BLOCK)])]
fn scaled_sum<const BLOCK: usize>(a: f32, x: &[f32], y: &[f32], z: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(z, i, a * load(x, i) + load(y, i));
}

/// `a * x + y` of two arrays of f32, of one shape.
#[pyfunction]
#[pyo3(signature = (a, x, y, /, *, out = None))]
fn axpy(py: Python<'_>, a: f32, x: Array, y: Array, out: Option<Output>) -> PyResult<Py<PyAny>> {
    if x.dims() != y.dims() {
        return Err(argument_error(py, format!("axpy: x is {:?}, and y is {:?}", x.dims(), y.dims())));
    }
    if let Some(other) = [&x, &y].into_iter().map(Array::dtype).find(|dtype| *dtype != DType::F32) {
        return Err(dtype_error(py, "axpy", other, "f32"));
    }
    let (x, y) = (x.contiguous(py)?, y.contiguous(py)?);
    let context = x.context_with(py, &[&y])?;
    let mut z = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    context.run(py, |on| on.launch(scaled_sum(a, x.slice()?, y.slice()?, z.slice_mut()?)))?;
    z.into_object(py)
}

#[pymodule]
fn first_python(m: &Bound<'_, PyModule>) -> PyResult<()> {
    tilewright_python::register(m)?;
    m.add_function(wrap_pyfunction!(axpy, m)?)
}
