//! The general operations, and what they share with the challenge ones.

use crate::at::At;
use crate::guard::{Result, enter};
use crate::memory::{Array, area, long};
use core::ffi::{c_float, c_int, c_longlong, c_void};
use tilewright_ops::{self as ops, Float};

/// The slope of the leaky ReLU.
pub(crate) const SLOPE: f32 = 0.01;

/// Calls a function of this file for the element type of a dtype.
macro_rules! by_dtype { ($at:expr, $dtype:expr, $f:ident($($ptr:ident),*; $n:ident)) => {{
    let n = $crate::memory::long(stringify!($n), $n)?;
    // SAFETY: the contract of the C function around it: the pointers address `n` elements of the dtype.
    unsafe {
        match $dtype {
            $crate::TILE_DTYPE_F32 => $crate::general::$f::<f32>($at, $($ptr.cast()),*, n),
            $crate::TILE_DTYPE_F16 => $crate::general::$f::<tilewright_core::f16>($at, $($ptr.cast()),*, n),
            $crate::TILE_DTYPE_BF16 => $crate::general::$f::<tilewright_core::bf16>($at, $($ptr.cast()),*, n),
            other => Err($crate::guard::Failure::argument(format!("dtype is {other}: 0 is f32, 1 f16, 2 bf16"))),
        }
    }
}} }
pub(crate) use by_dtype;

/// c = a + b, for dtype 0 (f32), 1 (f16), 2 (bf16). c may be a or b.
///
/// # Safety
/// The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_vector_add(
    dtype: c_int,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    N: c_longlong,
) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, add(a, b, c; N)))
}

/// y = max(x, 0), for dtype 0 (f32), 1 (f16), 2 (bf16). y may be x.
///
/// # Safety
/// The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_relu(dtype: c_int, x: *const c_void, y: *mut c_void, N: c_longlong) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, relu(x, y; N)))
}

/// y = x, or 0.01 x where x is negative, for dtype 0 (f32), 1 (f16), 2 (bf16). y may be x.
///
/// # Safety
/// The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_leaky_relu(dtype: c_int, x: *const c_void, y: *mut c_void, N: c_longlong) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, leaky_relu(x, y; N)))
}

/// GeLU in its tanh form, for dtype 0 (f32), 1 (f16), 2 (bf16). y may be x.
///
/// # Safety
/// The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_gelu(dtype: c_int, x: *const c_void, y: *mut c_void, N: c_longlong) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, gelu(x, y; N)))
}

/// Softmax of every row of a rows x cols matrix.
///
/// # Safety
/// The pointers address rows * cols floats each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_softmax_rows(
    x: *const c_float,
    y: *mut c_float,
    rows: c_longlong,
    cols: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { softmax_rows(At::Thread, x, y, rows, cols) })
}

/// # Safety
/// As of [`tile_softmax_rows`].
pub(crate) unsafe fn softmax_rows(
    at: At<'_>,
    x: *const c_float,
    y: *mut c_float,
    rows: c_longlong,
    cols: c_longlong,
) -> Result<()> {
    let (rows, cols) = (long("rows", rows)?, long("cols", cols)?);
    let n = area(rows, cols)?;
    // SAFETY: the caller's contract.
    let (x, y) = unsafe { (Array::new("x", x, n)?, Array::new("y", y.cast_const(), n)?) };
    y.apart(&x)?;
    at.run(n, |on, device| ops::softmax_rows(on, x.input(device), y.output(device), rows, cols))
}

/// # Safety
/// The pointers address `n` elements each.
pub(crate) unsafe fn add<T: Float>(at: At<'_>, a: *const T, b: *const T, c: *mut T, n: usize) -> Result<()> {
    // SAFETY: the caller's contract.
    let (a, b, c) = unsafe { (Array::new("a", a, n)?, Array::new("b", b, n)?, Array::new("c", c.cast_const(), n)?) };
    c.apart_or_same(&a)?;
    c.apart_or_same(&b)?;
    at.run(n, |on, device| ops::vector_add(on, a.input(device), b.input(device), c.output(device)))
}

/// # Safety
/// The pointers address `n` elements each.
unsafe fn unary<T: Float>(
    at: At<'_>,
    x: *const T,
    y: *mut T,
    n: usize,
    run: impl FnOnce(
        &ops::ExecOptions,
        tilewright_core::SliceArg<T>,
        tilewright_core::SliceMutArg<T>,
    ) -> tilewright_runtime::Result<()>,
) -> Result<()> {
    // SAFETY: the caller's contract.
    let (x, y) = unsafe { (Array::new("x", x, n)?, Array::new("y", y.cast_const(), n)?) };
    y.apart_or_same(&x)?;
    at.run(n, |on, device| run(on, x.input(device), y.output(device)))
}

/// # Safety
/// The pointers address `n` elements each.
pub(crate) unsafe fn relu<T: Float>(at: At<'_>, x: *const T, y: *mut T, n: usize) -> Result<()> {
    // SAFETY: the caller's contract.
    unsafe { unary(at, x, y, n, |on, x, y| ops::relu(on, x, y)) }
}

/// # Safety
/// The pointers address `n` elements each.
pub(crate) unsafe fn leaky_relu<T: Float>(at: At<'_>, x: *const T, y: *mut T, n: usize) -> Result<()> {
    // SAFETY: the caller's contract.
    unsafe { unary(at, x, y, n, |on, x, y| ops::leaky_relu(on, x, y, SLOPE)) }
}

/// # Safety
/// The pointers address `n` elements each.
pub(crate) unsafe fn gelu<T: Float>(at: At<'_>, x: *const T, y: *mut T, n: usize) -> Result<()> {
    // SAFETY: the caller's contract.
    unsafe { unary(at, x, y, n, |on, x, y| ops::gelu(on, x, y)) }
}
