//! Streams: queues of work on a device. On the CPU backend work is done when a launch returns, and a stream is a token.

use crate::blocks::Blocks;
use crate::cuda::Cuda;
use crate::cuda::api::code;
use crate::cuda::relaxed::Relaxed;
use crate::cuda::sys::{CUevent, CUstream, DEFAULT_STREAM, Handle};
use crate::error::{Error, Result};
use crate::failures::Failures;
use crate::queue::{Left, Owner, Queue};
use core::ffi::c_void;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{Acquire, Release};
use std::sync::{Arc, Mutex, PoisonError};
use tilewright_core::cpu::fork::PerProcess;

/// A queue of work on one runtime's device; clones are the same queue.
///
/// The default stream of a runtime ([`Runtime::stream`](crate::Runtime::stream)) is the context's legacy default
/// stream. Buffers are allocated, copied and freed on it. Streams made here run beside it. They see the work that was
/// put on the default stream before they were made. [`Stream::wait`] and [`Stream::wait_for`] order later work. Memory
/// is never reused while a stream still works on it.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Event, Runtime, Stream, tile_kernel};
///
/// #[tile_kernel(grid = [1])]
/// fn add_one(y: &mut [f32]) {
///     store(y, arange(2), load(y, arange(2)) + 1.0);
/// }
///
/// let rt = Runtime::cpu();
/// let mut y = Buffer::<f32>::zeros(&rt, 2)?;
/// let (a, b) = (Stream::new(&rt)?, Stream::new(&rt)?);
/// rt.launch_on(&a, add_one(&mut y))?;
/// b.wait_for(&a)?; // what follows on `b` begins when `add_one` is done
/// rt.launch_on(&b, add_one(&mut y))?;
/// b.synchronize()?;
/// assert!(b.is_done()?);
/// assert_eq!(y.to_vec_on(&b)?, [2.0, 2.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone)]
pub struct Stream(pub(crate) Arc<StreamInner>);

pub(crate) enum StreamInner {
    /// With the scratch memory that is kept for it.
    Host(PerProcess<Blocks>),
    Cuda(CudaStream),
}

pub(crate) struct CudaStream {
    pub cuda: Arc<Cuda>,
    pub raw: Handle<CUstream>,
    owner: Owner,
    pub queue: Arc<Queue>,
    /// Of each process its own: the lock may be held where it is forked.
    pub scratch: PerProcess<Blocks>,
    /// Whether scratch was ever leased here.
    pub leased: AtomicBool,
    /// Of a stream that C code owns: what its scratch memory was last used by.
    used: Mutex<Used>,
}

/// The last use of scratch memory on a stream that may be gone when the memory is freed.
#[derive(Default)]
enum Used {
    #[default]
    Never,
    Until(Handle<CUevent>),
    /// It could not be recorded: the memory is freed only if a later use is.
    Unknown,
}

impl Stream {
    /// The same stream, whose owner is kept as long as this value and its clones.
    #[cfg(feature = "cudarc")]
    pub(crate) fn keeping(self, owner: Arc<dyn core::any::Any + Send + Sync>) -> Stream {
        match self.as_cuda() {
            Some(s) if !matches!(s.owner, Owner::Default) => Self::cuda(s.cuda.clone(), s.raw.0, Owner::Kept(owner)),
            _ => self,
        }
    }

    pub(crate) fn host() -> Stream {
        Stream(Arc::new(StreamInner::Host(PerProcess::new())))
    }

    pub(crate) fn default_of(cuda: Arc<Cuda>) -> Stream {
        Stream(Arc::new(StreamInner::Cuda(CudaStream::new(cuda, DEFAULT_STREAM, Owner::Default))))
    }

    /// A stream of a context other than the default one.
    pub(crate) fn cuda(cuda: Arc<Cuda>, raw: CUstream, owner: Owner) -> Stream {
        let inner = Arc::new(StreamInner::Cuda(CudaStream::new(cuda.clone(), raw, owner)));
        if let StreamInner::Cuda(s) = &*inner {
            cuda.joins.add(s.queue.clone());
        }
        Stream(inner)
    }

    /// The `CUstream`; null for the legacy default stream and on the CPU.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, Stream};
    ///
    /// let stream = Stream::new(&Runtime::cpu())?;
    /// assert!(stream.as_raw().is_null()); // on a GPU it is a `CUstream`
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn as_raw(&self) -> *mut c_void {
        self.as_cuda().map_or(core::ptr::null_mut(), |s| s.raw.0.cast())
    }

    /// Waits until everything put here is done. Errors: those of the work, [`Error::DeviceLost`] above all.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, Stream};
    ///
    /// let stream = Stream::new(&Runtime::cpu())?;
    /// stream.synchronize()?;
    /// assert!(stream.is_done()?);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn synchronize(&self) -> Result<()> {
        self.as_cuda().map_or(Ok(()), |s| s.cuda.synchronize(s.raw.0))
    }

    /// Whether everything put here is done. Errors: those of the work; [`Error::Unsupported`] while it is captured.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, Stream};
    ///
    /// let stream = Stream::new(&Runtime::cpu())?;
    /// while !stream.is_done()? {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn is_done(&self) -> Result<bool> {
        let Some(s) = self.as_cuda() else { return Ok(true) };
        let _entered = s.cuda.enter()?;
        s.cuda.not_captured("asking whether a stream is done", s.raw.0)?;
        let _relaxed = Relaxed::new(s.cuda.api);
        // SAFETY: the stream is alive, as this value is.
        match unsafe { (s.cuda.api.stream_query)(s.raw.0) } {
            code::SUCCESS => Ok(true),
            code::NOT_READY => Ok(false),
            e => Err(s.cuda.api.error("asking whether the stream is done", e)),
        }
    }

    /// Later work here waits for the work that `other` was given so far, which may be a stream of another context or
    /// device. Errors: [`Error::Unsupported`] where a capture would break.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, Stream, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn add_one(y: &mut [f32]) {
    ///     store(y, arange(2), load(y, arange(2)) + 1.0);
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// let (a, b, mut y) = (Stream::new(&rt)?, Stream::new(&rt)?, Buffer::<f32>::zeros(&rt, 2)?);
    /// rt.launch_on(&a, add_one(&mut y))?;
    /// b.wait_for(&a)?;
    /// rt.launch_on(&b, add_one(&mut y))?;
    /// assert_eq!(y.to_vec_on(&b)?, [2.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn wait_for(&self, other: &Stream) -> Result<()> {
        let (Some(a), Some(b)) = (self.as_cuda(), other.as_cuda()) else { return Ok(()) };
        let is_of_one_context = Arc::ptr_eq(&a.cuda, &b.cuda);
        if is_of_one_context && a.raw == b.raw {
            return Ok(());
        }
        let captured = {
            // The default stream is that of the current context.
            let _entered = b.cuda.enter()?;
            b.cuda.capture_of(b.raw.0)
        };
        let _entered = a.cuda.enter()?;
        a.may_wait(captured, is_of_one_context)?;
        let allocations = b.cuda.allocations.load(Acquire);
        a.cuda.order(a.raw.0, &b.cuda, b.raw.0)?;
        if is_of_one_context && b.raw.0 == DEFAULT_STREAM {
            a.queue.behind.fetch_max(allocations, Release);
        }
        Ok(())
    }

    /// Whether work put here is being recorded into a graph. A stream that cannot be asked counts as captured.
    ///
    /// # Examples
    /// ```
    /// let rt = tilewright::Runtime::cpu();
    /// assert!(!rt.stream().is_capturing() && rt.stream().as_raw().is_null());
    /// ```
    pub fn is_capturing(&self) -> bool {
        // The default stream is that of the current context.
        self.as_cuda().is_some_and(|s| s.cuda.enter().map_or(true, |_entered| s.cuda.is_capturing(s.raw.0)))
    }

    /// The failed launches of its device.
    pub(crate) fn failures(&self) -> &Failures {
        self.as_cuda().map_or(Failures::on_host(), |s| &s.cuda.failures)
    }

    #[inline]
    pub(crate) fn as_cuda(&self) -> Option<&CudaStream> {
        match &*self.0 {
            StreamInner::Cuda(s) => Some(s),
            StreamInner::Host(_) => None,
        }
    }
}

impl core::fmt::Debug for Stream {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Stream({:p})", self.as_raw())
    }
}

/// A stream before work is enqueued on it.
#[derive(Clone, Copy)]
pub(crate) struct BeforeWork {
    /// The captures of this runtime that had begun.
    begun: u64,
    /// The capture of the stream.
    capture: Option<u64>,
}

impl CudaStream {
    fn new(cuda: Arc<Cuda>, raw: CUstream, owner: Owner) -> CudaStream {
        let leased = AtomicBool::new(false);
        let queue = Arc::new(Queue::new(raw, matches!(owner, Owner::Foreign)));
        CudaStream { cuda, raw: Handle(raw), owner, queue, scratch: PerProcess::new(), leased, used: Mutex::default() }
    }

    /// Lets later work here run behind the allocations of all buffers that exist, which are made on the default stream.
    /// To be called before work that uses a buffer; the context must be current. A captured stream cannot wait for
    /// another: there, the replay waits. Errors: the driver's; [`Error::Unsupported`] where a capture keeps the default
    /// stream from being waited for.
    #[inline]
    pub(crate) fn behind_allocations(&self) -> Result<()> {
        if matches!(self.owner, Owner::Default)
            || self.queue.behind.load(Acquire) == self.cuda.allocations.load(Acquire)
        {
            return Ok(());
        }
        self.wait_for_allocations()
    }

    #[cold]
    fn wait_for_allocations(&self) -> Result<()> {
        let _waits = self.queue.waits.lock().unwrap_or_else(PoisonError::into_inner);
        let allocations = self.cuda.allocations.load(Acquire);
        if self.queue.behind.load(Acquire) >= allocations {
            return Ok(());
        }
        let mut captured = 0;
        // SAFETY: the stream is alive, as this value is, and there is room for the status.
        let asked = unsafe { (self.cuda.api.stream_is_capturing)(self.raw.0, &mut captured) };
        self.cuda.api.check("asking whether a stream is captured", asked)?;
        if captured != 0 {
            return Ok(());
        }
        self.cuda.not_captured("waiting for an allocation", DEFAULT_STREAM)?;
        self.cuda.order(self.raw.0, &self.cuda, DEFAULT_STREAM)?;
        self.queue.behind.fetch_max(allocations, Release);
        Ok(())
    }

    /// To be called before the stream waits for work that was put into a capture, or, with none, for work that was put
    /// into none; `is_of_one_context` says whether the stream that the work was put on is of this one's context.
    /// Errors: [`Error::Unsupported`] for what breaks a capture: a wait in one for work outside of it, the default
    /// stream's for work in one, and a wait in one for work in another; and for captured work of another context, whose
    /// memory a replay would not keep.
    pub(crate) fn may_wait(&self, captured: Option<u64>, is_of_one_context: bool) -> Result<()> {
        if self.raw.0 == DEFAULT_STREAM {
            self.cuda.not_captured("waiting on the default stream", DEFAULT_STREAM)?;
        }
        let mine = self.cuda.is_capturing(self.raw.0).then(|| self.cuda.capture_of(self.raw.0));
        let what = match (mine, captured) {
            (None, None) => return Ok(()),
            (_, Some(_)) if !is_of_one_context => "waiting for captured work of another context",
            (None, Some(_)) if self.raw.0 != DEFAULT_STREAM => return Ok(()),
            (Some(Some(mine)), Some(captured)) if mine == captured => return Ok(()),
            (None, Some(_)) => "waiting on the default stream for captured work",
            (Some(_), None) => "waiting in a capture for work outside of it",
            (Some(_), Some(_)) => "waiting in a capture for the work of another one",
        };
        let instead = "end the capture first, or put the work that is waited for into it";
        Err(Error::Unsupported { what, device: self.cuda.info.name.clone(), instead })
    }

    /// The capture that the stream is in, of which [`CudaStream::mark`] is told; none where it cannot be asked.
    #[inline]
    pub(crate) fn capture(&self) -> Option<u64> {
        self.asks_for_capture().ok().flatten()
    }

    /// The same; the default stream is in none. Errors: the driver's.
    #[inline]
    pub(crate) fn asks_for_capture(&self) -> Result<Option<u64>> {
        if matches!(self.owner, Owner::Default) { Ok(None) } else { self.cuda.asks_for_capture(self.raw.0) }
    }

    /// To be called after work was enqueued here; `before` is the capture before that. Another thread may begin or end
    /// a capture meanwhile.
    #[inline]
    pub(crate) fn mark(&self, before: Option<u64>) {
        // Captured work runs when the graph is replayed, which marks the replaying stream.
        let is_captured = || before.is_some() && self.cuda.capture_of(self.raw.0) == before;
        if !matches!(self.owner, Owner::Default) && !is_captured() {
            self.queue.marks.mark();
        }
    }

    /// To be asked before work is enqueued that uses memory, for [`CudaStream::enqueued`].
    #[inline]
    pub(crate) fn before_work(&self) -> BeforeWork {
        BeforeWork { begun: self.queue.captures.begun(), capture: self.capture() }
    }

    /// To be called after work was enqueued that uses the memory at these addresses.
    #[inline]
    pub(crate) fn enqueued(&self, before: BeforeWork, starts: impl Iterator<Item = u64> + Clone) {
        let BeforeWork { begun, capture } = before;
        self.mark(capture);
        // Another library may have begun a capture since the stream was asked.
        let is_captured = || self.queue.captures.may_have_begun(begun) || self.capture().is_some();
        let leases = &self.cuda.leases;
        if capture.is_some() || (leases.have_lenders() && is_captured()) {
            leases.captured(starts);
        }
    }

    /// To be called when scratch memory goes back to its stream, which may be gone when the memory is freed.
    pub(crate) fn scratch_used(&self) {
        // In a forked child the memory is the parent's.
        if matches!(self.owner, Owner::Foreign) && !self.cuda.api.forked() {
            self.note_scratch();
        }
    }

    /// Notes what the scratch memory of a foreign stream was used by so far.
    fn note_scratch(&self) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let event = match *used {
            Used::Until(event) => Ok(event.0),
            // An event behind what could not be noted is behind all before it, too.
            Used::Never | Used::Unknown => self.cuda.new_event(),
        };
        let noted = event.and_then(|event| {
            *used = Used::Until(Handle(event));
            let _captures = self.queue.captures.hold();
            let _entered = self.cuda.enter()?;
            self.cuda.not_captured("noting the use of scratch memory", self.raw.0)?;
            // SAFETY: the event was made above, and the stream is alive by the contract of `Stream::from_raw`.
            let code = unsafe { (self.cuda.api.event_record)(event, self.raw.0) };
            self.cuda.api.check("recording an event", code)?;
            // An event of a capture that its owner has begun meanwhile marks no work.
            self.cuda.not_captured("noting the use of scratch memory", self.raw.0)
        });
        if noted.is_err() {
            if let Used::Until(event) = *used {
                self.cuda.let_event_go(event.0);
            }
            // Where it cannot be noted, waiting orders as well.
            *used = self.cuda.synchronize(self.raw.0).map_or(Used::Unknown, |()| Used::Never);
        }
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        // In a forked child all that this owns is the parent's.
        if self.cuda.api.forked() {
            return;
        }
        self.cuda.leases.leave(&self.leased);
        let blocks = self.scratch.get().map(Blocks::take).unwrap_or_default();
        if matches!(self.owner, Owner::Default) {
            return blocks.into_iter().for_each(|b| self.cuda.release(b));
        }
        let owner = core::mem::replace(&mut self.owner, Owner::Default);
        let is_foreign = matches!(owner, Owner::Foreign);
        let left = Left::Stream(self.queue.clone(), owner);
        if !is_foreign {
            // It went with its context.
            if !self.cuda.is_alive() {
                return self.cuda.joins.leave(left);
            }
            let joined = self.cuda.enter().and_then(|_entered| self.queue.join(&self.cuda));
            // Where no event can be made, waiting orders as well.
            match joined.or_else(|_| self.cuda.synchronize(self.raw.0)) {
                Ok(()) => self.cuda.end(left),
                // As in a capture: the stream and the memory that it uses stay until a later wait succeeds.
                Err(_) => self.cuda.joins.leave(left),
            }
            return blocks.into_iter().for_each(|b| self.cuda.release(b));
        }
        self.cuda.leave_foreign(&self.queue, self.raw.0);
        if matches!(self.used.get_mut(), Ok(Used::Unknown)) && self.cuda.is_alive() {
            self.note_scratch();
        }
        // The stream may be gone already: it is not named from here on.
        self.cuda.end(left);
        match core::mem::take(self.used.get_mut().unwrap_or_else(PoisonError::into_inner)) {
            Used::Never => blocks.into_iter().for_each(|b| self.cuda.release(b)),
            Used::Until(event) => {
                self.cuda.joins.leave(Left::Work(blocks, event));
                if let Err(e) = self.cuda.join_streams() {
                    tracing::debug!(error = %e, "scratch memory is freed later");
                }
            }
            Used::Unknown => tracing::debug!(blocks = blocks.len(), "scratch memory stays allocated"),
        }
    }
}
