//! The model as the driver of a whole process, for programs that load a library.
//!
//! The library makes one model when a thread that has entered none calls `cuInit`. The environment says how:
//!
//! | variable | meaning |
//! | --- | --- |
//! | `MODEL_DRIVER_SEED` | the seed of the order in which work runs |
//! | `MODEL_DRIVER_COMPUTE` | the compute capability, as in `80` |
//! | `MODEL_DRIVER_REFUSE` | a function of which every call fails with `CUDA_ERROR_NOT_FOUND` |
//!
//! Beside the driver's functions the library has the functions below, with which a test asks for the findings.

use crate::thread::HandOver;
use crate::{Kind, Model};
use core::ffi::{CStr, c_char, c_int, c_long, c_uint};
use std::ffi::CString;
use std::sync::{Mutex, OnceLock, PoisonError};
use tilewright_core::KernelDesc;

static MODEL: OnceLock<Model> = OnceLock::new();

/// The process's model, which the first call of `cuInit` makes.
pub(crate) fn model(call: &str) -> Option<Model> {
    if call == "cuInit" { Some(MODEL.get_or_init(make).clone()) } else { MODEL.get().cloned() }
}

fn make() -> Model {
    let number = |name: &str| std::env::var(name).ok().and_then(|v| v.parse::<i32>().ok());
    let model = Model::new(number("MODEL_DRIVER_SEED").unwrap_or_default() as u64);
    if let Some(compute) = number("MODEL_DRIVER_COMPUTE") {
        model.set_compute(compute / 10, compute % 10);
    }
    if let Ok(name) = std::env::var("MODEL_DRIVER_REFUSE") {
        model.refuse(&name, 500);
    }
    #[cfg(feature = "operations")]
    tilewright_kernels::all().into_iter().for_each(|d| model.register(d));
    model
}

/// Makes the entries of a kernel known.
///
/// # Safety
/// `desc` points to a descriptor that stays. The caller is built with the same compiler and the same `kernel-core` as
/// this library, and the kernel's CPU functions do not panic.
#[unsafe(no_mangle)]
unsafe extern "C" fn model_driver_register(desc: *const KernelDesc) {
    // SAFETY: the caller's contract.
    if let (Some(model), Some(desc)) = (model("cuInit"), unsafe { desc.as_ref() }) {
        model.register(desc);
    }
}

/// How many of a kind still exist: blocks of memory, streams, events, graphs, instantiated graphs, pools, contexts that
/// are retained.
#[unsafe(no_mangle)]
extern "C" fn model_driver_count(what: c_int) -> c_long {
    let Some(c) = MODEL.get().map(Model::counts) else { return 0 };
    let all = [c.blocks, c.streams, c.events, c.graphs, c.executables, c.pools, c.retained];
    all.get(what as usize).map_or(-1, |n| *n as c_long)
}

/// How often a function of the driver was called.
///
/// # Safety
/// `name` ends with a null.
#[unsafe(no_mangle)]
unsafe extern "C" fn model_driver_calls(name: *const c_char) -> c_long {
    // SAFETY: the caller's contract.
    let name = unsafe { CStr::from_ptr(name) };
    let calls = MODEL.get().map(Model::calls).unwrap_or_default();
    name.to_str().ok().and_then(|name| calls.get(name)).map_or(0, |n| *n as c_long)
}

/// The findings, a line each; empty where there are none. Valid until the next call.
#[unsafe(no_mangle)]
extern "C" fn model_driver_reports() -> *const c_char {
    static TEXT: Mutex<Option<CString>> = Mutex::new(None);
    let lines = MODEL.get().map(Model::reports).unwrap_or_default().join("\n");
    let mut text = TEXT.lock().unwrap_or_else(PoisonError::into_inner);
    text.insert(CString::new(lines.replace('\0', " ")).unwrap_or_default()).as_ptr()
}

/// How many findings there are of a kind: 0 memory, 1 races, 2 calls, 3 leaks.
#[unsafe(no_mangle)]
extern "C" fn model_driver_report_count(kind: c_int) -> c_long {
    let kinds = [Kind::Memory, Kind::Race, Kind::Call, Kind::Leak];
    let of = |k: &Kind| MODEL.get().map_or(0, |m| m.reports_of(*k).len());
    kinds.get(kind as usize).map_or(-1, |k| of(k) as c_long)
}

/// Lets the call after `skip` calls fail with `code`; of calls of one name, where `name` is not null.
///
/// # Safety
/// `name` is null or ends with a null.
#[unsafe(no_mangle)]
unsafe extern "C" fn model_driver_fail(name: *const c_char, skip: c_long, code: c_uint) {
    // SAFETY: the caller's contract.
    let name = (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned());
    if let Some(model) = model("cuInit") {
        model.fail(name.as_deref(), skip as u64, code);
    }
}

/// No call fails any more; 1 where the planned failure had come.
#[unsafe(no_mangle)]
extern "C" fn model_driver_fail_no_more() -> c_int {
    MODEL.get().is_some_and(Model::fail_no_more).into()
}

/// The waits of the calling thread, for a thread that goes on after it. `model_driver_accept` takes it.
#[unsafe(no_mangle)]
extern "C" fn model_driver_hand_over() -> *mut HandOver {
    let from = MODEL.get().map(Model::hand_over).unwrap_or_default();
    Box::into_raw(Box::new(from))
}

/// The calling thread goes on after the thread that handed this over.
///
/// # Safety
/// `from` is a result of `model_driver_hand_over` that no call has taken.
#[unsafe(no_mangle)]
unsafe extern "C" fn model_driver_accept(from: *mut HandOver) {
    // SAFETY: the caller's contract.
    let from = unsafe { Box::from_raw(from) };
    if let Some(model) = MODEL.get() {
        model.accept(&from);
    }
}

/// Runs all work that was given.
#[unsafe(no_mangle)]
extern "C" fn model_driver_finish() {
    if let Some(model) = MODEL.get() {
        model.finish();
    }
}
