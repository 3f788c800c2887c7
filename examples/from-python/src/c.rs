//! The functions that Python calls. They return 0, or 1 with a message in [`last_error`]; memory belongs to the device
//! whose context is current, as torch, CuPy and JAX hand it out; work goes to the given stream.

use core::ffi::{c_char, c_int, c_void};
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tilewright::kernel::RawArg;
use tilewright::{Call, DeviceId, f16};
use tilewright::{Runtime, Stream};

// ANCHOR: launch
thread_local!(static LAST: RefCell<CString> = RefCell::default());

/// Why the last call of this thread failed.
#[unsafe(no_mangle)]
pub extern "C" fn last_error() -> *const c_char {
    LAST.with_borrow(|m| m.as_ptr())
}

/// # Safety
/// `stream` is null or a stream of the current context, and the call's arguments live until its work is done.
unsafe fn launch(stream: *mut c_void, call: impl FnOnce(DeviceId) -> Result<Call<'static>, String>) -> c_int {
    let go = || {
        let rt = Runtime::current().map_err(|e| e.to_string())?;
        // SAFETY: the caller vouches that the stream is null or of the current context. It is used here alone.
        let stream = unsafe { Stream::from_raw(&rt, stream) }.map_err(|e| e.to_string())?;
        rt.launch_on(&stream, call(rt.device().id)?).map_err(|e| e.to_string())
    };
    // No panic may go on into Python.
    match catch_unwind(AssertUnwindSafe(go)).unwrap_or_else(|_| Err("a panic".into())) {
        Ok(()) => 0,
        Err(message) => {
            LAST.set(CString::new(message).unwrap_or_default());
            1
        }
    }
}
// ANCHOR_END: launch

/// With its extent, so that the autotuner can restore the elements that it overwrites.
fn array(ptr: *const f16, elements: usize, device: DeviceId) -> RawArg<f16> {
    RawArg::within(ptr as u64, elements * size_of::<f16>(), device)
}

// ANCHOR: matmul
/// C = A B of f16, `m` by `k` and `k` by `n`, with any strides, in elements; C has no gaps.
///
/// # Safety
/// The matrices are on the current device, as large as that, and live until the work on `stream` is done. `stream` is
/// null or a stream of the device's context.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn matmul(
    a: *const f16,
    b: *const f16,
    c: *mut f16,
    m: usize,
    n: usize,
    k: usize,
    stride_am: usize,
    stride_ak: usize,
    stride_bk: usize,
    stride_bn: usize,
    stream: *mut c_void,
) -> c_int {
    let span = |rows: usize, columns: usize, down: usize, right: usize| {
        if rows * columns == 0 { 0 } else { (rows - 1) * down + (columns - 1) * right + 1 }
    };
    let call = |device| {
        let a = array(a, span(m, k, stride_am, stride_ak), device);
        let b = array(b, span(k, n, stride_bk, stride_bn), device);
        let c = array(c, m * n, device);
        // SAFETY: the caller vouches that the matrices have the elements that these extents and strides reach.
        Ok(unsafe { crate::matmul(a, b, c, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, n) })
    };
    // SAFETY: the caller vouches for the stream, and that the arguments live until its work is done.
    unsafe { launch(stream, call) }
}
// ANCHOR_END: matmul

/// `softmax(scale Q Kᵀ) V` of `heads` heads of 64 or 128 dimensions, one after the other and without gaps.
///
/// # Safety
/// As [`matmul`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn attention(
    q: *const f16,
    k: *const f16,
    v: *const f16,
    o: *mut f16,
    scale: f32,
    heads: usize,
    queries: usize,
    keys: usize,
    d: usize,
    stream: *mut c_void,
) -> c_int {
    let call = |device| {
        let [q, k, v, o] = [(q, queries), (k, keys), (v, keys), (o.cast_const(), queries)]
            .map(|(ptr, rows)| array(ptr, heads * rows * d, device));
        let kernel = match d {
            64 => crate::attention_64,
            128 => crate::attention_128,
            _ => return Err(format!("heads of {d} dimensions: 64 or 128")),
        };
        // SAFETY: the caller vouches that the heads follow each other without gaps, with so many queries and keys.
        Ok(unsafe { kernel(q, k, v, o, scale, heads, queries, keys) })
    };
    // SAFETY: the caller vouches for the stream, and that the arguments live until its work is done.
    unsafe { launch(stream, call) }
}
