//! The module `tilewright._native`: the operations as functions of Python.
//!
//! `python/tilewright/_native.pyi` has their types and documentation.

mod arguments;
mod attention;
mod elementwise;
mod embeddings;
mod losses;
mod products;
mod reorder;
mod rows;
mod scans;

use pyo3::prelude::*;

#[pymodule(gil_used = false)]
fn _native(m: &Bound<'_, PyModule>) -> PyResult<()> {
    tilewright_runtime::warnings_to_stderr();
    tilewright_python::register(m)?;
    m.add("__version__", env!("CARGO_PKG_VERSION"))?;
    elementwise::register(m)?;
    products::register(m)?;
    attention::register(m)?;
    rows::register(m)?;
    embeddings::register(m)?;
    scans::register(m)?;
    reorder::register(m)?;
    losses::register(m)
}
