//! How memory, streams and the owners of foreign memory are given back: once no stream of the context uses them.
//!
//! Memory is freed on the default stream, behind the work of all streams. An allocation that finds no memory waits for
//! that.

use super::api::code;
use super::relaxed::Relaxed;
use super::shared::Cuda;
use super::sys::{CUdeviceptr, CUevent, CUstream, DEFAULT_STREAM, Handle};
use crate::error::{Error, Result};
use crate::queue::{Left, Owner, Queue};
use std::sync::Arc;

/// From so many on, events whose work is done are used again.
const FEW_LEFT: usize = 8;
/// From so many on, the default stream waits for all that is left. Events of a program that frees no memory would add
/// up.
const MANY_LEFT: usize = 64;

impl Cuda {
    /// `bytes` > 0 of device memory, usable by work put on `stream` from here on.
    pub(crate) fn alloc(&self, bytes: u64, stream: CUstream) -> Result<CUdeviceptr> {
        self.retrying(stream, || self.try_alloc(bytes, stream))
    }

    /// Calls `ask` again where there was no memory, after waiting for what is being freed. The caller holds no lock.
    pub(crate) fn retrying<T>(&self, stream: CUstream, mut ask: impl FnMut() -> Result<T>) -> Result<T> {
        match ask() {
            Err(Error::OutOfMemory { .. }) => {
                let _entered = self.enter()?;
                if !self.is_capturing(stream) {
                    self.make_room();
                }
                ask()
            }
            other => other,
        }
    }

    /// Waits for memory that is being freed, and frees what could not be freed before. The context must be current.
    fn make_room(&self) {
        self.release_waiting();
        let _relaxed = Relaxed::new(self.api);
        // Memory that was freed stream-ordered becomes available when its stream has passed the free.
        // Not the context: waiting for it breaks every capture in it.
        if let Err(e) = self.join_streams().and_then(|()| self.synchronize(DEFAULT_STREAM)) {
            tracing::debug!(error = %e, "waiting for memory that is being freed");
        }
        self.pool.trim(self.api);
    }

    /// Lets the default stream wait for the work that other streams of this runtime have been given: what is freed on
    /// the default stream after this is no longer used anywhere. Errors: the driver's; [`Error::Unsupported`] where a
    /// stream is captured that was given work before, or where the default stream is captured that has to wait.
    pub(crate) fn join_streams(&self) -> Result<()> {
        self.join_each(|queue| queue.join(self))
    }

    /// The same, with a way to wait for a stream.
    fn join_each(&self, mut join: impl FnMut(&Queue) -> Result<()>) -> Result<()> {
        if self.api.forked() {
            return Err(Error::Forked);
        }
        let wait = |left: &[Left], streams: &[Arc<Queue>]| {
            let _entered = self.enter()?;
            // The events of a context are gone with it.
            if !left.is_empty() && !self.is_alive() {
                return Err(self.api.error("waiting for what streams have left", code::CONTEXT_IS_DESTROYED));
            }
            left.iter().try_for_each(|left| left.join(self))?;
            streams.iter().try_for_each(|queue| join(queue))
        };
        // Owners of streams run code of other libraries, which may call this one.
        self.joins.join(wait, |left| self.end(left))
    }

    /// Gives memory back when no stream of this runtime uses it any more. It stays allocated until the default stream
    /// can be made to wait for them.
    pub(crate) fn release(&self, ptr: CUdeviceptr) {
        // In a forked child the memory is the parent's.
        if self.api.forked() {
            return;
        }
        let entered = self.enter();
        self.joins.release(
            ptr,
            || entered.is_ok() && self.joins_or_notes(),
            |&ptr| self.free_here(ptr, DEFAULT_STREAM),
        );
    }

    /// Gives back the memory that could not be given back before, if it can be now. The context must be current.
    pub(crate) fn release_waiting(&self) {
        self.joins.release_waiting(|| self.joins_or_notes(), |&ptr| self.free_here(ptr, DEFAULT_STREAM));
        self.give_back(None);
    }

    /// Whether the default stream waits for all others. Where it does not, their work is noted.
    fn joins_or_notes(&self) -> bool {
        let joined = !self.is_capturing(DEFAULT_STREAM) && self.join_streams().is_ok();
        if !joined {
            self.note_streams();
        }
        joined
    }

    /// Gives memory back once the work put on `stream` so far is done. Where a capture refuses that, the memory waits
    /// for a later [`Cuda::release`].
    pub(crate) fn free(&self, ptr: CUdeviceptr, stream: CUstream) {
        // The context may be current even where the driver cannot say so.
        let _entered = self.enter();
        if !self.free_here(ptr, stream) {
            self.joins.keep(ptr);
        }
    }

    /// Notes the work of foreign streams, where the default stream cannot wait for them now.
    fn note_streams(&self) {
        if !self.is_alive() {
            return;
        }
        for e in self.joins.streams().iter().filter_map(|queue| self.note(queue).err()) {
            tracing::debug!(error = %e, "the work of a stream is not noted");
        }
    }

    /// Notes the work of a foreign stream, which may be gone when the default stream can wait for it. Errors: the
    /// driver's; [`Error::Unsupported`] while the stream is captured.
    fn note(&self, queue: &Queue) -> Result<()> {
        if !queue.is_foreign {
            return Ok(());
        }
        queue.marks.note(|| {
            let _captures = queue.captures.hold();
            self.not_captured("noting the work of a stream", queue.raw.0)?;
            let _entered = self.enter()?;
            let event = self.take_done_event().map_or_else(|| self.new_event(), Ok)?;
            // SAFETY: an event that nobody else has, and a live stream of the current context.
            let recorded =
                self.api.check("noting the work of a stream", unsafe { (self.api.event_record)(event, queue.raw.0) });
            // An event of a capture that its owner has begun meanwhile marks no work.
            let noted = recorded.and_then(|()| self.not_captured("noting the work of a stream", queue.raw.0));
            noted.inspect_err(|_| self.destroy_event(event))?;
            self.joins.leave(Left::Work(vec![], Handle(event)));
            Ok(())
        })
    }

    /// The oldest event that a stream has left, if its work is done.
    fn take_done_event(&self) -> Option<CUevent> {
        if self.joins.left() < FEW_LEFT {
            return None;
        }
        self.joins.take_done(|left| left.event().is_some(), |left| left.is_done(self))?.event()
    }

    /// Lets the default stream wait for all that streams have left, where that is much and most of its work is not
    /// done. Errors: as of [`Cuda::join_streams`].
    fn trim_left(&self) -> Result<()> {
        if self.joins.left() < MANY_LEFT {
            return Ok(());
        }
        self.joins.take_all_done(|left| left.is_done(self)).into_iter().for_each(|left| self.end_now(left));
        if self.joins.left() > MANY_LEFT / 2 { self.join_streams() } else { Ok(()) }
    }

    /// To be called when the default stream waits for what a stream has left, and for all other streams. A stream in a
    /// capture stays until the capture has ended, which it would break.
    pub(crate) fn end(&self, left: Left) {
        if let Left::Stream(queue, owner) = &left
            && !matches!(owner, Owner::Foreign)
            && self.is_capturing(queue.raw.0)
        {
            return self.joins.leave(left);
        }
        self.end_now(left);
    }

    /// The same, in a capture, too.
    fn end_now(&self, left: Left) {
        // Owners of other libraries may make a context current.
        let _entered = self.enter();
        match left {
            Left::Stream(queue, owner) => {
                queue.marks.leave();
                self.joins.remove(|q| Arc::ptr_eq(q, &queue));
                if matches!(owner, Owner::Own) {
                    // SAFETY: made by `Stream::new`, and named by nobody any more. The driver finishes its work first.
                    unsafe { (self.api.stream_destroy)(queue.raw.0) };
                }
            }
            Left::Work(mut scratch, event) => {
                scratch.retain(|&ptr| !self.free_here(ptr, DEFAULT_STREAM));
                if scratch.is_empty() {
                    self.destroy_event(event.0);
                } else {
                    self.joins.leave(Left::Work(scratch, event));
                }
            }
        }
    }

    /// To be called before a foreign stream is left, which its owner may destroy then. Memory that is freed later waits
    /// for its work, too. Where that can be neither noted nor waited for, memory that waits already stays allocated. No
    /// kernel runs in a context that is lost or destroyed: there the memory waits for the end of this value alone.
    pub(crate) fn leave_foreign(&self, queue: &Queue, stream: CUstream) {
        if !self.is_alive() {
            return;
        }
        if let Err(e) = self.note(queue).or_else(|_| self.synchronize(stream)) {
            let is_waited_for = self.joins.has_waiting() || self.owners.are_waiting();
            if !is_waited_for || matches!(e, Error::DeviceLost { .. }) {
                return;
            }
            let (blocks, owners) = (self.joins.take_waiting().len(), self.owners.forget());
            tracing::warn!(error = %e, blocks, owners, "memory that a stream may use stays allocated");
        }
        if let Err(e) = self.trim_left() {
            tracing::debug!(error = %e, "what streams have left is waited for later");
        }
    }

    /// Drops the owner of foreign memory once no stream of this runtime uses it any more. Where the wait fails, the
    /// owner is kept until a later wait succeeds, or until the context's end.
    pub(crate) fn drop_borrowed(&self, owner: Box<dyn Send>) {
        // In a forked child the owner is the parent's, who may have held the lock.
        if self.api.forked() {
            return core::mem::forget(owner);
        }
        self.give_back(Some(owner));
    }

    /// The same for owners whose wait has failed before.
    fn give_back(&self, owner: Option<Box<dyn Send>>) {
        if owner.is_none() && !self.owners.are_waiting() {
            return;
        }
        let wait = || self.join_streams().and_then(|()| self.synchronize(DEFAULT_STREAM));
        match self.owners.release(owner, wait, || self.note_streams()) {
            // Owners run code of other frameworks, which may call this library: no lock is held here.
            Ok(owners) => drop(owners),
            Err(e) => tracing::debug!(error = %e, "foreign tensors are given back later"),
        }
    }
}

impl Drop for Cuda {
    fn drop(&mut self) {
        // All streams are gone, and each was joined before, or is left. A context that was destroyed has none: another
        // one may have its address.
        let joined = match self.api.forked() || self.is_alive() {
            true => self.join_streams(),
            false => Err(self.api.error("ending a runtime", code::CONTEXT_IS_DESTROYED)),
        };
        // Where no wait can be enqueued, waiting orders as well.
        let joined = joined.or_else(|e| match e {
            Error::DeviceLost { .. } | Error::ContextDestroyed { .. } | Error::Forked => Err(e),
            e => self.join_each(|queue| queue.synchronize(self)).map_err(|_| e),
        });
        let waiting = self.joins.take_waiting();
        match &joined {
            Ok(()) => {
                waiting.into_iter().for_each(|ptr| self.free(ptr, DEFAULT_STREAM));
                // A capture that one of them is in has lost its other streams.
                self.joins.take_left().into_iter().for_each(|stream| self.end_now(stream));
            }
            // No kernel runs in a context that is lost, and its memory is gone.
            Err(e) => tracing::debug!(error = %e, blocks = waiting.len(), "memory stays allocated"),
        }
        let borrowed = self.owners.take();
        if !borrowed.is_empty() {
            match joined.and_then(|()| self.synchronize(DEFAULT_STREAM)) {
                // No kernel runs in a context that is lost.
                Ok(()) | Err(Error::DeviceLost { .. } | Error::ContextDestroyed { .. }) => drop(borrowed),
                Err(e) => {
                    tracing::warn!(error = %e, count = borrowed.len(), "foreign tensors are not given back");
                    core::mem::forget(borrowed);
                }
            }
        }
    }
}
