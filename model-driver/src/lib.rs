//! A model of the CUDA driver, for tests of the host side without a GPU.
//!
//! Device memory is host memory, and kernels run their CPU functions. Streams are queues: work runs when a host call
//! waits for it, or earlier by the choice of a seed. Vector clocks over streams, events, graphs and host waits find
//! memory that is used before its allocation, after its free, or by two unordered operations of which one writes. The
//! findings do not depend on the order in which the work was run.
//!
//! # Origin of the rules
//! Streams, events, the legacy default stream and `cuThreadExchangeStreamCaptureMode` follow the behavior that CUDA
//! programs rely on. These rules were not measured. The calls that a capture prohibits were measured with driver
//! 580.159 on an H100:
//! - Prohibited unless the thread is relaxed, or the capture is another thread's and not global: `cuMemAlloc`,
//!   `cuMemFree`, `cuMemPoolCreate`, `-SetAttribute`, `-TrimTo`, `-Destroy`, `cuMemAllocFromPoolAsync` and
//!   `cuMemFreeAsync` on a stream that is not captured, `cuLibraryUnload`, `cuStreamSynchronize`, `cuStreamQuery`,
//!   `cuEventSynchronize` and `cuEventQuery`. They give 900 and invalidate the capture.
//! - Prohibited in every mode, relaxed or not: `cuCtxSynchronize` (900), `cuStreamSynchronize` and `cuStreamQuery` of a
//!   captured stream (900), `cuEventSynchronize` and `cuEventQuery` of a captured event (907), a wait of a captured
//!   stream for an event from outside (905), a wait of the legacy stream for a captured event (906), and any use of the
//!   legacy stream while a blocking stream is captured (906). Each invalidates the capture.
//! - A wait of a captured stream for an event of another capture gives 902 and invalidates both captures. For an event
//!   of a capture that has ended it gives 1 and invalidates. Such an event gives 1 to every other call.
//! - Allowed: loading and finding kernels, kernel attributes, `cuStreamGetCtx`, `cuStreamIsCapturing`, creating events
//!   and streams, `cuMemGetInfo`, copies and fills on other streams.
//! - On an invalidated stream every call gives 901, `cuStreamGetCtx` included. `cuStreamIsCapturing` succeeds.
//! - In a capture, a free of memory that the graph did not allocate gives 1 and does not invalidate.
//! - A graph whose allocation is not freed cannot be launched again (1). A graph with allocations can be instantiated
//!   once (801).
//!
//! A call in a context that was destroyed or reset gives 709; making it current succeeds. The allocations of a pool
//! stay.
//!
//! A programmatic launch may read the `pdl` parameters of its kernel before the launch in front has ended, and touches
//! nothing else before that. Each host thread has a clock of its own: another thread knows of the waits of this one
//! once they are handed over ([`Model::hand_over`]). The rules of tensor maps are those of the driver's reference
//! (`tensor_map.rs`).
//!
//! # As a library
//! The crate is also built as a dynamic library with the driver's symbols. A copy of it by the name of `libcuda.so.1`
//! stands in for the driver of a whole process (`process.rs`).

mod api;
mod capture;
mod clock;
mod devices;
mod launch;
pub mod library;
mod memory;
mod process;
mod ptx;
mod report;
mod state;
mod tensor_map;
mod thread;

use state::State;
use std::cell::RefCell;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tilewright_core::KernelDesc;

pub use report::{Kind, Report};
pub use thread::HandOver;

pub(crate) type Code = u32;

/// Called before a driver call with its name, without any lock held.
type Hook = Box<dyn Fn(&str) + Send + Sync>;

/// One driver, with one device unless [`Model::add_device`] adds others. A thread uses the driver that it has entered.
#[derive(Clone)]
pub struct Model(Arc<Shared>);

pub(crate) struct Shared {
    state: Mutex<State>,
    hook: Mutex<Option<Arc<Hook>>>,
}

thread_local!(static CURRENT: RefCell<Option<Model>> = const { RefCell::new(None) });

/// Leaves the model when dropped.
pub struct Entered(Option<Model>);

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.0.take());
    }
}

/// The numbers of objects that still exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    pub blocks: usize,
    pub streams: usize,
    pub events: usize,
    pub graphs: usize,
    pub executables: usize,
    pub pools: usize,
    pub libraries: usize,
    pub retained: usize,
}

impl Model {
    pub fn new(seed: u64) -> Model {
        Model(Arc::new(Shared { state: Mutex::new(State::new(seed)), hook: Mutex::default() }))
    }

    /// Makes this the calling thread's driver.
    #[must_use]
    pub fn enter(&self) -> Entered {
        Entered(CURRENT.replace(Some(self.clone())))
    }

    /// The driver of a call: the thread's if it has entered one, else the process's.
    pub(crate) fn of_thread(call: &str) -> Option<Model> {
        CURRENT.with_borrow(Clone::clone).or_else(|| process::model(call))
    }

    /// The driver's function of this name.
    pub fn symbol(name: &str) -> Option<*const core::ffi::c_void> {
        api::symbol(name)
    }

    /// Makes the entries of a kernel known: a launch of one runs its configuration's CPU function.
    pub fn register(&self, desc: &'static KernelDesc) {
        self.state().register(desc);
    }

    /// Lets the call after `skip` calls fail with `code`; of calls of one name, where a name is given.
    pub fn fail(&self, name: Option<&str>, skip: u64, code: u32) {
        self.state().fault = Some(state::Fault { name: name.map(String::from), skip, code });
    }

    /// No call fails any more; whether the planned one had come.
    pub fn fail_no_more(&self) -> bool {
        self.state().fault.take().is_none()
    }

    /// Runs `hook` before each call. It holds threads back to force an interleaving.
    pub fn before_calls(&self, hook: impl Fn(&str) + Send + Sync + 'static) {
        *self.0.hook.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::new(Box::new(hook)));
    }

    /// Lets every call of a function fail with `code`.
    pub fn refuse(&self, name: &str, code: u32) {
        self.state().refused.insert(name.into(), code);
    }

    /// The findings so far: a line for each defect.
    pub fn reports(&self) -> Vec<String> {
        self.state().reports.iter().map(|r| r.text.clone()).collect()
    }

    /// The findings of one kind.
    pub fn reports_of(&self, kind: Kind) -> Vec<String> {
        self.state().reports.iter().filter(|r| r.kind == kind).map(|r| r.text.clone()).collect()
    }

    /// How often each function was called.
    pub fn calls(&self) -> BTreeMap<&'static str, u64> {
        self.state().calls.clone()
    }

    pub fn counts(&self) -> Counts {
        self.state().counts()
    }

    /// Runs all work that was given, as the device does in the end.
    pub fn finish(&self) {
        self.state().run_all();
    }

    /// Without pools, as older devices are.
    pub fn without_pools(&self) {
        self.state().pools_supported = false;
    }

    /// Sets the compute capability, which is 9.0 otherwise.
    pub fn set_compute(&self, major: i32, minor: i32) {
        self.state().compute = (major, minor);
    }

    /// Another device: its name, compute capability, and attributes by their numbers.
    pub fn set_device(&self, name: &str, compute: (i32, i32), attributes: &[(i32, i32)]) {
        let mut state = self.state();
        (state.name, state.compute) = (name.into(), compute);
        state.attributes.extend(attributes.iter().copied());
    }

    /// A context beside the primary one, as `cuCtxCreate` makes; made current on this thread.
    pub fn new_context(&self) -> usize {
        self.state().new_context_on(0)
    }

    /// Adds a device with the same name and attributes.
    pub fn add_device(&self) {
        self.state().add_device();
    }

    /// Ends a context that [`Model::new_context`] made, as `cuCtxDestroy` does.
    pub fn destroy_context(&self, context: usize) {
        self.state().end_context(context);
    }

    /// Ends the primary context, as `cuDevicePrimaryCtxReset` does. The next one to retain it gets it anew, at the same
    /// address and under another number.
    pub fn reset_primary(&self) {
        let mut state = self.state();
        let primary = state.primary;
        state.end_context(primary);
    }

    /// Bytes that allocations may take together.
    pub fn set_capacity(&self, bytes: u64) {
        self.state().capacity = bytes;
    }

    pub(crate) fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn hook(&self, name: &str) {
        let hook = self.0.hook.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(hook) = hook {
            hook(name);
        }
    }
}
