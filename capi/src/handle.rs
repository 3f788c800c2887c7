//! Handles: the device, stream, scratch memory and last message of a caller's own calls.

use crate::backend;
use crate::codes::TILE_OK;
use crate::guard::{self, Failure, Result};
use crate::memory::flag;
use core::ffi::{c_char, c_int, c_void};
use std::ffi::CString;
use std::sync::{Mutex, PoisonError};
use tilewright_runtime::{DeviceId, Runtime, Stream};

/// The object behind a tile_handle_t.
#[allow(non_camel_case_types)] // The name in C.
pub struct tile_handle {
    rt: Runtime,
    settings: Mutex<Settings>,
    last: Mutex<CString>,
}

#[derive(Clone)]
struct Settings {
    /// With the scratch memory of its calls.
    stream: Stream,
    preparing: bool,
}

/// A device, a stream, scratch memory and a last message. Functions tile_handle_<operation> take it first, then the
/// arguments of tile_<operation>.
///
/// A handle stays with the CUDA context that was current when it was created, also when another one is current later.
/// It ignores tile_set_stream and tile_prepare, which set the calling thread. Several threads may use one handle; each
/// call takes the settings that it finds.
#[allow(non_camel_case_types)] // The name in C.
pub type tile_handle_t = *mut tile_handle;

// Any thread may use a handle, and another one may free it.
const _: () = {
    const fn is_shared<T: Send + Sync>() {}
    is_shared::<tile_handle>();
};

impl tile_handle {
    /// The runtime, the stream, and whether calls prepare.
    pub(crate) fn parts(&self) -> (Runtime, Stream, bool) {
        let settings = self.settings.lock().unwrap_or_else(PoisonError::into_inner).clone();
        (self.rt.clone(), settings.stream, settings.preparing)
    }

    fn set(&self, change: impl FnOnce(&mut Settings)) {
        change(&mut self.settings.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

/// The default stream of a runtime. On the host it is the handle's own, which alone leases its scratch memory.
fn default_stream(rt: &Runtime) -> tilewright_runtime::Result<Stream> {
    if rt.device().id == DeviceId::Host { Stream::new(rt) } else { Ok(rt.stream().clone()) }
}

/// Runs a call's body for a handle, which keeps the message of an error, as the calling thread does.
///
/// # Safety
/// `handle` is null, or comes from [`tile_create`] and is not destroyed before the call returns.
pub(crate) unsafe fn enter(handle: tile_handle_t, body: impl FnOnce(&tile_handle) -> Result<()>) -> c_int {
    // SAFETY: the caller's contract.
    let handle = unsafe { handle.as_ref() };
    let code = guard::enter(|| match handle {
        Some(handle) => body(handle),
        None => Err(Failure::argument("handle is a null pointer: tile_create makes a handle".into())),
    });
    if let Some(handle) = handle
        && code != TILE_OK
    {
        *handle.last.lock().unwrap_or_else(PoisonError::into_inner) = guard::last();
    }
    code
}

/// Puts a new handle in *handle, for the caller's current context (else the device's primary context), or for the
/// backend that TILE_BACKEND names. Its stream is the legacy default stream. On an error *handle is NULL.
///
/// # Safety
/// handle is NULL or addresses a tile_handle_t to write.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_create(handle: *mut tile_handle_t) -> c_int {
    guard::enter(|| {
        if handle.is_null() {
            return Err(Failure::argument("handle is a null pointer: pass the address of a handle".into()));
        }
        // SAFETY: not null, so it addresses a handle to write, by the caller's contract.
        unsafe { handle.write(core::ptr::null_mut()) };
        let rt = backend::runtime()?;
        let settings = Mutex::new(Settings { stream: default_stream(&rt)?, preparing: false });
        let made = Box::new(tile_handle { rt, settings, last: Mutex::default() });
        // SAFETY: as above.
        unsafe { handle.write(Box::into_raw(made)) };
        Ok(())
    })
}

/// Frees a handle; of NULL nothing. Work that was enqueued with it goes on: its scratch memory is freed behind it.
///
/// # Safety
/// handle is NULL or comes from tile_create, and nobody uses it during this call or later.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_destroy(handle: tile_handle_t) -> c_int {
    guard::enter(|| {
        if !handle.is_null() {
            // SAFETY: `tile_create` made it of a box, and by the caller's contract this is its last use.
            drop(unsafe { Box::from_raw(handle) });
        }
        Ok(())
    })
}

/// Puts the handle's later work on stream, a CUstream or cudaStream_t of the handle's context. NULL goes back to the
/// legacy default stream. cudaStreamPerThread is refused: it is another stream on each thread. Scratch memory belongs
/// to the stream that is set; handles on the default stream share it. On the CPU backend there are no streams, and the
/// argument does not count.
///
/// # Safety
/// handle comes from tile_create. stream is NULL or a stream, which is not destroyed before the handle has another one
/// or is destroyed, nor before the calls with the handle have returned that began until then.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_set_stream(handle: tile_handle_t, stream: *mut c_void) -> c_int {
    let set = |handle: &tile_handle| {
        let stream = match stream.is_null() || handle.rt.device().id == DeviceId::Host {
            true => default_stream(&handle.rt)?,
            // SAFETY: the caller's contract.
            false => unsafe { Stream::from_raw(&handle.rt, stream) }?,
        };
        handle.set(|settings| settings.stream = stream);
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { enter(handle, set) }
}

/// As tile_prepare, for the later calls with this handle, from any thread.
///
/// # Safety
/// handle comes from tile_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_prepare(handle: tile_handle_t, on: c_int) -> c_int {
    let set = |handle: &tile_handle| {
        let preparing = flag("on", on)?;
        handle.set(|settings| settings.preparing = preparing);
        Ok(())
    };
    // SAFETY: the caller's contract.
    unsafe { enter(handle, set) }
}

/// The message of the last call with this handle that failed, in any thread; empty when none has, and for NULL. Valid
/// until the next call with this handle fails or the handle is destroyed. tile_last_error has the message of a
/// tile_create that failed.
///
/// # Safety
/// handle is NULL or comes from tile_create.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn tile_handle_last_error(handle: tile_handle_t) -> *const c_char {
    // SAFETY: the caller's contract.
    match unsafe { handle.as_ref() } {
        Some(handle) => handle.last.lock().unwrap_or_else(PoisonError::into_inner).as_ptr(),
        None => c"".as_ptr(),
    }
}
