//! Norms of rows, and their gradients.

use crate::at::At;
use crate::dtype::by_float;
use crate::guard::{Result, enter};
use crate::handle::tile_handle_t;
use crate::handle_operations::enter_at;
use crate::memory::{Array, area, long, operand, optional};
use core::ffi::{c_float, c_int, c_longlong, c_void};
use tilewright_core::Element;
use tilewright_ops::{self as ops, Normalize};

/// The extents of a matrix, and the number that keeps a root from being zero.
#[derive(Clone, Copy)]
struct Rows {
    elements: usize,
    cols: usize,
    eps: f32,
}

impl Rows {
    fn new(rows: c_longlong, cols: c_longlong, eps: c_float) -> Result<Rows> {
        let cols = long("cols", cols)?;
        Ok(Rows { elements: area(long("rows", rows)?, cols)?, cols, eps })
    }

    /// How many elements of a weight or a bias are looked at.
    fn read(self) -> Result<usize> {
        operand(&[self.cols], self.elements)
    }
}

/// Calls a function of this file for the element type of a dtype.
macro_rules! by_dtype { ($at:expr, $dtype:expr, $rows:expr, $f:ident($($ptr:ident),*)) => {{
    let rows = $rows?;
    // SAFETY: the contract of the C function around it: the pointers address rows and columns of the dtype.
    by_float!($dtype, T => unsafe { $f::<T>($at, rows, $($ptr.cast()),*) })
}} }

/// y = (x - mean) / sqrt(variance + eps) * weight + bias, of every row of a rows x cols matrix, for dtype 0 (f32), 1
/// (f16), 2 (bf16). bias may be null, for zeros.
///
/// # Safety
/// The pointers address rows * cols elements of the dtype, cols, cols and rows * cols.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_layer_norm(
    dtype: c_int,
    x: *const c_void,
    weight: *const c_void,
    bias: *const c_void,
    y: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
    eps: c_float,
) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, Rows::new(rows, cols, eps), layer_norm(x, weight, bias, y)))
}

/// As tile_layer_norm, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_layer_norm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_layer_norm(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    weight: *const c_void,
    bias: *const c_void,
    y: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
    eps: c_float,
) -> c_int {
    let body = |at: At<'_>| by_dtype!(at, dtype, Rows::new(rows, cols, eps), layer_norm(x, weight, bias, y));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// y = x / sqrt(mean of x^2 + eps) * weight, of every row of a rows x cols matrix, for dtype 0 (f32), 1 (f16), 2
/// (bf16).
///
/// # Safety
/// The pointers address rows * cols elements of the dtype, cols and rows * cols.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_rms_norm(
    dtype: c_int,
    x: *const c_void,
    weight: *const c_void,
    y: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
    eps: c_float,
) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, Rows::new(rows, cols, eps), rms_norm(x, weight, y)))
}

/// As tile_rms_norm, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_rms_norm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_rms_norm(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    weight: *const c_void,
    y: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
    eps: c_float,
) -> c_int {
    let body = |at: At<'_>| by_dtype!(at, dtype, Rows::new(rows, cols, eps), rms_norm(x, weight, y));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// sum = x + residual, and y = sum / sqrt(mean of sum^2 + eps) * weight, of every row of rows x cols matrices, for
/// dtype 0 (f32), 1 (f16), 2 (bf16). sum may be null, and then is not stored, or residual.
///
/// # Safety
/// The pointers address rows * cols elements of the dtype, but for weight, which addresses cols.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_add_rms_norm(
    dtype: c_int,
    x: *const c_void,
    residual: *const c_void,
    weight: *const c_void,
    sum: *mut c_void,
    y: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
    eps: c_float,
) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, Rows::new(rows, cols, eps), add_rms_norm(x, residual, weight, sum, y)))
}

/// As tile_add_rms_norm, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_add_rms_norm.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_add_rms_norm(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    residual: *const c_void,
    weight: *const c_void,
    sum: *mut c_void,
    y: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
    eps: c_float,
) -> c_int {
    let body = |at: At<'_>| by_dtype!(at, dtype, Rows::new(rows, cols, eps), add_rms_norm(x, residual, weight, sum, y));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// The gradients of tile_layer_norm: dx of x, dw of weight, db of bias, where dy is that of y. db may be null, and then
/// is not stored.
///
/// # Safety
/// The pointers address rows * cols elements of the dtype, but for weight, dw and db, which address cols.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_layer_norm_backward(
    dtype: c_int,
    x: *const c_void,
    weight: *const c_void,
    dy: *const c_void,
    dx: *mut c_void,
    dw: *mut c_void,
    db: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
    eps: c_float,
) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, Rows::new(rows, cols, eps), layer_norm_backward(x, weight, dy, dx, dw, db)))
}

/// As tile_layer_norm_backward, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_layer_norm_backward.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_layer_norm_backward(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    weight: *const c_void,
    dy: *const c_void,
    dx: *mut c_void,
    dw: *mut c_void,
    db: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
    eps: c_float,
) -> c_int {
    let body =
        |at: At<'_>| by_dtype!(at, dtype, Rows::new(rows, cols, eps), layer_norm_backward(x, weight, dy, dx, dw, db));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// The gradients of tile_rms_norm: dx of x and dw of weight, where dy is that of y.
///
/// # Safety
/// The pointers address rows * cols elements of the dtype, but for weight and dw, which address cols.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_rms_norm_backward(
    dtype: c_int,
    x: *const c_void,
    weight: *const c_void,
    dy: *const c_void,
    dx: *mut c_void,
    dw: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
    eps: c_float,
) -> c_int {
    enter(|| by_dtype!(At::Thread, dtype, Rows::new(rows, cols, eps), rms_norm_backward(x, weight, dy, dx, dw)))
}

/// As tile_rms_norm_backward, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_rms_norm_backward.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_rms_norm_backward(
    handle: tile_handle_t,
    dtype: c_int,
    x: *const c_void,
    weight: *const c_void,
    dy: *const c_void,
    dx: *mut c_void,
    dw: *mut c_void,
    rows: c_longlong,
    cols: c_longlong,
    eps: c_float,
) -> c_int {
    let body = |at: At<'_>| by_dtype!(at, dtype, Rows::new(rows, cols, eps), rms_norm_backward(x, weight, dy, dx, dw));
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, body) }
}

/// # Safety
/// As of [`tile_layer_norm`].
unsafe fn layer_norm<T: Normalize>(
    at: At<'_>,
    of: Rows,
    x: *const T,
    weight: *const T,
    bias: *const T,
    y: *mut T,
) -> Result<()> {
    // SAFETY: the caller's contract.
    let (x, weight) = unsafe { (Array::new("x", x, of.elements)?, Array::new("weight", weight, of.read()?)?) };
    // SAFETY: as above.
    let (bias, y) = unsafe { (optional("bias", bias, of.read()?)?, Array::new("y", y.cast_const(), of.elements)?) };
    y.apart(&x)?;
    y.apart(&weight)?;
    y.apart(&bias)?;
    at.run(of.elements, |on, device| {
        ops::layer_norm(on, x.input(device), weight.input(device), bias.input(device), y.output(device), of.eps)
    })
}

/// # Safety
/// As of [`tile_rms_norm`].
unsafe fn rms_norm<T: Normalize>(at: At<'_>, of: Rows, x: *const T, weight: *const T, y: *mut T) -> Result<()> {
    // SAFETY: the caller's contract.
    let (x, weight) = unsafe { (Array::new("x", x, of.elements)?, Array::new("weight", weight, of.read()?)?) };
    // SAFETY: as above.
    let y = unsafe { Array::new("y", y.cast_const(), of.elements)? };
    y.apart(&x)?;
    y.apart(&weight)?;
    at.run(of.elements, |on, device| ops::rms_norm(on, x.input(device), weight.input(device), y.output(device), of.eps))
}

/// # Safety
/// As of [`tile_add_rms_norm`].
unsafe fn add_rms_norm<T: Normalize>(
    at: At<'_>,
    of: Rows,
    x: *const T,
    residual: *const T,
    weight: *const T,
    sum: *mut T,
    y: *mut T,
) -> Result<()> {
    // SAFETY: the caller's contract.
    let (x, residual) = unsafe { (Array::new("x", x, of.elements)?, Array::new("residual", residual, of.elements)?) };
    // SAFETY: as above.
    let weight = unsafe { Array::new("weight", weight, of.read()?)? };
    // SAFETY: as above.
    let sum = unsafe { optional("sum", sum.cast_const(), of.elements)? };
    // SAFETY: as above.
    let y = unsafe { Array::new("y", y.cast_const(), of.elements)? };
    sum.apart_or_same(&residual)?;
    sum.apart(&x)?;
    sum.apart(&weight)?;
    sum.apart(&y)?;
    y.apart(&x)?;
    y.apart(&residual)?;
    y.apart(&weight)?;
    at.run(of.elements, |on, device| {
        let (x, residual, weight) = (x.input(device), residual.input(device), weight.input(device));
        ops::add_rms_norm(on, x, residual, weight, sum.output(device), y.output(device), of.eps)
    })
}

/// The arrays of a gradient.
struct Gradient<T> {
    x: Array<'static, T>,
    weight: Array<'static, T>,
    dy: Array<'static, T>,
    dx: Array<'static, T>,
    dw: Array<'static, T>,
}

impl<T: Element> Gradient<T> {
    /// # Safety
    /// As of [`tile_rms_norm_backward`].
    unsafe fn new(
        of: Rows,
        x: *const T,
        weight: *const T,
        dy: *const T,
        dx: *mut T,
        dw: *mut T,
    ) -> Result<Gradient<T>> {
        // SAFETY: the caller's contract.
        let all = unsafe {
            Gradient {
                x: Array::new("x", x, of.elements)?,
                weight: Array::new("weight", weight, of.cols)?,
                dy: Array::new("dy", dy, of.elements)?,
                dx: Array::new("dx", dx.cast_const(), of.elements)?,
                dw: Array::new("dw", dw.cast_const(), of.cols)?,
            }
        };
        all.dx.apart(&all.dy)?;
        all.dx.apart(&all.x)?;
        all.dx.apart(&all.weight)?;
        for read in [&all.x, &all.weight, &all.dy, &all.dx] {
            all.dw.apart(read)?;
        }
        Ok(all)
    }
}

/// # Safety
/// As of [`tile_layer_norm_backward`].
unsafe fn layer_norm_backward<T: Normalize>(
    at: At<'_>,
    of: Rows,
    x: *const T,
    weight: *const T,
    dy: *const T,
    dx: *mut T,
    dw: *mut T,
    db: *mut T,
) -> Result<()> {
    // SAFETY: the caller's contract.
    let (g, db) = unsafe { (Gradient::new(of, x, weight, dy, dx, dw)?, optional("db", db.cast_const(), of.cols)?) };
    for other in [&g.x, &g.weight, &g.dy, &g.dx, &g.dw] {
        db.apart(other)?;
    }
    // Of no rows the gradients of weight and bias are zeros.
    at.run(of.cols, |on, device| {
        let (x, weight, dy) = (g.x.input(device), g.weight.input(device), g.dy.input(device));
        let (dx, dw, db) = (g.dx.output(device), g.dw.output(device), db.output(device));
        ops::layer_norm_backward(on, x, weight, dy, dx, dw, db, of.eps)
    })
}

/// # Safety
/// As of [`tile_rms_norm_backward`].
unsafe fn rms_norm_backward<T: Normalize>(
    at: At<'_>,
    of: Rows,
    x: *const T,
    weight: *const T,
    dy: *const T,
    dx: *mut T,
    dw: *mut T,
) -> Result<()> {
    // SAFETY: the caller's contract.
    let g = unsafe { Gradient::new(of, x, weight, dy, dx, dw)? };
    // Of no rows the gradient of weight is zeros.
    at.run(of.cols, |on, device| {
        let (x, weight, dy) = (g.x.input(device), g.weight.input(device), g.dy.input(device));
        ops::rms_norm_backward(on, x, weight, dy, g.dx.output(device), g.dw.output(device), of.eps)
    })
}
