//! Arrays of Python as arguments of kernels, for extension modules that [PyO3](pyo3) makes.
//!
//! A function of a module takes an [`Array`] for each input and returns what [`Output`] gives. An array is borrowed
//! without a copy: of NumPy, PyTorch, JAX or CuPy, or any other object with `__dlpack__` or
//! `__cuda_array_interface__`. A result belongs to the library that the input belongs to.
//!
//! ```no_run
//! use pyo3::prelude::*;
//! use tilewright::tile_kernel;
//! use tilewright_python::{Array, Output};
//!
//! #[tile_kernel(grid = [cdiv(z.len(), 1024)])]
//! fn scaled_sum(a: f32, x: &[f32], y: &[f32], z: &mut [f32]) {
//!     let i = program_id(0) * 1024 + arange(1024);
//!     store(z, i, a * load(x, i) + load(y, i));
//! }
//!
//! #[pyfunction]
//! #[pyo3(signature = (a, x, y, *, out = None))]
//! fn axpy(py: Python<'_>, a: f32, x: Array, y: Array, out: Option<Output>) -> PyResult<Py<PyAny>> {
//!     let context = x.context_with(py, &[&y])?;
//!     let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
//!     context.run(py, |on| on.launch(scaled_sum(a, x.slice()?, y.slice()?, out.slice_mut()?)))?;
//!     out.into_object(py)
//! }
//!
//! #[pymodule]
//! fn my_kernels(m: &Bound<'_, PyModule>) -> PyResult<()> {
//!     tilewright_python::register(m)?;
//!     m.add_function(wrap_pyfunction!(axpy, m)?)
//! }
//! # fn main() {}
//! ```
//!
//! # Devices and streams
//! A call runs where its arrays are: on the CPU, or on the GPU that has them. Arrays of the host are given to the
//! emulated SM where the environment variable `TILE_BACKEND` is `emulator`.
//!
//! On a GPU a call is enqueued on the stream that the caller has set with `set_stream`, a function of the module, else
//! on the current stream of PyTorch or CuPy for their arrays, else on the legacy default stream. All arrays of a call
//! are on one of these. Python's lock is released while a kernel runs or is enqueued.
//!
//! `__cuda_array_interface__` does not tell the device of an array: it is taken to be that of the current context.
#![warn(missing_docs)]

mod array;
mod capsule;
mod cuda_array;
mod element;
mod error;
mod exchange;
mod exec_context;
mod framework;
mod managed;
mod tensor;

pub use array::{Array, Output};
pub use error::{argument_error, dtype_error, raise};
pub use exec_context::ExecContext;
pub use tensor::Tensor;

use pyo3::prelude::*;

/// Adds to a module what its functions need: the exceptions `Error`, `ArgumentError`, `DTypeError`, `DeviceError` and
/// `OutOfMemoryError`, the class `Tensor`, and the function `set_stream`.
///
/// # Examples
/// ```no_run
/// use pyo3::prelude::*;
///
/// #[pymodule]
/// fn my_kernels(m: &Bound<'_, PyModule>) -> PyResult<()> {
///     tilewright_python::register(m)
/// }
/// # fn main() {}
/// ```
pub fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    error::register(module)?;
    module.add_class::<Tensor>()?;
    module.add_function(wrap_pyfunction!(exec_context::set_stream, module)?)
}
