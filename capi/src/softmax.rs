//! Softmax of rows, and its gradient.

use crate::at::At;
use crate::dtype::by_float;
use crate::guard::{Result, enter};
use crate::handle::tile_handle_t;
use crate::handle_operations::enter_at;
use crate::memory::{Array, area, long};
use core::ffi::{c_float, c_int, c_longlong, c_void};
use tilewright_ops::{self as ops, Softmax};

/// The extents of a matrix.
#[derive(Clone, Copy)]
struct Rows {
    rows: usize,
    cols: usize,
    elements: usize,
}

impl Rows {
    fn new(rows: c_longlong, cols: c_longlong) -> Result<Rows> {
        let (rows, cols) = (long("rows", rows)?, long("cols", cols)?);
        Ok(Rows { rows, cols, elements: area(rows, cols)? })
    }
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
    enter(|| unsafe { softmax(At::Thread, Rows::new(rows, cols)?, x, y) })
}

/// As tile_softmax_rows, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_softmax_rows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_softmax_rows(
    handle: tile_handle_t,
    x: *const c_float,
    y: *mut c_float,
    rows: c_longlong,
    cols: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, |at| softmax(at, Rows::new(rows, cols)?, x, y)) }
}

/// Softmax of every row of a rows x cols matrix, for dtype 0 (f32), 1 (f16), 2 (bf16).
///
/// # Safety
/// The pointers address rows * cols elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_softmax(
    dtype: c_int,
    x: *const c_void,
    y: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { softmax_of(At::Thread, dtype, x, y, rows, cols) })
}

/// As tile_softmax, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_softmax.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_softmax(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    y: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, |at| softmax_of(at, dtype, x, y, rows, cols)) }
}

/// dx = y * (dy - sum of dy * y) of every row of a rows x cols matrix: the gradient of tile_softmax, which gives y,
/// where dy is that of y, for dtype 0 (f32), 1 (f16), 2 (bf16). dx may be dy.
///
/// # Safety
/// The pointers address rows * cols elements of the dtype each.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_softmax_backward(
    dtype: c_int,
    y: *const c_void,
    dy: *const c_void,
    dx: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { gradient_of(At::Thread, dtype, y, dy, dx, rows, cols) })
}

/// As tile_softmax_backward, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_softmax_backward.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_softmax_backward(
    handle: tile_handle_t,
    dtype: c_int,
    y: *const c_void,
    dy: *const c_void,
    dx: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, |at| gradient_of(at, dtype, y, dy, dx, rows, cols)) }
}

/// # Safety
/// As of [`tile_softmax`].
unsafe fn softmax_of(
    at: At<'_>,
    dtype: c_int,
    x: *const c_void,
    y: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
) -> Result<()> {
    let of = Rows::new(rows, cols)?;
    // SAFETY: the caller's contract.
    by_float!(dtype, T => unsafe { softmax::<T>(at, of, x.cast(), y.cast()) })
}

/// # Safety
/// As of [`tile_softmax`].
unsafe fn softmax<T: Softmax>(at: At<'_>, of: Rows, x: *const T, y: *mut T) -> Result<()> {
    // SAFETY: the caller's contract.
    let (x, y) = unsafe { (Array::new("x", x, of.elements)?, Array::new("y", y.cast_const(), of.elements)?) };
    y.apart(&x)?;
    at.run(of.elements, |on, device| ops::softmax_rows(on, x.input(device), y.output(device), of.rows, of.cols))
}

/// # Safety
/// As of [`tile_softmax_backward`].
unsafe fn gradient_of(
    at: At<'_>,
    dtype: c_int,
    y: *const c_void,
    dy: *const c_void,
    dx: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
) -> Result<()> {
    let of = Rows::new(rows, cols)?;
    // SAFETY: the caller's contract.
    by_float!(dtype, T => unsafe { gradient::<T>(at, of, y.cast(), dy.cast(), dx.cast()) })
}

/// # Safety
/// As of [`tile_softmax_backward`].
unsafe fn gradient<T: Softmax>(at: At<'_>, of: Rows, y: *const T, dy: *const T, dx: *mut T) -> Result<()> {
    // SAFETY: the caller's contract.
    let (y, dy) = unsafe { (Array::new("y", y, of.elements)?, Array::new("dy", dy, of.elements)?) };
    // SAFETY: as above.
    let dx = unsafe { Array::new("dx", dx.cast_const(), of.elements)? };
    dx.apart(&y)?;
    dx.apart_or_same(&dy)?;
    at.run(of.elements, |on, device| {
        ops::softmax_rows_backward(on, y.input(device), dy.input(device), dx.output(device), of.rows, of.cols)
    })
}
