//! Attention.

use crate::arguments::{options, run_by_dtype, same_dtype, shape_error};
use pyo3::prelude::*;
use tilewright_core::{bf16, f16};
use tilewright_ops::Attention;
use tilewright_python::{Array, Output};

/// ``softmax(scale * q @ k.T) @ v`` of every head. f16 or bf16.
///
/// ``q`` and the result are ``heads x queries x d``, ``k`` and ``v`` ``shared x keys x d``, or all with a batch before.
/// ``heads`` is a multiple of ``shared``, and ``d`` is 1 to 128. ``scale`` is ``1 / sqrt(d)`` unless it is given, 1e-30
/// at least. With ``causal`` the last query sees all keys, the one before it all but the last, and so on. A query that
/// sees no key gives zeros.
#[pyfunction]
#[pyo3(signature = (q, k, v, /, *, scale = None, causal = false, out = None))]
fn attention(
    py: Python<'_>,
    q: Array,
    k: Array,
    v: Array,
    scale: Option<f32>,
    causal: bool,
    out: Option<Output>,
) -> PyResult<Py<PyAny>> {
    same_dtype(py, "attention", &q, &[&k, &v])?;
    let dims = q.dims().to_vec();
    let mut out = Output::or_empty(py, out, &q, &dims, q.dtype())?;
    // With heads alone their strides are kept; batches of heads are one row of heads.
    match dims.len() {
        3 => {
            let context = q.context_with(py, &[&k, &v])?;
            run_by_dtype!(py, "attention", context, q, [F16: f16, BF16: bf16], T => |on| {
                let attention = Attention::<T>::new(q.view()?, k.view()?, v.view()?, out.view_mut()?);
                with(attention, scale, causal).launch(&options(on))
            })?;
        }
        4 => {
            let (q, k, v) = (q.contiguous(py)?, k.contiguous(py)?, v.contiguous(py)?);
            let (q_dims, k_dims, v_dims) = (heads(py, &q)?, heads(py, &k)?, heads(py, &v)?);
            if q.dims()[0] != k.dims()[0] || q.dims()[0] != v.dims()[0] {
                let why = format!("batches of {}, {} and {}", q.dims()[0], k.dims()[0], v.dims()[0]);
                return Err(shape_error(py, "attention", why));
            }
            let context = q.context_with(py, &[&k, &v])?;
            run_by_dtype!(py, "attention", context, q, [F16: f16, BF16: bf16], T => |on| {
                let (q, k, v) = (q.slice()?.view(q_dims)?, k.slice()?.view(k_dims)?, v.slice()?.view(v_dims)?);
                let attention = Attention::<T>::new(q, k, v, out.slice_mut()?.view(q_dims)?);
                with(attention, scale, causal).launch(&options(on))
            })?;
        }
        _ => {
            let why = format!("q is {dims:?}: heads x queries x d, or batch x heads x queries x d");
            return Err(shape_error(py, "attention", why));
        }
    }
    out.into_object(py)
}

fn with<T: tilewright_ops::Attend>(attention: Attention<'_, T>, scale: Option<f32>, causal: bool) -> Attention<'_, T> {
    let attention = scale.into_iter().fold(attention, Attention::scale);
    if causal { attention.causal() } else { attention }
}

/// The heads of all batches.
fn heads(py: Python<'_>, x: &Array) -> PyResult<[usize; 3]> {
    match *x.dims() {
        [batch, heads, rows, d] => Ok([batch.saturating_mul(heads), rows, d]),
        _ => Err(shape_error(py, "attention", format!("{:?} beside a q of rank 4", x.dims()))),
    }
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(attention, m)?)
}
