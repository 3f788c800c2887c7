//! The general operations with a handle: the arguments of the functions without one, behind it.

use crate::at::At;
use crate::attention::attention;
use crate::batched;
use crate::general::{SLOPE, by_dtype, dropout};
use crate::guard::Result;
use crate::handle::{enter, tile_handle_t};
use crate::matmul::general;
use core::ffi::{c_float, c_int, c_longlong, c_ulonglong, c_void};
use tilewright_ops::Epilogue;

/// Runs an operation with a handle.
///
/// # Safety
/// As of [`enter`].
pub(crate) unsafe fn enter_at(handle: tile_handle_t, body: impl FnOnce(At<'_>) -> Result<()>) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { enter(handle, |handle| body(At::Handle(handle))) }
}

/// As tile_vector_add, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_vector_add(
    handle: tile_handle_t,
    dtype: c_int,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    N: c_longlong,
) -> c_int {
    let body = |at: At<'_>| by_dtype!(at, dtype, add(a, b, c; N));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// As tile_relu, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_relu(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    y: *mut c_void,
    N: c_longlong,
) -> c_int {
    let body = |at: At<'_>| by_dtype!(at, dtype, relu(x, y; N));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// As tile_leaky_relu, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_leaky_relu(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    y: *mut c_void,
    N: c_longlong,
) -> c_int {
    let body = |at: At<'_>| by_dtype!(at, dtype, leaky_relu(x, y; N));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// As tile_gelu, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_gelu(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    y: *mut c_void,
    N: c_longlong,
) -> c_int {
    let body = |at: At<'_>| by_dtype!(at, dtype, gelu(x, y; N));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// As tile_swiglu, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_swiglu(
    handle: tile_handle_t,
    dtype: c_int,
    gate: *const c_void,
    up: *const c_void,
    y: *mut c_void,
    N: c_longlong,
) -> c_int {
    let body = |at: At<'_>| by_dtype!(at, dtype, swiglu(gate, up, y; N));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// As tile_swiglu_backward, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_swiglu_backward(
    handle: tile_handle_t,
    dtype: c_int,
    gate: *const c_void,
    up: *const c_void,
    dy: *const c_void,
    d_gate: *mut c_void,
    d_up: *mut c_void,
    N: c_longlong,
) -> c_int {
    let body = |at: At<'_>| by_dtype!(at, dtype, swiglu_backward(gate, up, dy, d_gate, d_up; N));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// As tile_dropout, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address N elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_dropout(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    y: *mut c_void,
    N: c_longlong,
    p: c_float,
    seed: c_ulonglong,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, |at| dropout(at, dtype, x, y, N, p, seed)) }
}

/// As tile_matmul, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address m * k, k * n and m * n elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_matmul(
    handle: tile_handle_t,
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
    unsafe {
        enter_at(handle, |at| general(at, Epilogue::None, [dtype, precision, trans_a, trans_b], a, b, c, [m, n, k]))
    }
}

/// As tile_matmul_relu, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address m * k, k * n and m * n elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_matmul_relu(
    handle: tile_handle_t,
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
    unsafe {
        enter_at(handle, |at| general(at, Epilogue::Relu, [dtype, precision, trans_a, trans_b], a, b, c, [m, n, k]))
    }
}

/// As tile_matmul_leaky_relu, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address m * k, k * n and m * n elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_matmul_leaky_relu(
    handle: tile_handle_t,
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
    unsafe {
        enter_at(handle, |at| {
            general(at, Epilogue::LeakyRelu(SLOPE), [dtype, precision, trans_a, trans_b], a, b, c, [m, n, k])
        })
    }
}

/// As tile_batched_matmul, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address batch * m * k, batch * k * n and batch * m * n elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_batched_matmul(
    handle: tile_handle_t,
    dtype: c_int,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    batch: c_longlong,
    m: c_longlong,
    n: c_longlong,
    k: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, |at| batched::general(at, dtype, a, b, c, [batch, m, n, k])) }
}

/// As tile_attention, with a handle.
///
/// # Safety
/// handle comes from tile_create. The pointers address as many elements as for tile_attention.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_attention(
    handle: tile_handle_t,
    dtype: c_int,
    q: *const c_void,
    k: *const c_void,
    v: *const c_void,
    o: *mut c_void,
    heads: c_longlong,
    shared: c_longlong,
    queries: c_longlong,
    keys: c_longlong,
    d: c_longlong,
    scale: c_float,
    causal: c_int,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        enter_at(handle, |at| attention(at, dtype, [q, k, v], o, [heads, shared, queries, keys, d], scale, causal))
    }
}
