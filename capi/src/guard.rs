//! The boundary: no panic crosses it, and every error leaves a message.

use crate::codes::{TILE_ERROR_ARGUMENT, TILE_ERROR_INTERNAL, TILE_ERROR_MEMORY, TILE_ERROR_OVERLAP, TILE_OK, code_of};
use crate::stack;
use core::ffi::{c_char, c_int};
use std::cell::RefCell;
use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use tilewright_core::cpu::fork::PerProcess;

/// Why a call failed.
pub(crate) struct Failure {
    pub code: c_int,
    pub message: String,
}

impl Failure {
    pub fn argument(message: String) -> Self {
        Failure { code: TILE_ERROR_ARGUMENT, message }
    }

    pub fn overlap(message: String) -> Self {
        Failure { code: TILE_ERROR_OVERLAP, message }
    }
}

impl From<tilewright_runtime::Error> for Failure {
    fn from(e: tilewright_runtime::Error) -> Self {
        Failure { code: code_of(&e), message: e.to_string() }
    }
}

pub(crate) type Result<T> = core::result::Result<T, Failure>;

thread_local! {
    static LAST: RefCell<CString> = RefCell::new(CString::default());
}

/// The message of the last call of this thread that failed; empty when none has. Valid until the thread's next failing
/// call.
#[unsafe(no_mangle)]
pub extern "C" fn tile_last_error() -> *const c_char {
    LAST.try_with(|m| m.borrow().as_ptr()).unwrap_or(c"".as_ptr())
}

/// The same message.
pub(crate) fn last() -> CString {
    LAST.try_with(|m| m.borrow().clone()).unwrap_or_default()
}

/// Runs a call's body, on a stack that has room for it.
pub(crate) fn enter(body: impl FnOnce() -> Result<()>) -> c_int {
    stack::with_room(|| guarded(body)).unwrap_or_else(|message| remember(TILE_ERROR_MEMORY, message))
}

fn guarded(body: impl FnOnce() -> Result<()>) -> c_int {
    static FIRST: PerProcess<()> = PerProcess::new();
    let body = || {
        FIRST.get_or_init(tilewright_runtime::warnings_to_stderr);
        body()
    };
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => TILE_OK,
        Ok(Err(f)) => remember(f.code, f.message),
        Err(panic) => {
            let what =
                panic.downcast_ref::<String>().map(String::as_str).or_else(|| panic.downcast_ref::<&str>().copied());
            let message = format!("internal error: {}", what.unwrap_or("a panic without a message"));
            // A payload may panic when it is dropped.
            core::mem::forget(panic);
            remember(TILE_ERROR_INTERNAL, message)
        }
    }
}

fn remember(code: c_int, message: String) -> c_int {
    let text = CString::new(message.replace('\0', " ")).unwrap_or_default();
    let _ = LAST.try_with(|m| *m.borrow_mut() = text);
    code
}
