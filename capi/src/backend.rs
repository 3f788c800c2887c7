//! Which device and stream a call is for.

use crate::guard::Result;
use core::ffi::c_void;
use std::cell::{Cell, RefCell};
use std::sync::OnceLock;
use tilewright_core::cpu::fork::PerProcess;
use tilewright_runtime::{DeviceId, Runtime, Stream};

thread_local! {
    /// The stream of `tile_set_stream`; null is the legacy default stream.
    static STREAM: Cell<*mut c_void> = const { Cell::new(core::ptr::null_mut()) };
    /// The argument of `tile_prepare`.
    static PREPARING: Cell<bool> = const { Cell::new(false) };
    /// The stream made of it, kept for its scratch memory, with its runtime.
    static MADE: RefCell<Option<(*mut c_void, Runtime, Stream)>> = const { RefCell::new(None) };
}

/// # Safety
/// As of [`tile_set_stream`](crate::tile_set_stream).
pub(crate) unsafe fn set_stream(stream: *mut c_void) {
    STREAM.set(stream);
    MADE.take();
}

pub(crate) fn set_preparing(on: bool) {
    PREPARING.set(on);
}

/// The backend that `TILE_BACKEND` names, made once in a process; none where the caller's CUDA context decides: without
/// the variable, and with `auto` or `cuda`. Off the GPU pointers are host pointers. Errors: of [`Runtime::from_name`];
/// the next call tries again.
fn named() -> tilewright_runtime::Result<Option<&'static Runtime>> {
    static NAMED: PerProcess<OnceLock<Option<Runtime>>> = PerProcess::new();
    let named = NAMED.get_or_init(OnceLock::new);
    if named.get().is_none() {
        let name = std::env::var_os("TILE_BACKEND").unwrap_or_default();
        let made = match &*name.to_string_lossy() {
            "" | "auto" | "cuda" => None,
            name => Some(Runtime::from_name(name)?),
        };
        // Another thread may have made it meanwhile.
        let _ = named.set(made);
    }
    Ok(named.get().and_then(Option::as_ref))
}

/// The backend that `TILE_BACKEND` names, or the caller's CUDA context.
pub(crate) fn runtime() -> tilewright_runtime::Result<Runtime> {
    match named()? {
        Some(rt) => Ok(rt.clone()),
        None => Runtime::current(),
    }
}

/// The caller's runtime, the stream of the calling thread in it, and whether the thread's calls prepare.
pub(crate) fn of_thread() -> Result<(Runtime, Stream, bool)> {
    let rt = runtime()?;
    let raw = STREAM.get();
    let stream = match raw.is_null() || rt.device().id == DeviceId::Host {
        true => rt.stream().clone(),
        false => foreign(&rt, raw)?,
    };
    Ok((rt, stream, PREPARING.get()))
}

/// The thread's stream in this runtime; made once.
fn foreign(rt: &Runtime, raw: *mut c_void) -> Result<Stream> {
    MADE.with_borrow_mut(|made| {
        if let Some((of, owner, stream)) = made
            && *of == raw
            && core::ptr::eq(owner.device(), rt.device())
        {
            return Ok(stream.clone());
        }
        // SAFETY: null, or the stream that `set_stream` was given: its caller keeps the stream until it sets another
        // one.
        let stream = unsafe { Stream::from_raw(rt, raw) }?;
        *made = Some((raw, rt.clone(), stream.clone()));
        Ok(stream)
    })
}
