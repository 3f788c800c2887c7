//! Products of batches of matrices.

use crate::at::At;
use crate::codes::{TILE_DTYPE_BF16, TILE_DTYPE_F16, TILE_DTYPE_F32};
use crate::guard::{Failure, Result, enter};
use crate::matmul::Operands;
use crate::memory::long;
use core::ffi::{c_int, c_longlong, c_void};
use tilewright_core::{bf16, f16};
use tilewright_ops::{self as ops, BatchMultiply};

/// c[i] = a[i] b[i] for every i of the batch: a is batch x m x k, b is batch x k x n, c is batch x m x n. dtype: 0 f32,
/// 1 f16, 2 bf16.
///
/// # Safety
/// The pointers address batch * m * k, batch * k * n and batch * m * n elements.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_batched_matmul(
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
    enter(|| unsafe { general(At::Thread, dtype, a, b, c, [batch, m, n, k]) })
}

/// # Safety
/// As of [`tile_batched_matmul`].
pub(crate) unsafe fn general(
    at: At<'_>,
    dtype: c_int,
    a: *const c_void,
    b: *const c_void,
    c: *mut c_void,
    [batch, m, n, k]: [c_longlong; 4],
) -> Result<()> {
    let extents = [long("batch", batch)?, long("m", m)?, long("n", n)?, long("k", k)?];
    let names = ["a", "b", "c"];
    // SAFETY: the caller's contract.
    unsafe {
        match dtype {
            TILE_DTYPE_F32 => batched::<f32>(at, names, a.cast(), b.cast(), c.cast(), extents),
            TILE_DTYPE_F16 => batched::<f16>(at, names, a.cast(), b.cast(), c.cast(), extents),
            TILE_DTYPE_BF16 => batched::<bf16>(at, names, a.cast(), b.cast(), c.cast(), extents),
            other => Err(Failure::argument(format!("dtype is {other}: 0 is f32, 1 f16, 2 bf16"))),
        }
    }
}

/// # Safety
/// The pointers address batches of matrices of the extents.
pub(crate) unsafe fn batched<T: BatchMultiply>(
    at: At<'_>,
    names: [&str; 3],
    a: *const T,
    b: *const T,
    c: *mut T,
    [batch, m, n, k]: [usize; 4],
) -> Result<()> {
    // SAFETY: the caller's contract.
    let p = unsafe { Operands::new(names, a, b, c, [batch, m, k], [batch, k, n], [batch, m, n]) }?;
    p.run(at, |on, a, b, c| ops::batched_matmul(on, a, b, c))
}
