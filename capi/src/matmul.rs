//! Products of matrices.

use crate::at::At;
use crate::codes::*;
use crate::general::SLOPE;
use crate::guard::{Failure, Result, enter};
use crate::memory::{Array, flag, long, operand, volume};
use core::ffi::{c_int, c_longlong, c_void};
use tilewright_core::{Element, ViewArg, ViewMutArg, bf16, f8e4m3, f8e5m2, f16};
use tilewright_ops::{self as ops, Epilogue, Matmul, Multiply, Precision, Transpose};

/// c = op(a) op(b), of m x k and k x n: op transposes where trans_a, trans_b are 1. dtype: 0 f32, 1 f16, 2 bf16, 3 int8
/// (c is int32), 4 fp8 e4m3, 5 fp8 e5m2 (c is bf16). precision: 0 default, 1 the accuracy of f32, 2 tf32 (of f32
/// alone).
///
/// # Safety
/// The pointers address m * k, k * n and m * n elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_matmul(
    dtype: c_int,
    precision: c_int,
    trans_a: c_int,
    trans_b: c_int,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    m: c_longlong,
    n: c_longlong,
    k: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { general(At::Thread, Epilogue::None, [dtype, precision, trans_a, trans_b], a, b, c, [m, n, k]) })
}

/// As tile_matmul, with max(x, 0) of every sum.
///
/// # Safety
/// As tile_matmul.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_matmul_relu(
    dtype: c_int,
    precision: c_int,
    trans_a: c_int,
    trans_b: c_int,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    m: c_longlong,
    n: c_longlong,
    k: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { general(At::Thread, Epilogue::Relu, [dtype, precision, trans_a, trans_b], a, b, c, [m, n, k]) })
}

/// As tile_matmul, with 0.01 x for every negative sum x; not of int8.
///
/// # Safety
/// As tile_matmul.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_matmul_leaky_relu(
    dtype: c_int,
    precision: c_int,
    trans_a: c_int,
    trans_b: c_int,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    m: c_longlong,
    n: c_longlong,
    k: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe {
        general(At::Thread, Epilogue::LeakyRelu(SLOPE), [dtype, precision, trans_a, trans_b], a, b, c, [m, n, k])
    })
}

/// # Safety
/// As of [`tile_matmul`].
pub(crate) unsafe fn general(
    at: At<'_>,
    epilogue: Epilogue,
    [dtype, precision, trans_a, trans_b]: [c_int; 4],
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    [m, n, k]: [c_longlong; 3],
) -> Result<()> {
    let precision = match precision {
        TILE_PRECISION_DEFAULT => Precision::Default,
        TILE_PRECISION_F32 => Precision::F32,
        TILE_PRECISION_TF32 if dtype == TILE_DTYPE_F32 => Precision::Tf32,
        TILE_PRECISION_TF32 => {
            return Err(Failure::argument(format!("precision is 2: tf32 is of f32, dtype 0, and dtype is {dtype}")));
        }
        other => {
            return Err(Failure::argument(format!(
                "precision is {other}: 0 is the default, 1 the accuracy of f32, 2 tf32"
            )));
        }
    };
    let transpose = Transpose { a: flag("trans_a", trans_a)?, b: flag("trans_b", trans_b)? };
    let extents = [long("m", m)?, long("n", n)?, long("k", k)?];
    // SAFETY: the caller's contract.
    unsafe {
        match dtype {
            TILE_DTYPE_F32 => {
                typed::<f32>(at, epilogue, transpose, a, b, c, extents, |product| product.precision(precision))
            }
            TILE_DTYPE_F16 => typed::<f16>(at, epilogue, transpose, a, b, c, extents, |product| product),
            TILE_DTYPE_BF16 => typed::<bf16>(at, epilogue, transpose, a, b, c, extents, |product| product),
            TILE_DTYPE_I8 if matches!(epilogue, Epilogue::LeakyRelu(_)) => {
                Err(Failure::argument("dtype is 3: a fraction of an int32 is none".into()))
            }
            TILE_DTYPE_I8 => typed::<i8>(at, epilogue, transpose, a, b, c, extents, |product| product),
            TILE_DTYPE_F8E4M3 => typed::<f8e4m3>(at, epilogue, transpose, a, b, c, extents, |product| product),
            TILE_DTYPE_F8E5M2 => typed::<f8e5m2>(at, epilogue, transpose, a, b, c, extents, |product| product),
            other => Err(Failure::argument(format!(
                "dtype is {other}: 0 is f32, 1 f16, 2 bf16, 3 int8, 4 fp8 e4m3, 5 fp8 e5m2"
            ))),
        }
    }
}

/// # Safety
/// The pointers address matrices of T and of its products, of the extents.
unsafe fn typed<T: Multiply>(
    at: At<'_>,
    epilogue: Epilogue,
    t: Transpose,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    [m, n, k]: [usize; 3],
    with: impl for<'a> FnOnce(Matmul<'a, T>) -> Matmul<'a, T>,
) -> Result<()> {
    let (dims_a, dims_b) = (if t.a { [k, m] } else { [m, k] }, if t.b { [n, k] } else { [k, n] });
    let (a, b, c) = (a.cast(), b.cast(), c.cast());
    // SAFETY: the caller's contract.
    let p = unsafe { Operands::<T, T::Product, 2>::new(["a", "b", "c"], a, b, c, dims_a, dims_b, [m, n]) }?;
    p.run(at, |on, a, b, c| with(Matmul::new(a, b, c).transpose(t).epilogue(epilogue)).launch(on))
}

/// Two matrices, or batches of them, and the place of their product, as they were handed over.
pub(crate) struct Operands<'a, T, U, const R: usize> {
    a: (Array<'a, T>, [usize; R]),
    b: (Array<'a, T>, [usize; R]),
    c: (Array<'a, U>, [usize; R]),
}

impl<'a, T: Element, U: Element, const R: usize> Operands<'a, T, U, R> {
    /// # Safety
    /// The pointers address as many elements as the extents say; otherwise as of [`Array::new`].
    pub unsafe fn new(
        names: [&'a str; 3],
        a: *const T,
        b: *const T,
        c: *mut U,
        dims_a: [usize; R],
        dims_b: [usize; R],
        dims_c: [usize; R],
    ) -> Result<Self> {
        let results = volume(&dims_c)?;
        // SAFETY: the caller's contract.
        let (a, b, c) = unsafe {
            (
                Array::new(names[0], a, operand(&dims_a, results)?)?,
                Array::new(names[1], b, operand(&dims_b, results)?)?,
                Array::new(names[2], c.cast_const(), results)?,
            )
        };
        c.apart(&a)?;
        c.apart(&b)?;
        Ok(Operands { a: (a, dims_a), b: (b, dims_b), c: (c, dims_c) })
    }

    pub fn run(
        &self,
        at: At<'_>,
        multiply: impl FnOnce(
            &ops::ExecOptions,
            ViewArg<T, R>,
            ViewArg<T, R>,
            ViewMutArg<U, R>,
        ) -> tilewright_runtime::Result<()>,
    ) -> Result<()> {
        at.run(volume(&self.c.1)?, |on, device| {
            let (a, b) = (self.a.0.input(device).view(self.a.1)?, self.b.0.input(device).view(self.b.1)?);
            multiply(on, a, b, self.c.0.output(device).view(self.c.1)?)
        })
    }
}
