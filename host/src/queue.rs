//! The state of a stream's work, and the work that is left of a stream without a name.

use crate::captures::{Captures, KeptOut};
use crate::cuda::api::code;
use crate::cuda::context::Context;
use crate::cuda::relaxed::Relaxed;
use crate::cuda::sys::{CUdeviceptr, CUevent, CUstream, DEFAULT_STREAM, Handle};
use crate::error::{Error, Result};
use crate::marks::Marks;
use std::mem::MaybeUninit;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex};

/// The state of the work of a stream.
pub(crate) struct Queue {
    pub raw: Handle<CUstream>,
    /// C code owns it, and may destroy it once nobody here names it.
    pub is_foreign: bool,
    pub marks: Marks,
    /// The allocations of buffers that work put here from now on runs behind, as those of its context are counted.
    pub behind: AtomicU64,
    /// Held while a wait for allocations is enqueued.
    pub waits: Mutex<()>,
    pub captures: Captures,
}

impl Queue {
    pub(crate) fn new(raw: CUstream, is_foreign: bool) -> Queue {
        Queue {
            raw: Handle(raw),
            is_foreign,
            marks: Marks::new(),
            behind: AtomicU64::new(0),
            waits: Mutex::default(),
            captures: Captures::new(),
        }
    }

    /// Lets the default stream wait for this one. The context must be current. Errors: the driver's;
    /// [`Error::Unsupported`] while either stream is captured, whose capture a wait would break.
    pub(crate) fn join(&self, context: &Context) -> Result<()> {
        self.marks.join(|| {
            let _captures = self.captures.hold();
            context.not_captured("waiting for a stream", self.raw.0)?;
            context.not_captured("waiting on the default stream", DEFAULT_STREAM)?;
            context.order(DEFAULT_STREAM, context, self.raw.0)
        })
    }

    /// Waits for the stream on the host. Errors: as of [`Queue::join`].
    pub(crate) fn synchronize(&self, context: &Context) -> Result<()> {
        self.marks.join(|| context.synchronize(self.raw.0))
    }

    /// Copies to the host behind the work of the stream, and waits for it. All of `dst` is written where this succeeds.
    /// Errors: the driver's; [`Error::Unsupported`] while the stream is captured, whose graph would write to `dst` on
    /// each replay.
    pub(crate) fn download(&self, context: &Context, dst: &mut [MaybeUninit<u8>], src: CUdeviceptr) -> Result<()> {
        let _captures = self.captures.hold();
        context.download(dst, src, self.raw.0)
    }

    /// Other threads begin no capture of this runtime here until the result is dropped. Errors: the driver's;
    /// [`Error::Unsupported`] while the stream is captured.
    pub(crate) fn stays_uncaptured(&self, context: &Context, what: &'static str) -> Result<KeptOut<'_>> {
        self.captures.keep_out(|| context.not_captured(what, self.raw.0))
    }

    /// Errors: those of `begin`; [`Error::Unsupported`] where another thread has asked that the stream
    /// [stays uncaptured](Queue::stays_uncaptured).
    pub(crate) fn begin_capture(&self, context: &Context, begin: impl FnOnce() -> Result<()>) -> Result<()> {
        self.captures.begin(begin).unwrap_or_else(|| {
            Err(Error::Unsupported {
                what: "beginning a capture of a stream on which another thread tunes",
                device: context.info.name.clone(),
                instead: "let other threads use other streams",
            })
        })
    }
}

/// Parts of a stream that nobody names any more.
pub(crate) enum Left {
    /// The stream, which is still among those of its context.
    Stream(Arc<Queue>, Owner),
    /// An event behind the work of a stream that C code owns and may have destroyed, and the scratch memory that only
    /// this work uses.
    Work(Vec<u64>, Handle<CUevent>),
}

impl Left {
    /// The event, where no scratch memory is freed behind it: the default stream, which does that, may be captured.
    pub(crate) fn event(&self) -> Option<CUevent> {
        match self {
            Left::Work(scratch, event) if scratch.is_empty() => Some(event.0),
            _ => None,
        }
    }

    /// Whether this is an event alone whose work is known to be done: no free has to wait for it.
    pub(crate) fn is_done(&self, context: &Context) -> bool {
        let Some(event) = self.event() else { return false };
        let _relaxed = Relaxed::new(context.api);
        // SAFETY: the event lives as long as this value, and no capture has recorded it.
        unsafe { (context.api.event_query)(event) == code::SUCCESS }
    }

    /// Lets the default stream wait for the event. Errors: the driver's; [`Error::Unsupported`] while the default
    /// stream is captured.
    pub(crate) fn join(&self, context: &Context) -> Result<()> {
        match self {
            Left::Stream(..) => Ok(()),
            Left::Work(_, event) => context.wait(DEFAULT_STREAM, event.0),
        }
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
