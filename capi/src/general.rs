//! The general operations, and the parts that the challenge operations share.

use crate::at::At;
use crate::dtype::by_float;
use crate::guard::{Result, enter};
use crate::memory::{Array, long};
use core::ffi::{c_float, c_int, c_longlong, c_ulonglong, c_void};
use tilewright_ops::{self as ops, Float};

/// The slope of the leaky ReLU.
pub(crate) const SLOPE: f32 = 0.01;

/// Calls a function of this file for the element type of a dtype.
macro_rules! by_dtype { ($at:expr, $dtype:expr, $f:ident($($ptr:ident),*; $n:ident)) => {{
    let n = $crate::memory::long(stringify!($n), $n)?;
    // SAFETY: the contract of the C function around it: the pointers address `n` elements of the dtype.
    $crate::dtype::by_float!($dtype, T => unsafe { $crate::general::$f::<T>($at, $($ptr.cast()),*, n) })
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

/// y = gate / (1 + e^-gate) * up, for dtype 0 (f32), 1 (f16), 2 (bf16). y may be gate or up.
///
/// # Safety
/// The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_swiglu(
    dtype: c_int,
    gate: *const c_void,
    up: *const c_void,
    y: *mut c_void,
    N: c_longlong,
) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, swiglu(gate, up, y; N)))
}

/// The gradients of tile_swiglu, d_gate of gate and d_up of up, where dy is that of y, for dtype 0 (f32), 1 (f16), 2
/// (bf16).
///
/// # Safety
/// The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_swiglu_backward(
    dtype: c_int,
    gate: *const c_void,
    up: *const c_void,
    dy: *const c_void,
    d_gate: *mut c_void,
    d_up: *mut c_void,
    N: c_longlong,
) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, swiglu_backward(gate, up, dy, d_gate, d_up; N)))
}

/// y = x / (1 - p) where an element is kept, else 0, for dtype 0 (f32), 1 (f16), 2 (bf16). Each is dropped with
/// probability p, from 0 to 1. Which ones are kept depends on seed and on their places alone: the gradient of x is the
/// dropout of that of y. y may be x.
///
/// # Safety
/// The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_dropout(
    dtype: c_int,
    x: *const c_void,
    y: *mut c_void,
    N: c_longlong,
    p: c_float,
    seed: c_ulonglong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { dropout(At::Thread, dtype, x, y, N, p, seed) })
}

/// # Safety
/// As of [`tile_dropout`].
pub(crate) unsafe fn dropout(
    at: At<'_>,
    dtype: c_int,
    x: *const c_void,
    y: *mut c_void,
    N: c_longlong,
    p: c_float,
    seed: c_ulonglong,
) -> Result<()> {
    let n = long("N", N)?;
    // SAFETY: the caller's contract.
    by_float!(dtype, T => unsafe {
        unary::<T>(at, x.cast(), y.cast(), n, |on, x, y| ops::dropout(on, x, y, p, seed))
    })
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

/// # Safety
/// The pointers address `n` elements each.
pub(crate) unsafe fn swiglu<T: Float>(at: At<'_>, gate: *const T, up: *const T, y: *mut T, n: usize) -> Result<()> {
    // SAFETY: the caller's contract.
    let (gate, up) = unsafe { (Array::new("gate", gate, n)?, Array::new("up", up, n)?) };
    // SAFETY: as above.
    let y = unsafe { Array::new("y", y.cast_const(), n)? };
    y.apart_or_same(&gate)?;
    y.apart_or_same(&up)?;
    at.run(n, |on, device| ops::swiglu(on, gate.input(device), up.input(device), y.output(device)))
}

/// # Safety
/// The pointers address `n` elements each.
pub(crate) unsafe fn swiglu_backward<T: Float>(
    at: At<'_>,
    gate: *const T,
    up: *const T,
    dy: *const T,
    d_gate: *mut T,
    d_up: *mut T,
    n: usize,
) -> Result<()> {
    // SAFETY: the caller's contract.
    let [gate, up, dy] = unsafe { [Array::new("gate", gate, n)?, Array::new("up", up, n)?, Array::new("dy", dy, n)?] };
    // SAFETY: as above.
    let d_gate = unsafe { Array::new("d_gate", d_gate.cast_const(), n)? };
    // SAFETY: as above.
    let d_up = unsafe { Array::new("d_up", d_up.cast_const(), n)? };
    for read in [&gate, &up, &dy] {
        d_gate.apart(read)?;
        d_up.apart(read)?;
    }
    d_up.apart(&d_gate)?;
    at.run(n, |on, device| {
        let (gate, up, dy) = (gate.input(device), up.input(device), dy.input(device));
        ops::swiglu_backward(on, gate, up, dy, d_gate.output(device), d_up.output(device))
    })
}
