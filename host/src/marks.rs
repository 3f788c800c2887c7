//! The marks of a stream: how much work it was given, and how much of that the default stream waits for.
//!
//! Memory is freed on the default stream, after it has been made to wait for every stream that may use the memory. A
//! thread that finds the work of a stream joined relies on a wait of another thread, which enqueues it under the lock.
//!
//! `tests/protocols` compiles this file with loom's primitives in the place of those of `std`, and runs every
//! interleaving.

use crate::sync::{AtomicU64, Mutex};
use std::sync::PoisonError;
use std::sync::atomic::Ordering::{Acquire, Release};

pub(crate) struct Marks {
    /// Pieces of work, counted after they are enqueued.
    given: AtomicU64,
    /// Held while the wait is enqueued.
    joined: Mutex<Joined>,
}

struct Joined {
    given: u64,
    /// The work that [`Marks::note`] has noted last.
    noted: u64,
    /// The stream is destroyed, or may be.
    gone: bool,
}

impl Marks {
    pub(crate) fn new() -> Marks {
        Marks { given: AtomicU64::new(0), joined: Mutex::new(Joined { given: 0, noted: 0, gone: false }) }
    }

    /// Counts a piece of work that was enqueued.
    #[inline]
    pub(crate) fn mark(&self) {
        self.given.fetch_add(1, Release);
    }

    /// Calls `wait`, which lets the default stream wait for all work that the stream has, unless it waits for all that
    /// is marked. When this returns, the wait for work that was marked before the call is enqueued. Errors: those of
    /// `wait`, after which the work counts as not waited for.
    pub(crate) fn join<E>(&self, wait: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let given = self.given.load(Acquire);
        if joined.gone || joined.given == given {
            return Ok(());
        }
        wait()?;
        joined.given = given;
        Ok(())
    }

    /// Calls `record`, which records an event behind all work that the stream has, unless the default stream waits for
    /// all that is marked, or it was noted before. Errors: those of `record`.
    pub(crate) fn note<E>(&self, record: impl FnOnce() -> Result<(), E>) -> Result<(), E> {
        let mut joined = self.joined.lock().unwrap_or_else(PoisonError::into_inner);
        let given = self.given.load(Acquire);
        if joined.gone || joined.given == given || joined.noted == given {
            return Ok(());
        }
        record()?;
        joined.noted = given;
        Ok(())
    }

    /// No wait names the stream after this.
    pub(crate) fn leave(&self) {
        self.joined.lock().unwrap_or_else(PoisonError::into_inner).gone = true;
    }
}
