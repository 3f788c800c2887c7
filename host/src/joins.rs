//! The work that the default stream waits for before memory is freed on it: that of the streams of a context, and that
//! of dropped streams. Also the memory that is freed behind the next of these waits.
//!
//! `tests/protocols` compiles this file with loom's primitives in the place of those of `std`, and runs every
//! interleaving.

use crate::sync::{Mutex, MutexGuard};
use core::mem::take;
use std::sync::PoisonError;

/// With streams `S`, what streams leave, `L`, and memory `M`.
pub(crate) struct Joins<S, L, M> {
    /// Streams other than the default one.
    streams: Mutex<Vec<S>>,
    /// Parts of streams that nobody names any more. The default stream could not wait for them yet.
    left: Mutex<Vec<L>>,
    /// Held from taking what is left until the default stream waits for it.
    joining: Mutex<()>,
    /// Memory to be freed once the default stream waits for all who use it.
    waiting: Mutex<Vec<M>>,
}

fn lock<T>(all: &Mutex<T>) -> MutexGuard<'_, T> {
    all.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The caller holds the lock over the wait, which then covers the last use of all that is freed.
fn free_all<M>(waiting: &mut Vec<M>, join: impl FnOnce() -> bool, mut free: impl FnMut(&M) -> bool) {
    if join() {
        waiting.retain(|memory| !free(memory));
    }
}

impl<S: Clone, L, M> Joins<S, L, M> {
    pub(crate) fn new() -> Joins<S, L, M> {
        Joins {
            streams: Mutex::new(vec![]),
            left: Mutex::new(vec![]),
            joining: Mutex::new(()),
            waiting: Mutex::new(vec![]),
        }
    }

    pub(crate) fn add(&self, stream: S) {
        lock(&self.streams).push(stream);
    }

    pub(crate) fn remove(&self, is_it: impl Fn(&S) -> bool) {
        lock(&self.streams).retain(|s| !is_it(s));
    }

    pub(crate) fn streams(&self) -> Vec<S> {
        lock(&self.streams).clone()
    }

    /// Keeps what a stream has left until a later wait.
    pub(crate) fn leave(&self, left: L) {
        lock(&self.left).push(left);
    }

    /// How much streams have left that no wait has taken.
    pub(crate) fn left(&self) -> usize {
        lock(&self.left).len()
    }

    /// Takes the oldest `of_kind` that streams have left if `is_done` says that its work is done: no wait needs it.
    pub(crate) fn take_done(&self, of_kind: impl Fn(&L) -> bool, is_done: impl FnOnce(&L) -> bool) -> Option<L> {
        let mut left = lock(&self.left);
        let oldest = left.iter().position(of_kind)?;
        is_done(&left[oldest]).then(|| left.remove(oldest))
    }

    /// Takes all that streams have left whose work is done.
    pub(crate) fn take_all_done(&self, mut is_done: impl FnMut(&L) -> bool) -> Vec<L> {
        lock(&self.left).extract_if(.., |left| is_done(left)).collect()
    }

    /// Calls `wait`, which lets the default stream wait for all that is left and for all streams. Then calls `end` for
    /// all that was left, when other threads may wait again. When this returns, the wait for what was added or left
    /// before the call is enqueued. Errors: those of `wait`, after which what was left still is.
    pub(crate) fn join<E>(
        &self,
        mut wait: impl FnMut(&[L], &[S]) -> Result<(), E>,
        end: impl FnMut(L),
    ) -> Result<(), E> {
        // Who finds nothing left here relies on the waits of the thread that took it. They are enqueued under this
        // lock.
        let joining = lock(&self.joining);
        let mut all_left = vec![];
        let joined = loop {
            // Taken first: each stream of them is among the streams that are waited for.
            let mut left = take(&mut *lock(&self.left));
            let streams = self.streams();
            let joined = match streams.is_empty() && left.is_empty() {
                true => Ok(()),
                false => wait(&left, &streams),
            };
            all_left.append(&mut left);
            // A stream that was not there any more has left something before.
            if joined.is_err() || lock(&self.left).is_empty() {
                break joined;
            }
        };
        if joined.is_err() {
            lock(&self.left).append(&mut all_left);
        }
        drop(joining);
        all_left.into_iter().for_each(end);
        joined
    }

    /// Calls `free` for this memory, and for all that came before it, if `join` says that the default stream waits for
    /// all who use it. Else the memory stays until a later call, as memory does for which `free` says `false`.
    pub(crate) fn release(&self, memory: M, join: impl FnOnce() -> bool, free: impl FnMut(&M) -> bool) {
        let mut waiting = lock(&self.waiting);
        waiting.push(memory);
        free_all(&mut waiting, join, free);
    }

    /// The same for what came before alone.
    pub(crate) fn release_waiting(&self, join: impl FnOnce() -> bool, free: impl FnMut(&M) -> bool) {
        let mut waiting = lock(&self.waiting);
        if !waiting.is_empty() {
            free_all(&mut waiting, join, free);
        }
    }

    /// Keeps memory until a later release.
    pub(crate) fn keep(&self, memory: M) {
        lock(&self.waiting).push(memory);
    }

    /// Whether memory waits for a later call. That of a call on another thread counts.
    pub(crate) fn has_waiting(&self) -> bool {
        self.waiting.try_lock().map_or(true, |waiting| !waiting.is_empty())
    }

    pub(crate) fn take_left(&mut self) -> Vec<L> {
        take(self.left.get_mut().unwrap_or_else(PoisonError::into_inner))
    }

    /// The memory that waits, which no later call frees.
    pub(crate) fn take_waiting(&self) -> Vec<M> {
        take(&mut *lock(&self.waiting))
    }
}
