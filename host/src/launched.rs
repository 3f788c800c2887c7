//! The launches of a thread on the emulated SM, for tests that ask.

#[cfg(feature = "emulator")]
use std::cell::RefCell;
#[cfg(feature = "emulator")]
use tilewright_core::emulator::{Failure, Report};
#[cfg(feature = "emulator")]
use tilewright_core::{ConfigDesc, KernelDesc, VariantDesc};

use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};

thread_local! {
    static IS_LISTED: Cell<bool> = const { Cell::new(false) };
}

/// Whether a debugger has the code of variants that the build has none of.
static EVERY_VARIANT_RUNS: AtomicBool = AtomicBool::new(false);

/// Whether this thread's launches on the emulated SM are listed and not run.
pub(crate) fn is_listed() -> bool {
    IS_LISTED.get()
}

/// Whether variants count as ones that run which the build has no code of.
pub(crate) fn all_run() -> bool {
    is_listed() || EVERY_VARIANT_RUNS.load(Ordering::Relaxed)
}

#[cfg(feature = "emulator")]
pub(crate) fn every_variant_runs(do_they: bool) {
    EVERY_VARIANT_RUNS.store(do_they, Ordering::Relaxed);
}

#[cfg(feature = "emulator")]
thread_local! {
    /// The launches of this thread, while somebody asks.
    static LAUNCHED: RefCell<Option<Vec<EmulatedLaunch>>> = const { RefCell::new(None) };
}

/// A launch on the emulated SM, and what came of it.
#[cfg(feature = "emulator")]
#[derive(Clone)]
pub struct EmulatedLaunch {
    /// The kernel.
    pub kernel: &'static KernelDesc,
    /// Its configuration.
    pub config: &'static ConfigDesc,
    /// The variant that took the arguments.
    pub variant: &'static VariantDesc,
    /// Programs along x, y and z.
    pub grid: [u64; 3],
    /// Lines are those of the kernel's file.
    pub outcome: Result<Report, Failure>,
}

/// A list of what this thread launches on the emulated SM, until it is dropped. A thread has one at a time. It stays on
/// its thread.
#[cfg(feature = "emulator")]
pub struct Launched(core::marker::PhantomData<*const ()>);

#[cfg(feature = "emulator")]
impl Launched {
    /// Begins an empty list.
    pub fn start() -> Launched {
        LAUNCHED.set(Some(Vec::new()));
        Launched(core::marker::PhantomData)
    }

    /// As [`Launched::start`], of launches that are listed and not run: every variant counts as one that runs, and
    /// results stay as they are.
    pub fn list() -> Launched {
        IS_LISTED.set(true);
        Self::start()
    }

    /// The variants launched so far, each once.
    pub fn variants(&self) -> Vec<&'static VariantDesc> {
        let mut variants: Vec<&'static VariantDesc> = vec![];
        LAUNCHED.with_borrow(|l| {
            for launch in l.iter().flatten() {
                if !variants.iter().any(|v| core::ptr::eq(*v, launch.variant)) {
                    variants.push(launch.variant);
                }
            }
        });
        variants
    }

    /// The launches so far, in order.
    pub fn launches(&self) -> Vec<EmulatedLaunch> {
        LAUNCHED.with_borrow(|l| l.clone().unwrap_or_default())
    }
}

#[cfg(feature = "emulator")]
impl Drop for Launched {
    fn drop(&mut self) {
        LAUNCHED.set(None);
        IS_LISTED.set(false);
    }
}

/// Adds a launch to the list of this thread, if it has one.
#[cfg(feature = "emulator")]
pub(crate) fn record(launch: impl FnOnce() -> EmulatedLaunch) {
    LAUNCHED.with_borrow_mut(|l| {
        if let Some(list) = l {
            list.push(launch());
        }
    });
}
