//! Losses of rows of logits, and their gradients.

use crate::at::At;
use crate::dtype::by_float;
use crate::guard::{Result, enter};
use crate::handle::tile_handle_t;
use crate::handle_operations::enter_at;
use crate::memory::{Array, area, long, operand, optional};
use core::ffi::{c_float, c_int, c_longlong, c_void};
use tilewright_ops::{self as ops, Logit};

/// The extents of a matrix of logits.
#[derive(Clone, Copy)]
struct Rows {
    rows: usize,
    elements: usize,
}

impl Rows {
    fn new(rows: c_longlong, classes: c_longlong) -> Result<Rows> {
        let rows = long("rows", rows)?;
        Ok(Rows { rows, elements: area(rows, long("classes", classes)?)? })
    }
}

/// losses[r] = lse[r] - logits[r][targets[r]] of every row of a rows x classes matrix, where lse[r] is the logarithm of
/// the sum of the row's exponentials, for logits of dtype 0 (f32), 1 (f16), 2 (bf16). The loss is 0 where the target is
/// negative, and NaN where it is no class. lse may be null, and then is not stored.
///
/// # Safety
/// logits addresses rows * classes elements of the dtype, the other pointers address rows elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_cross_entropy(
    dtype: c_int,
    logits: *const c_void,
    targets: *const c_int,
    losses: *mut c_float,
    lse: *mut c_float,
    rows: c_longlong,
    classes: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { cross_entropy(At::Thread, dtype, logits, targets, losses, lse, Rows::new(rows, classes)?) })
}

/// As tile_cross_entropy, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_cross_entropy.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_cross_entropy(
    handle: tile_handle_t,
    dtype: c_int,
    logits: *const c_void,
    targets: *const c_int,
    losses: *mut c_float,
    lse: *mut c_float,
    rows: c_longlong,
    classes: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let body = |at: At<'_>| cross_entropy(at, dtype, logits, targets, losses, lse, Rows::new(rows, classes)?);
        enter_at(handle, body)
    }
}

/// d_logits[r][c] = d_losses[r] * (exp(logits[r][c] - lse[r]) - (1 if c is targets[r] else 0)) of a rows x classes
/// matrix: the gradient of tile_cross_entropy, which gives lse. It is 0 where the target is negative, and NaN where the
/// target is no class. d_logits may be logits.
///
/// # Safety
/// logits and d_logits address rows * classes elements of the dtype, the other pointers address rows elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_cross_entropy_backward(
    dtype: c_int,
    logits: *const c_void,
    targets: *const c_int,
    lse: *const c_float,
    d_losses: *const c_float,
    d_logits: *mut c_void,
    rows: c_longlong,
    classes: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe {
        gradient(At::Thread, dtype, logits, targets, lse, d_losses, d_logits, Rows::new(rows, classes)?)
    })
}

/// As tile_cross_entropy_backward, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_cross_entropy_backward.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_cross_entropy_backward(
    handle: tile_handle_t,
    dtype: c_int,
    logits: *const c_void,
    targets: *const c_int,
    lse: *const c_float,
    d_losses: *const c_float,
    d_logits: *mut c_void,
    rows: c_longlong,
    classes: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe {
        let body =
            |at: At<'_>| gradient(at, dtype, logits, targets, lse, d_losses, d_logits, Rows::new(rows, classes)?);
        enter_at(handle, body)
    }
}

/// # Safety
/// As of [`tile_cross_entropy`].
unsafe fn cross_entropy(
    at: At<'_>,
    dtype: c_int,
    logits: *const c_void,
    targets: *const c_int,
    losses: *mut c_float,
    lse: *mut c_float,
    of: Rows,
) -> Result<()> {
    /// # Safety
    /// As of the function around it.
    unsafe fn of_type<T: Logit>(
        at: At<'_>,
        logits: *const T,
        targets: *const c_int,
        losses: *mut c_float,
        lse: *mut c_float,
        of: Rows,
    ) -> Result<()> {
        // SAFETY: the caller's contract.
        let (logits, targets, losses, lse) = unsafe {
            let (logits, targets) =
                (Array::new("logits", logits, of.elements)?, Array::new("targets", targets, of.rows)?);
            let lse = optional("lse", lse.cast_const(), of.rows)?;
            (logits, targets, Array::new("losses", losses.cast_const(), of.rows)?, lse)
        };
        losses.apart(&logits)?;
        losses.apart(&targets)?;
        lse.apart(&logits)?;
        lse.apart(&targets)?;
        lse.apart(&losses)?;
        at.run(of.rows, |on, device| {
            let (logits, targets) = (logits.input(device), targets.input(device));
            ops::cross_entropy(on, logits, targets, losses.output(device), lse.output(device))
        })
    }
    // SAFETY: the caller's contract.
    by_float!(dtype, T => unsafe { of_type::<T>(at, logits.cast(), targets, losses, lse, of) })
}

/// # Safety
/// As of [`tile_cross_entropy_backward`].
unsafe fn gradient(
    at: At<'_>,
    dtype: c_int,
    logits: *const c_void,
    targets: *const c_int,
    lse: *const c_float,
    d_losses: *const c_float,
    d_logits: *mut c_void,
    of: Rows,
) -> Result<()> {
    /// # Safety
    /// As of the function around it.
    unsafe fn of_type<T: Logit>(
        at: At<'_>,
        logits: *const T,
        targets: *const c_int,
        lse: *const c_float,
        d_losses: *const c_float,
        d_logits: *mut T,
        of: Rows,
    ) -> Result<()> {
        // Of no classes nothing is read.
        let read = operand(&[of.rows], of.elements)?;
        // SAFETY: the caller's contract.
        let (logits, targets, lse, d_losses, d_logits) = unsafe {
            let (logits, targets) = (Array::new("logits", logits, of.elements)?, Array::new("targets", targets, read)?);
            let (lse, d_losses) = (Array::new("lse", lse, read)?, Array::new("d_losses", d_losses, read)?);
            (logits, targets, lse, d_losses, Array::new("d_logits", d_logits.cast_const(), of.elements)?)
        };
        d_logits.apart_or_same(&logits)?;
        d_logits.apart(&targets)?;
        d_logits.apart(&lse)?;
        d_logits.apart(&d_losses)?;
        at.run(of.elements, |on, device| {
            let (logits, targets) = (logits.input(device), targets.input(device));
            let (lse, d_losses) = (lse.input(device), d_losses.input(device));
            ops::cross_entropy_backward(on, logits, targets, lse, d_losses, d_logits.output(device))
        })
    }
    // SAFETY: the caller's contract.
    by_float!(dtype, T => unsafe { of_type::<T>(at, logits.cast(), targets, lse, d_losses, d_logits.cast(), of) })
}
