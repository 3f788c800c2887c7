//! Products of matrices.

use crate::arguments::{options, queue, run, run_by_dtype, same_dtype, shape_error};
use pyo3::prelude::*;
use tilewright_core::{DType, ViewArg, ViewMutArg, bf16, f8e4m3, f8e5m2, f16};
use tilewright_ops::{self as ops, BatchedMatmul, Epilogue, ExecOptions, Matmul, Multiply, Precision};
use tilewright_python::{Array, Output};

type Object = Py<PyAny>;

/// The product ``a @ b`` of ``m x k`` and ``k x n``, or of each pair of ``h x m x k`` and ``h x k x n``.
///
/// Arrays of other ranks are reshaped by the caller, as in ``x.reshape(-1, k)``. ``out`` may have any strides that keep
/// elements apart.
///
/// f32, f16 and bf16; of matrices also int8, whose product is int32, and 8-bit floats, whose product is bf16. Sums are
/// those of f32, or exact. ``activation``, of matrices, is ``"relu"`` or ``"leaky_relu"`` of every sum. ``precision``
/// ``"tf32"`` rounds f32 operands to 10 bits of fraction; ``"f32"``, the default, is as accurate as multiply-adds.
#[pyfunction]
#[pyo3(signature = (a, b, /, *, activation = None, negative_slope = 0.01, precision = None, out = None))]
fn matmul(
    py: Python<'_>,
    a: Array,
    b: Array,
    activation: Option<&str>,
    negative_slope: f32,
    precision: Option<&str>,
    out: Option<Output>,
) -> PyResult<Object> {
    const WHAT: &str = "matmul";
    let invalid =
        |why: String| tilewright_python::raise(py, tilewright_runtime::Error::InvalidArgument { what: WHAT, why });
    let epilogue = match activation {
        None => Epilogue::None,
        Some("relu") => Epilogue::Relu,
        Some("leaky_relu") => Epilogue::LeakyRelu(negative_slope),
        Some(other) => return Err(invalid(format!("activation is `{other}`: None, `relu` or `leaky_relu`"))),
    };
    let precision = match precision {
        None => Precision::Default,
        Some("f32") => Precision::F32,
        Some("tf32") if a.dtype() == DType::F32 => Precision::Tf32,
        Some("tf32") => return Err(invalid(format!("precision is `tf32`, which is of f32, not {}", a.dtype().name()))),
        Some(other) => return Err(invalid(format!("precision is `{other}`: None, `f32` or `tf32`"))),
    };
    same_dtype(py, WHAT, &a, &[&b])?;
    let context = a.context_with(py, &[&b])?;
    let dims = dims_of_product(py, &a, &b)?;
    let product = match a.dtype() {
        DType::I8 => DType::I32,
        DType::F8E4M3 | DType::F8E5M2 => DType::BF16,
        other => other,
    };
    let mut out = Output::or_empty(py, out, &a, &dims, product)?;
    if dims.len() == 3 {
        if epilogue != Epilogue::None || precision == Precision::Tf32 {
            let why = "a stack of products has neither an activation nor the precision tf32";
            return Err(invalid(format!("{why}: apply the function to the result")));
        }
        run_by_dtype!(py, "matmul", context, a, [F32: f32, F16: f16, BF16: bf16], T => |on| {
            BatchedMatmul::<T>::new(a.view()?, b.view()?, out.view_mut()?).launch(&options(on))
        })?;
    } else {
        run_by_dtype!(
            py, "matmul", context, a,
            [F32: f32, F16: f16, BF16: bf16, I8: i8, F8E4M3: f8e4m3, F8E5M2: f8e5m2], T => |on| {
                <T as Product>::launch(&options(on), a.view()?, b.view()?, out.view_mut()?, epilogue, precision)
            }
        )?;
    }
    out.into_object(py)
}

fn dims_of_product(py: Python<'_>, a: &Array, b: &Array) -> PyResult<Vec<usize>> {
    match (a.dims(), b.dims()) {
        (&[m, k], &[l, n]) if k == l => Ok(vec![m, n]),
        (&[h, m, k], &[i, l, n]) if k == l && h == i => Ok(vec![h, m, n]),
        (x, y) => {
            let why = if x.len() == y.len() && matches!(x.len(), 2 | 3) {
                "the columns of `a` are the rows of `b`, and stacks have one length"
            } else {
                "both are matrices, or equal stacks of them: reshape other arrays"
            };
            let why = format!("{x:?} by {y:?}: {why}");
            Err(shape_error(py, "matmul", why))
        }
    }
}

/// A product with the options of its element type.
trait Product: Multiply {
    fn launch(
        on: &ExecOptions,
        a: ViewArg<Self, 2>,
        b: ViewArg<Self, 2>,
        c: ViewMutArg<Self::Product, 2>,
        epilogue: Epilogue,
        _: Precision,
    ) -> tilewright_runtime::Result<()> {
        Matmul::new(a, b, c).epilogue(epilogue).launch(on)
    }
}

impl Product for f16 {}
impl Product for bf16 {}
impl Product for i8 {}
impl Product for f8e4m3 {}
impl Product for f8e5m2 {}
impl Product for f32 {
    fn launch(
        on: &ExecOptions,
        a: ViewArg<f32, 2>,
        b: ViewArg<f32, 2>,
        c: ViewMutArg<f32, 2>,
        epilogue: Epilogue,
        precision: Precision,
    ) -> tilewright_runtime::Result<()> {
        Matmul::new(a, b, c).epilogue(epilogue).precision(precision).launch(on)
    }
}

/// ``a[r] @ b[g]`` for the rows ``r`` of every group ``g``, as in a mixture of experts.
///
/// ``a`` is ``m x k`` and ``b`` ``groups x k x n``, with any strides: weights of ``n x k`` are given as ``w.mT``. f16
/// or bf16, summed in f32.
///
/// ``ends`` are int32, one for each group, and on the device of ``a``. Group ``g`` has the rows from the end of the
/// group before to ``ends[g]``, and may have none. An end beyond ``m`` stands for ``m``, and an end below an earlier
/// one makes a group without rows. Rows behind the last end are not written: in a new array they hold anything.
#[pyfunction]
#[pyo3(signature = (a, b, ends, /, *, out = None))]
fn grouped_matmul(py: Python<'_>, a: Array, b: Array, ends: Array, out: Option<Output>) -> PyResult<Object> {
    const WHAT: &str = "grouped_matmul";
    same_dtype(py, WHAT, &a, &[&b])?;
    let ends = ends.contiguous(py)?;
    let dims = match (a.dims(), b.dims(), ends.dims()) {
        (&[m, k], &[groups, l, n], &[e]) if k == l && groups == e => [m, n],
        (x, y, z) => {
            let why = format!("{x:?} by {y:?} with ends {z:?}: m x k, groups x k x n and groups are needed");
            return Err(shape_error(py, WHAT, why));
        }
    };
    if ends.dtype() != DType::I32 {
        let cure = "i32 for ends: convert them, as with ends.astype('int32')";
        return Err(tilewright_python::dtype_error(py, WHAT, ends.dtype(), cure));
    }
    let context = a.context_with(py, &[&b, &ends])?;
    let mut out = Output::or_empty(py, out, &a, &dims, a.dtype())?;
    run_by_dtype!(py, "grouped_matmul", context, a, [F16: f16, BF16: bf16], T => |on| {
        ops::grouped_matmul::<T>(&options(on), a.view()?, b.view()?, ends.slice::<i32>()?, out.slice_mut::<T>()?)
    })?;
    out.into_object(py)
}

/// The sum of ``a[i] * b[i]`` of two vectors. f32 or f16, summed in f32. The result has rank 0.
#[pyfunction]
#[pyo3(signature = (a, b, /, *, out = None))]
fn dot(py: Python<'_>, a: Array, b: Array, out: Option<Output>) -> PyResult<Object> {
    same_dtype(py, "dot", &a, &[&b])?;
    let (a, b) = (a.contiguous(py)?, b.contiguous(py)?);
    let context = a.context_with(py, &[&b])?;
    match (a.dims(), b.dims()) {
        ([m], [n]) if m == n => {}
        (x, y) => return Err(shape_error(py, "dot", format!("{x:?} and {y:?}: two vectors of one length are needed"))),
    }
    let mut out = Output::or_empty(py, out, &a, &[], a.dtype())?;
    match a.dtype() {
        DType::F16 => run(py, "dot", context, |on| {
            ops::dot_product(&options(on), a.slice::<f16>()?, b.slice::<f16>()?, out.slice_mut::<f16>()?)
        })?,
        DType::F32 => run(py, "dot", context, |on| {
            tilewright_challenges::dot_product(
                &queue(on),
                a.slice::<f32>()?,
                b.slice::<f32>()?,
                out.slice_mut::<f32>()?,
            )
        })?,
        other => return Err(tilewright_python::dtype_error(py, "dot", other, "f32, f16")),
    }
    out.into_object(py)
}

pub fn register(m: &Bound<'_, PyModule>) -> PyResult<()> {
    m.add_function(wrap_pyfunction!(matmul, m)?)?;
    m.add_function(wrap_pyfunction!(grouped_matmul, m)?)?;
    m.add_function(wrap_pyfunction!(dot, m)?)
}
