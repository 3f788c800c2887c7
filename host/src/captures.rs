//! The captures of a stream: what begins and ends them, and the work that stays out of them.

use crate::sync::{AtomicU64, Mutex, MutexGuard, RwLock, RwLockReadGuard, ThreadId, thread};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{AcqRel, Acquire};

/// The captures that this runtime begins and ends on a stream.
pub(crate) struct Captures {
    /// Held for writing while a capture begins or ends.
    changes: RwLock<()>,
    /// The beginnings of captures, each counted before and after it.
    begun: AtomicU64,
    /// The threads that need the stream outside of captures for more than one call.
    uncaptured: Mutex<Vec<ThreadId>>,
}

impl Captures {
    pub(crate) fn new() -> Captures {
        Captures { changes: RwLock::new(()), begun: AtomicU64::new(0), uncaptured: Mutex::new(Vec::new()) }
    }

    /// No capture begins or ends here until the result is dropped.
    pub(crate) fn hold(&self) -> RwLockReadGuard<'_, ()> {
        self.changes.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins a capture. `None` where another thread has asked that the stream [stays uncaptured](Captures::keep_out).
    pub(crate) fn begin<T>(&self, begin: impl FnOnce() -> T) -> Option<T> {
        let _changes = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        let own = thread::current().id();
        if self.uncaptured().iter().any(|of| *of != own) {
            return None;
        }
        self.begun.fetch_add(1, AcqRel);
        let begun = begin();
        self.begun.fetch_add(1, AcqRel);
        Some(begun)
    }

    /// Ends a capture.
    pub(crate) fn end<T>(&self, end: impl FnOnce() -> T) -> T {
        let _changes = self.changes.write().unwrap_or_else(PoisonError::into_inner);
        end()
    }

    /// The number to compare after work is enqueued: see [`Captures::may_have_begun`].
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Acquire)
    }

    /// Whether a capture may have begun since [`Captures::begun`] returned `before`.
    pub(crate) fn may_have_begun(&self, before: u64) -> bool {
        before % 2 == 1 || self.begun() != before
    }

    /// Other threads begin no capture until the result is dropped. Errors: those of `check`, which is called while no
    /// capture begins or ends.
    pub(crate) fn keep_out<E>(&self, check: impl FnOnce() -> Result<(), E>) -> Result<KeptOut<'_>, E> {
        let _hold = self.hold();
        check()?;
        self.uncaptured().push(thread::current().id());
        Ok(KeptOut(self))
    }

    fn uncaptured(&self) -> MutexGuard<'_, Vec<ThreadId>> {
        self.uncaptured.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Keeps captures of other threads from a stream: see [`Captures::keep_out`].
pub(crate) struct KeptOut<'a>(&'a Captures);

impl Drop for KeptOut<'_> {
    fn drop(&mut self) {
        let own = thread::current().id();
        let mut threads = self.0.uncaptured();
        let at = threads.iter().position(|of| *of == own);
        at.map(|at| threads.swap_remove(at));
    }
}
