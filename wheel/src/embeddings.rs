//! Rows of a table by index, and rotary position embeddings.

use crate::arguments::{is_i32, options, run_by_dtype, shape_error};
use pyo3::prelude::*;
use tilewright_core::{DType, bf16, f16};
use tilewright_ops as ops;
use tilewright_python::{Array, Output};

type Object = Py<PyAny>;

/// ``table[ids]``: rows of a table of f32, f16 or bf16, for int32 indices of any shape. A negative index gives zeros,
/// and one that is no row gives NaN.
#[pyfunction]
#[pyo3(signature = (table, ids, /, *, out = None))]
fn embedding(py: Python<'_>, table: Array, ids: Array, out: Option<Output>) -> PyResult<Object> {
    let what = "embedding";
    let (table, ids) = (table.contiguous(py)?, ids.contiguous(py)?);
    is_i32(py, what, "ids", &ids)?;
    let &[_, columns] = table.dims() else {
        return Err(shape_error(py, what, format!("the table is {:?}: rows x columns are needed", table.dims())));
    };
    let context = table.context_with(py, &[&ids])?;
    let dims: Vec<usize> = ids.dims().iter().copied().chain([columns]).collect();
    let mut out = Output::or_empty(py, out, &table, &dims, table.dtype())?;
    run_by_dtype!(py, what, context, table, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        let (table, ids) = (table.slice::<T>()?, ids.slice::<i32>()?);
        ops::embedding(&options(on), table, ids, out.slice_mut::<T>()?, columns)
    })?;
    out.into_object(py)
}

/// Adds the gradient of `embedding` to that of its table, which is f32. For `tilewright.torch`.
#[pyfunction]
#[pyo3(name = "_embedding_backward")]
fn embedding_backward(py: Python<'_>, ids: Array, dy: Array, d_table: Output) -> PyResult<Object> {
    let what = "embedding_backward";
    let (ids, dy) = (ids.contiguous(py)?, dy.contiguous(py)?);
    is_i32(py, what, "ids", &ids)?;
    let context = dy.context_with(py, &[&ids])?;
    let columns = dy.dims().last().copied().unwrap_or(0);
    let rows = d_table.dims().first().copied().unwrap_or(0);
    let mut d_table = Output::or_empty(py, Some(d_table), &dy, &[rows, columns], DType::F32)?;
    run_by_dtype!(py, what, context, dy, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        let (ids, dy) = (ids.slice::<i32>()?, dy.slice::<T>()?);
        ops::embedding_backward(&options(on), ids, dy, d_table.slice_mut::<f32>()?, columns)
    })?;
    d_table.into_object(py)
}

/// Rotary position embedding (RoPE) of ``.. x tokens x heads x d``: pairs of the elements of a head rotate by the
/// angles of the token's position. f32, f16 or bf16; ``out`` may be ``x``.
///
/// ``cos`` and ``sin`` are f32 of ``rows x half``, with ``2 * half`` at most ``d``: a row for each position. Without
/// ``positions`` it is the index along the axis of tokens, else int32 of ``.. x tokens``. A position that is no row
/// gives NaN. The pairs are elements ``i`` and ``half + i`` of a head, with ``interleaved`` elements ``2 * i`` and
/// ``2 * i + 1``. Elements from ``2 * half`` on are copied.
#[pyfunction]
#[pyo3(signature = (x, cos, sin, /, positions = None, *, interleaved = false, out = None))]
fn rope(
    py: Python<'_>,
    x: Array,
    cos: Array,
    sin: Array,
    positions: Option<Array>,
    interleaved: bool,
    out: Option<Output>,
) -> PyResult<Object> {
    rotate(py, "rope", x, cos, sin, positions, interleaved, out, false)
}

/// The gradient of the input of `rope`. For `tilewright.torch`.
#[pyfunction]
#[pyo3(name = "_rope_backward")]
fn rope_backward(
    py: Python<'_>,
    dy: Array,
    cos: Array,
    sin: Array,
    positions: Option<Array>,
    interleaved: bool,
) -> PyResult<Object> {
    rotate(py, "rope_backward", dy, cos, sin, positions, interleaved, None, true)
}

#[expect(clippy::too_many_arguments, reason = "as many as the function of Python has")]
fn rotate(
    py: Python<'_>,
    what: &'static str,
    x: Array,
    cos: Array,
    sin: Array,
    positions: Option<Array>,
    interleaved: bool,
    out: Option<Output>,
    back: bool,
) -> PyResult<Object> {
    let (x, cos, sin) = (x.contiguous(py)?, cos.contiguous(py)?, sin.contiguous(py)?);
    let positions = positions.map(|p| p.contiguous(py)).transpose()?;
    let &[.., tokens, heads, columns] = x.dims() else {
        return Err(shape_error(py, what, format!("x is {:?}: .. x tokens x heads x d is needed", x.dims())));
    };
    let &[rows, half] = cos.dims() else {
        return Err(shape_error(py, what, format!("cos is {:?}: rows x half is needed", cos.dims())));
    };
    if sin.dims() != cos.dims() {
        return Err(shape_error(py, what, format!("cos is {:?} and sin {:?}", cos.dims(), sin.dims())));
    }
    for table in [&cos, &sin] {
        if table.dtype() != DType::F32 {
            return Err(tilewright_python::dtype_error(py, what, table.dtype(), "f32 for cos and sin"));
        }
    }
    let of_tokens = &x.dims()[..x.dims().len() - 2];
    let mut read = vec![&cos, &sin];
    if let Some(positions) = &positions {
        is_i32(py, what, "positions", positions)?;
        if positions.dims() != of_tokens {
            let why = format!("positions are {:?}, and the tokens of x {of_tokens:?}", positions.dims());
            return Err(shape_error(py, what, why));
        }
        read.push(positions);
    } else if rows < tokens {
        return Err(shape_error(
            py,
            what,
            format!("cos has {rows} rows for {tokens} tokens, and there are no positions"),
        ));
    }
    let context = x.context_with(py, &read)?;
    let mut out = Output::or_empty(py, out, &x, x.dims(), x.dtype())?;
    run_by_dtype!(py, what, context, x, [F32: f32, F16: f16, BF16: bf16], T => |on| {
        let (x, y, on) = (x.slice::<T>()?, out.slice_mut::<T>()?, &options(on));
        let rope = ops::Rope::new(cos.slice::<f32>()?, sin.slice::<f32>()?, half);
        let mut rope = rope.interleaved(interleaved).sequences_of(tokens);
        if let Some(positions) = &positions {
            rope = rope.positions(positions.slice::<i32>()?);
        }
        if back { rope.launch_backward(on, x, y, heads, columns) } else { rope.launch(on, x, y, heads, columns) }
    })?;
    out.into_object(py)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(embedding, m)?)?;
    m.add_function(wrap_pyfunction!(embedding_backward, m)?)?;
    m.add_function(wrap_pyfunction!(rope, m)?)?;
    m.add_function(wrap_pyfunction!(rope_backward, m)?)
}
