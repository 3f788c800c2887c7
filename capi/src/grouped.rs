//! Products of groups of rows.

use crate::at::At;
use crate::codes::{TILE_DTYPE_BF16, TILE_DTYPE_F16};
use crate::guard::{Failure, Result, enter};
use crate::handle::tile_handle_t;
use crate::handle_operations::enter_at;
use crate::memory::{Array, flag, long, operand, volume};
use core::ffi::{c_int, c_longlong, c_void};
use tilewright_core::{bf16, f16};
use tilewright_ops::{self as ops, GroupMultiply};

/// c[r] = a[r] b[g] for the rows r of every group g: a is m x k, b is groups x k x n, c is m x n, of dtype 1 (f16) or
/// 2 (bf16). trans_b: 1 where b is groups x n x k, 0 otherwise.
///
/// Group g has the rows from the end of the group before to ends[g], which is read on the device and must not change
/// meanwhile. A group may have no rows. An end beyond m stands for m, and an end below an earlier one makes a group
/// without rows. Rows behind the last end are left as they are.
///
/// # Safety
/// a, b and c address m * k, groups * k * n and m * n elements of the dtype, ends addresses groups elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_grouped_matmul(
    dtype: c_int,
    trans_b: c_int,
    a: *const c_void,
    b: *const c_void,
    ends: *const c_int,
    c: *mut c_void,
    groups: c_longlong,
    m: c_longlong,
    n: c_longlong,
    k: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    enter(|| unsafe { general(At::Thread, [dtype, trans_b], a, b, ends, c, [groups, m, n, k]) })
}

/// As tile_grouped_matmul, with a handle.
///
/// # Safety
/// handle comes from tile_create. As of tile_grouped_matmul.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_grouped_matmul(
    handle: tile_handle_t,
    dtype: c_int,
    trans_b: c_int,
    a: *const c_void,
    b: *const c_void,
    ends: *const c_int,
    c: *mut c_void,
    groups: c_longlong,
    m: c_longlong,
    n: c_longlong,
    k: c_longlong,
) -> c_int {
    // SAFETY: the caller's contract.
    unsafe { enter_at(handle, |at| general(at, [dtype, trans_b], a, b, ends, c, [groups, m, n, k])) }
}

/// # Safety
/// As of [`tile_grouped_matmul`].
unsafe fn general(
    at: At<'_>,
    [dtype, trans_b]: [c_int; 2],
    a: *const c_void,
    b: *const c_void,
    ends: *const c_int,
    c: *mut c_void,
    [groups, m, n, k]: [c_longlong; 4],
) -> Result<()> {
    let extents = [long("groups", groups)?, long("m", m)?, long("n", n)?, long("k", k)?];
    let trans_b = flag("trans_b", trans_b)?;
    // SAFETY: the caller's contract.
    unsafe {
        match dtype {
            TILE_DTYPE_F16 => grouped::<f16>(at, trans_b, a.cast(), b.cast(), ends, c.cast(), extents),
            TILE_DTYPE_BF16 => grouped::<bf16>(at, trans_b, a.cast(), b.cast(), ends, c.cast(), extents),
            other => Err(Failure::argument(format!("dtype is {other}: 1 is f16, 2 bf16"))),
        }
    }
}

/// # Safety
/// As of [`tile_grouped_matmul`], of elements of the type.
unsafe fn grouped<T: GroupMultiply>(
    at: At<'_>,
    trans_b: bool,
    a: *const T,
    b: *const T,
    ends: *const c_int,
    c: *mut T,
    [groups, m, n, k]: [usize; 4],
) -> Result<()> {
    // Of no groups no row is written.
    let results = if groups == 0 { 0 } else { volume(&[m, n])? };
    // SAFETY: the caller's contract.
    let (a, b, ends, c) = unsafe {
        (
            Array::new("a", a, operand(&[m, k], results)?)?,
            Array::new("b", b, operand(&[groups, k, n], results)?)?,
            Array::new("ends", ends, operand(&[groups], results)?)?,
            Array::new("c", c.cast_const(), results)?,
        )
    };
    c.apart(&a)?;
    c.apart(&b)?;
    c.apart(&ends)?;
    at.run(results, |on, device| {
        let b = b.input(device);
        let b = if trans_b { b.strided([groups, k, n], [n * k, 1, k])? } else { b.view([groups, k, n])? };
        ops::grouped_matmul(on, a.input(device).view([m, k])?, b, ends.input(device), c.output(device))
    })
}
