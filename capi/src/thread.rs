//! The settings of the calling thread for its later calls.

use crate::{backend, guard, memory};
use core::ffi::{c_int, c_void};

/// Puts the calling thread's later work on stream, a CUstream or cudaStream_t of the context that is current then. NULL
/// goes back to the legacy default stream. The stream must outlive its use here. Later calls refuse
/// cudaStreamPerThread, which is another stream on each thread.
///
/// # Safety
/// `stream` is NULL or a stream of the context that is current when the thread calls an operation, and it is not
/// destroyed before the thread has set another one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_set_stream(stream: *mut c_void) -> c_int {
    guard::enter(|| {
        // SAFETY: the caller's contract.
        unsafe { backend::set_stream(stream) };
        Ok(())
    })
}

/// With `on` of 1 the calling thread's later calls prepare: they check their arguments, load the kernels that they
/// would launch, allocate scratch memory on the thread's stream, and enqueue nothing, until it is 0 again. A call that
/// was prepared does none of that in a CUDA graph's capture. Outputs are not written.
#[unsafe(no_mangle)]
pub extern "C" fn tile_prepare(on: c_int) -> c_int {
    guard::enter(|| {
        backend::set_preparing(memory::flag("on", on)?);
        Ok(())
    })
}
