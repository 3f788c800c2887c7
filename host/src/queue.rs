//! What is known of a stream's work, and what is left of a stream that nobody names any more.

use crate::cuda::Cuda;
use crate::cuda::api::code;
use crate::cuda::relaxed::Relaxed;
use crate::cuda::sys::{CUdeviceptr, CUevent, CUstream, DEFAULT_STREAM, Handle};
use crate::error::{Error, Result};
use crate::marks::Marks;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::thread::{self, ThreadId};

/// What is known of the work of a stream.
pub(crate) struct Queue {
    pub raw: Handle<CUstream>,
    /// C code owns it, and may destroy it once nobody here names it.
    is_foreign: bool,
    pub marks: Marks,
    /// The allocations of buffers that work put here from now on runs behind, as [`Cuda::allocations`] counts them.
    pub behind: AtomicU64,
    /// Held while a wait for allocations is enqueued.
    pub waits: Mutex<()>,
    /// Held for writing while this runtime begins or ends a capture here.
    captures: RwLock<()>,
    /// Counts the captures that this runtime begins here, before and after each begins.
    begun: AtomicU64,
    /// The threads that need the stream outside of captures for more than one call.
    uncaptured: Mutex<Vec<ThreadId>>,
}

impl Queue {
    pub(crate) fn new(raw: CUstream, is_foreign: bool) -> Queue {
        Queue {
            raw: Handle(raw),
            is_foreign,
            marks: Marks::new(),
            behind: AtomicU64::new(0),
            waits: Mutex::default(),
            captures: RwLock::default(),
            begun: AtomicU64::new(0),
            uncaptured: Mutex::default(),
        }
    }

    /// Lets the default stream wait for this one. The context must be current. Errors: the driver's;
    /// [`Error::Unsupported`] while either stream is captured, whose capture a wait would break.
    pub(crate) fn join(&self, cuda: &Cuda) -> Result<()> {
        self.marks.join(|| {
            let _captures = self.captures();
            cuda.not_captured("waiting for a stream", self.raw.0)?;
            cuda.not_captured("waiting on the default stream", DEFAULT_STREAM)?;
            cuda.order(DEFAULT_STREAM, cuda, self.raw.0)
        })
    }

    /// Waits for the stream on the host. Errors: as of [`Queue::join`].
    pub(crate) fn synchronize(&self, cuda: &Cuda) -> Result<()> {
        self.marks.join(|| cuda.synchronize(self.raw.0))
    }

    /// Notes the work of a foreign stream, which may be gone when the default stream can wait for it. Errors: the
    /// driver's; [`Error::Unsupported`] while the stream is captured.
    pub(crate) fn note(&self, cuda: &Cuda) -> Result<()> {
        if !self.is_foreign {
            return Ok(());
        }
        self.marks.note(|| {
            let _captures = self.captures();
            cuda.not_captured("noting the work of a stream", self.raw.0)?;
            let _entered = cuda.enter()?;
            let event = Left::take_done_event(cuda).map_or_else(|| cuda.new_event(), Ok)?;
            // SAFETY: an event that nobody else has, and a live stream of the current context.
            let recorded =
                cuda.api.check("noting the work of a stream", unsafe { (cuda.api.event_record)(event, self.raw.0) });
            // An event of a capture that its owner has begun meanwhile marks no work.
            let noted = recorded.and_then(|()| cuda.not_captured("noting the work of a stream", self.raw.0));
            noted.inspect_err(|_| cuda.destroy_event(event))?;
            Left::Work(vec![], Handle(event)).stay(cuda);
            Ok(())
        })
    }

    /// Copies to the host behind the work of the stream, and waits for it. All of `dst` is written where this succeeds.
    /// Errors: the driver's; [`Error::Unsupported`] while the stream is captured, whose graph would write to `dst` on
    /// each replay.
    pub(crate) fn download(&self, cuda: &Cuda, dst: &mut [MaybeUninit<u8>], src: CUdeviceptr) -> Result<()> {
        let _captures = self.captures();
        cuda.download(dst, src, self.raw.0)
    }

    /// Other threads begin no capture of this runtime here until the result is dropped. Errors: the driver's;
    /// [`Error::Unsupported`] while the stream is captured.
    pub(crate) fn stays_uncaptured(&self, cuda: &Cuda, what: &'static str) -> Result<Uncaptured<'_>> {
        let _captures = self.captures();
        cuda.not_captured(what, self.raw.0)?;
        self.uncaptured().push(thread::current().id());
        Ok(Uncaptured(self))
    }

    fn uncaptured(&self) -> MutexGuard<'_, Vec<ThreadId>> {
        self.uncaptured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This runtime neither begins nor ends a capture here until the result is dropped.
    pub(crate) fn captures(&self) -> RwLockReadGuard<'_, ()> {
        self.captures.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Errors: those of `begin`; [`Error::Unsupported`] where another thread has asked that the stream
    /// [stays uncaptured](Queue::stays_uncaptured).
    pub(crate) fn begin_capture(&self, cuda: &Cuda, begin: impl FnOnce() -> Result<()>) -> Result<()> {
        let _captures = self.captures.write().unwrap_or_else(PoisonError::into_inner);
        if self.uncaptured().iter().any(|&of| of != thread::current().id()) {
            return Err(Error::Unsupported {
                what: "beginning a capture of a stream on which another thread tunes",
                device: cuda.info.name.clone(),
                instead: "let other threads use other streams",
            });
        }
        self.begun.fetch_add(1, AcqRel);
        let begun = begin();
        self.begun.fetch_add(1, AcqRel);
        begun
    }

    /// To be taken before work is enqueued, for [`Queue::may_be_captured`].
    pub(crate) fn begun(&self) -> u64 {
        self.begun.load(Acquire)
    }

    /// Whether a capture of this runtime may have begun since `before`.
    pub(crate) fn may_be_captured(&self, before: u64) -> bool {
        before % 2 == 1 || self.begun() != before
    }

    pub(crate) fn end_capture<T>(&self, end: impl FnOnce() -> T) -> T {
        let _captures = self.captures.write().unwrap_or_else(PoisonError::into_inner);
        end()
    }
}

/// Keeps captures of other threads from a stream: see [`Queue::stays_uncaptured`].
pub(crate) struct Uncaptured<'a>(&'a Queue);

impl Drop for Uncaptured<'_> {
    fn drop(&mut self) {
        let mut threads = self.0.uncaptured();
        let own = threads.iter().position(|&of| of == thread::current().id());
        own.map(|at| threads.swap_remove(at));
    }
}

/// Parts of a stream that nobody names any more.
pub(crate) enum Left {
    /// The stream, one of [`Cuda::joins`].
    Stream(Arc<Queue>, Owner),
    /// An event behind the work of a stream that C code owns and may have destroyed, and the scratch memory that only
    /// this work uses.
    Work(Vec<u64>, Handle<CUevent>),
}

impl Left {
    /// From so many on, events whose work is done are used again.
    const FEW: usize = 8;
    /// From so many on, the default stream waits for all that is left. Events of a program that frees no memory would
    /// add up.
    const MANY: usize = 64;

    /// The oldest event that a stream has left, if its work is done.
    fn take_done_event(cuda: &Cuda) -> Option<CUevent> {
        if cuda.joins.left() < Self::FEW {
            return None;
        }
        cuda.joins.take_done(|left| left.event().is_some(), |left| left.is_done(cuda))?.event()
    }

    /// Lets the default stream wait for all that streams have left, where that is much and most of its work is not
    /// done. Errors: as of [`Cuda::join_streams`].
    pub(crate) fn trim(cuda: &Cuda) -> Result<()> {
        if cuda.joins.left() < Self::MANY {
            return Ok(());
        }
        cuda.joins.take_all_done(|left| left.is_done(cuda)).into_iter().for_each(|left| left.end_now(cuda));
        if cuda.joins.left() > Self::MANY / 2 { cuda.join_streams() } else { Ok(()) }
    }

    /// The event, where no scratch memory is freed behind it: the default stream, which does that, may be captured.
    fn event(&self) -> Option<CUevent> {
        match self {
            Left::Work(scratch, event) if scratch.is_empty() => Some(event.0),
            _ => None,
        }
    }

    /// Whether this is an event alone whose work is known to be done: no free has to wait for it.
    fn is_done(&self, cuda: &Cuda) -> bool {
        let Some(event) = self.event() else { return false };
        let _relaxed = Relaxed::new(cuda.api);
        // SAFETY: the event lives as long as this value, and no capture has recorded it.
        unsafe { (cuda.api.event_query)(event) == code::SUCCESS }
    }

    /// Lets the default stream wait for the event. Errors: the driver's; [`Error::Unsupported`] while the default
    /// stream is captured.
    pub(crate) fn join(&self, cuda: &Cuda) -> Result<()> {
        match self {
            Left::Stream(..) => Ok(()),
            Left::Work(_, event) => cuda.wait(DEFAULT_STREAM, event.0),
        }
    }

    /// To be called when the default stream waits for this, and for all other streams. A stream in a capture stays
    /// until the capture has ended, which it would break.
    pub(crate) fn end(self, cuda: &Cuda) {
        if let Left::Stream(queue, owner) = &self
            && !matches!(owner, Owner::Foreign)
            && cuda.is_capturing(queue.raw.0)
        {
            return self.stay(cuda);
        }
        self.end_now(cuda);
    }

    /// The same, in a capture, too.
    pub(crate) fn end_now(self, cuda: &Cuda) {
        // Owners of other libraries may make a context current.
        let _entered = cuda.enter();
        match self {
            Left::Stream(queue, owner) => {
                queue.marks.leave();
                cuda.joins.remove(|q| Arc::ptr_eq(q, &queue));
                if matches!(owner, Owner::Own) {
                    // SAFETY: made by `Stream::new`, and named by nobody any more. The driver finishes its work first.
                    unsafe { (cuda.api.stream_destroy)(queue.raw.0) };
                }
            }
            Left::Work(mut scratch, event) => {
                scratch.retain(|&ptr| !cuda.free_here(ptr, DEFAULT_STREAM));
                if scratch.is_empty() {
                    cuda.destroy_event(event.0);
                } else {
                    Left::Work(scratch, event).stay(cuda);
                }
            }
        }
    }

    /// Stays until a later wait of the default stream.
    pub(crate) fn stay(self, cuda: &Cuda) {
        cuda.joins.leave(self);
    }
}

pub(crate) enum Owner {
    Default,
    Own,
    Foreign,
    /// A value that keeps the stream of another library.
    #[cfg(feature = "cudarc")]
    Kept(#[allow(dead_code)] Arc<dyn core::any::Any + Send + Sync>),
}
