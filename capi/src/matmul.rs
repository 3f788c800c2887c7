//! Products of matrices.

use crate::backend;
use crate::guard::{Failure, Result, enter};
use crate::memory::{Array, flag, int, long, operand, volume};
use core::ffi::{c_float, c_int, c_longlong, c_void};
use tilewright_core::{Element, ViewArg, ViewMutArg, bf16, f8e4m3, f8e5m2, f16};
use tilewright_runtime::ops::{self, Multiply, Precision, Transpose};

/// The slope of the leaky ReLU.
const SLOPE: f32 = 0.01;

/// What is done to the sums.
#[derive(Clone, Copy, PartialEq)]
enum Activation {
    None,
    Relu,
    LeakyRelu,
}

/// C = A B to the accuracy of f32: A is M x N, B is N x K, C is M x K.
///
/// # Safety
/// The pointers address M * N, N * K and M * K floats.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn solve_matrix_multiplication(
    A: *const c_float,
    B: *const c_float,
    C: *mut c_float,
    M: c_int,
    N: c_int,
    K: c_int,
) -> c_int {
    enter(|| {
        let (m, n, k) = (int("M", M)?, int("N", N)?, int("K", K)?);
        // SAFETY: the caller's contract.
        let p = unsafe { Operands::new(["A", "B", "C"], A, B, C, [m, n], [n, k], [m, k]) }?;
        p.run(|on, a, b, c| ops::matrix_multiplication(on, a, b, c))
    })
}

/// c = op(a) op(b), of m x k and k x n: op transposes where trans_a, trans_b are 1. dtype: 0 f32, 1 f16, 2 bf16, 3 int8 (c
/// is int32), 4 fp8 e4m3, 5 fp8 e5m2 (c is bf16). precision: 0 default, 1 the accuracy of f32, 2 tf32 (of f32 alone).
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
    enter(|| unsafe { general(Activation::None, [dtype, precision, trans_a, trans_b], a, b, c, [m, n, k]) })
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
    enter(|| unsafe { general(Activation::Relu, [dtype, precision, trans_a, trans_b], a, b, c, [m, n, k]) })
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
    enter(|| unsafe { general(Activation::LeakyRelu, [dtype, precision, trans_a, trans_b], a, b, c, [m, n, k]) })
}

/// # Safety
/// As of [`tile_matmul`].
unsafe fn general(
    activation: Activation,
    [dtype, precision, trans_a, trans_b]: [c_int; 4],
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    [m, n, k]: [c_longlong; 3],
) -> Result<()> {
    let precision = match precision {
        0 => Precision::Default,
        1 => Precision::F32,
        2 if dtype == 0 => Precision::Tf32,
        2 => return Err(Failure::argument(format!("precision is 2: tf32 is of f32, dtype 0, and dtype is {dtype}"))),
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
            0 => typed::<f32>(activation, precision, transpose, a, b, c, extents),
            1 => typed::<f16>(activation, precision, transpose, a, b, c, extents),
            2 => typed::<bf16>(activation, precision, transpose, a, b, c, extents),
            3 if activation == Activation::LeakyRelu => {
                Err(Failure::argument("dtype is 3: a fraction of an int32 is none".into()))
            }
            3 => typed::<i8>(activation, precision, transpose, a, b, c, extents),
            4 => typed::<f8e4m3>(activation, precision, transpose, a, b, c, extents),
            5 => typed::<f8e5m2>(activation, precision, transpose, a, b, c, extents),
            other => Err(Failure::argument(format!(
                "dtype is {other}: 0 is f32, 1 f16, 2 bf16, 3 int8, 4 fp8 e4m3, 5 fp8 e5m2"
            ))),
        }
    }
}

/// # Safety
/// The pointers address matrices of T and of its products, of the extents.
unsafe fn typed<T: Multiply>(
    activation: Activation,
    precision: Precision,
    t: Transpose,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    [m, n, k]: [u64; 3],
) -> Result<()> {
    let (dims_a, dims_b) = (if t.a { [k, m] } else { [m, k] }, if t.b { [n, k] } else { [k, n] });
    let (a, b, c) = (a.cast(), b.cast(), c.cast());
    // SAFETY: the caller's contract.
    let p = unsafe { Operands::<T, T::Product, 2>::new(["a", "b", "c"], a, b, c, dims_a, dims_b, [m, n]) }?;
    p.run(|on, a, b, c| match activation {
        Activation::None => ops::matmul(on, a, b, c, t, precision),
        Activation::Relu => ops::matmul_relu(on, a, b, c, t, precision),
        Activation::LeakyRelu => ops::matmul_leaky_relu(on, a, b, c, t, precision, SLOPE),
    })
}

/// Two matrices, or batches of them, and the place of their product, as they were handed over.
pub(crate) struct Operands<'a, T, U, const R: usize> {
    a: (Array<'a, T>, [u64; R]),
    b: (Array<'a, T>, [u64; R]),
    c: (Array<'a, U>, [u64; R]),
}

impl<'a, T: Element, U: Element, const R: usize> Operands<'a, T, U, R> {
    /// # Safety
    /// The pointers address as many elements as the extents say; otherwise as of [`Array::new`].
    pub unsafe fn new(
        names: [&'a str; 3],
        a: *const T,
        b: *const T,
        c: *mut U,
        dims_a: [u64; R],
        dims_b: [u64; R],
        dims_c: [u64; R],
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
        multiply: impl FnOnce(&ops::On, ViewArg<T, R>, ViewArg<T, R>, ViewMutArg<U, R>) -> tilewright_runtime::Result<()>,
    ) -> Result<()> {
        backend::with(volume(&self.c.1)?, |on, place| {
            let (a, b, c) = (
                self.a.0.input(place).view(self.a.1),
                self.b.0.input(place).view(self.b.1),
                self.c.0.output(place).view(self.c.1),
            );
            match (a, b, c) {
                (Some(a), Some(b), Some(c)) => multiply(on, a, b, c),
                _ => Err(tilewright_runtime::Error::Shape {
                    what: "matmul",
                    why: "an array is not as long as its matrix".into(),
                }),
            }
        })
    }
}
