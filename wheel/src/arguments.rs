//! The common arguments of all functions: element types, shapes, runtime and stream.

use pyo3::prelude::*;
use tilewright_core::DType;
use tilewright_ops::ExecOptions;
use tilewright_python::{Array, ExecContext};
use tilewright_runtime::{Error, Result, Runtime, Stream};

/// Runs an operation at `$context` with `$E` as the element type of `$x`; an exception where it is none of these.
macro_rules! run_by_dtype {
    ($py:expr, $what:expr, $context:expr, $x:expr, [$($D:ident: $T:ty),*], $E:ident => |$on:ident| $body:expr) => {
        match $x.dtype() {
            $(tilewright_core::DType::$D => {
                type $E = $T;
                $crate::arguments::run($py, $what, $context, |$on| $body)
            })*
            other => {
                let known = [$(tilewright_core::DType::$D.name()),*].join(", ");
                Err(tilewright_python::dtype_error($py, $what, other, &known))
            }
        }
    };
}
pub(crate) use run_by_dtype;

/// The runtime and the stream of an operation.
pub fn options(context: &ExecContext) -> ExecOptions<'_> {
    ExecOptions::new(context.runtime()).stream(context.stream())
}

/// The same for an operation of the challenges.
pub fn queue(context: &ExecContext) -> (&Runtime, &Stream) {
    (context.runtime(), context.stream())
}

/// Runs an operation. If an output overlaps an input, the error names the arguments of the Python function.
pub fn run<R: Send>(
    py: Python<'_>,
    what: &'static str,
    context: &ExecContext,
    body: impl FnOnce(&ExecContext) -> Result<R> + Send,
) -> PyResult<R> {
    let of_python = |error| match error {
        Error::Alias { .. } => {
            Error::InvalidArgument { what, why: "`out` overlaps an input: give it memory of its own".into() }
        }
        other => other,
    };
    context.run(py, |on| body(on).map_err(of_python))
}

/// The exception of arrays whose element types differ.
pub fn same_dtype(py: Python<'_>, what: &str, x: &Array, others: &[&Array]) -> PyResult<()> {
    match others.iter().find(|y| y.dtype() != x.dtype()) {
        None => Ok(()),
        Some(y) => Err(tilewright_python::dtype_error(
            py,
            what,
            y.dtype(),
            &format!("{}, as its first array is", x.dtype().name()),
        )),
    }
}

/// The exception of an array that is not of int32.
pub fn is_i32(py: Python<'_>, what: &str, name: &str, x: &Array) -> PyResult<()> {
    if x.dtype() == DType::I32 {
        return Ok(());
    }
    let known = format!("i32 for {name}: convert them, as with {name}.astype('int32')");
    Err(tilewright_python::dtype_error(py, what, x.dtype(), &known))
}

/// The exception of an operation whose arguments do not fit together.
pub fn shape_error(py: Python<'_>, what: &'static str, why: String) -> PyErr {
    tilewright_python::raise(py, Error::Shape { what, why })
}

/// The exception of an array that is no vector.
pub fn vector(py: Python<'_>, what: &'static str, x: &Array) -> PyResult<()> {
    if x.dims().len() == 1 {
        return Ok(());
    }
    Err(shape_error(py, what, format!("x is {:?}: a vector is needed", x.dims())))
}
