//! Owners of foreign memory, which are dropped once no stream uses the memory any more.
//!
//! `tests/protocols` compiles this file with loom's primitives in the place of those of `std`, and runs every
//! interleaving.

use crate::sync::{Mutex, MutexGuard};
use core::mem::take;
use std::sync::PoisonError;

pub(crate) struct Owners<O>(Mutex<State<O>>);

struct State<O> {
    /// A wait for their last use has failed.
    waiting: Vec<O>,
    /// How many threads wait for the last use of owners.
    waits: usize,
    /// A stream is gone that may use the memory of owners: the threads that wait must not drop theirs.
    forgotten: bool,
}

impl<O> Owners<O> {
    pub(crate) fn new() -> Owners<O> {
        Owners(Mutex::new(State { waiting: vec![], waits: 0, forgotten: false }))
    }

    /// Whether owners wait for the last use of their memory, those of calls on other threads included.
    pub(crate) fn are_waiting(&self) -> bool {
        let state = self.lock();
        !state.waiting.is_empty() || state.waits > 0
    }

    /// Calls `wait`, which waits for all streams. Returns this owner, if there is one, and those of earlier calls,
    /// which nothing uses any more and which the caller drops. Errors: those of `wait`, after which `note` is called,
    /// and the owners are kept for a later call.
    pub(crate) fn release<E>(
        &self,
        owner: Option<O>,
        wait: impl FnOnce() -> Result<(), E>,
        note: impl FnOnce(),
    ) -> Result<Vec<O>, E> {
        let mut owners = {
            let mut state = self.lock();
            state.waits += 1;
            // Before the wait, which then covers the last use of each.
            take(&mut state.waiting)
        };
        owners.extend(owner);
        let waited = wait();
        if waited.is_err() {
            note();
        }
        let mut state = self.lock();
        state.waits -= 1;
        let forgotten = state.forgotten;
        state.forgotten &= state.waits > 0;
        if forgotten {
            owners.drain(..).for_each(core::mem::forget);
        }
        waited.inspect_err(|_| state.waiting.append(&mut owners)).map(|()| owners)
    }

    /// Never drops the owners that wait; how many they are, without those of calls on other threads.
    pub(crate) fn forget(&self) -> usize {
        let mut state = self.lock();
        state.forgotten = state.waits > 0;
        let owners = take(&mut state.waiting);
        let count = owners.len();
        owners.into_iter().for_each(core::mem::forget);
        count
    }

    /// The owners that wait.
    pub(crate) fn take(&mut self) -> Vec<O> {
        take(&mut self.lock().waiting)
    }

    fn lock(&self) -> MutexGuard<'_, State<O>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
