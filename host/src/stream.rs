//! Streams: queues of work on a device. On the CPU backend work is done when a launch returns, and a stream is a token.

use crate::cuda::Cuda;
use crate::cuda::api::code;
use crate::cuda::context::{DEFAULT_STREAM, Handle};
use crate::error::{Error, Result};
use crate::event::Event;
use crate::runtime::Runtime;
use crate::scratch::Blocks;
use core::ffi::c_void;
use cudarc::driver::sys::CUstream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::AcqRel, Ordering::Release};

/// A queue of work on one runtime's device; clones are the same queue.
///
/// The default stream of a runtime ([`Runtime::stream`]) is the context's legacy default stream; buffers are allocated,
/// copied and freed on it. Streams made here run beside it: they see what was put on the default stream before they were
/// made, and later work is ordered by [`Stream::wait`] and [`Stream::wait_for`]. Memory is never reused while a stream
/// still works on it.
#[derive(Clone)]
pub struct Stream(pub(crate) Arc<StreamInner>);

pub(crate) enum StreamInner {
    /// With the scratch memory that is kept for it.
    Host(Blocks),
    Cuda(CudaStream),
}

pub(crate) struct CudaStream {
    pub cuda: Arc<Cuda>,
    pub raw: Handle<CUstream>,
    owner: Owner,
    /// Work was put here since the default stream last waited for it. Set after the work is enqueued.
    dirty: AtomicBool,
    pub scratch: Blocks,
}

enum Owner {
    Default,
    Own,
    Foreign,
    Cudarc(#[allow(dead_code)] Arc<cudarc::driver::CudaStream>),
}

impl Stream {
    /// A new queue. Errors: the driver's.
    pub fn new(rt: &Runtime) -> Result<Stream> {
        let Some(cuda) = rt.cuda_context() else { return Ok(Stream::host()) };
        const NON_BLOCKING: u32 = 1;
        let mut raw = core::ptr::null_mut();
        let _entered = cuda.enter()?;
        cuda.api.check("creating a stream", unsafe { (cuda.api.stream_create)(&mut raw, NON_BLOCKING) })?;
        let stream = Self::cuda(cuda.clone(), raw, Owner::Own);
        cuda.order(raw, DEFAULT_STREAM)?;
        Ok(stream)
    }

    /// Work on a `CUstream` that someone else owns; null is the legacy default stream.
    /// Errors: [`Error::StreamMismatch`] where the stream is of another context, [`Error::Unsupported`] off the GPU.
    ///
    /// # Safety
    /// `raw` is a valid `CUstream` (or `cudaStream_t`) until this value and its clones are dropped. Once they are, the
    /// work put here is done, or ordered before the default stream, before a buffer that it uses is dropped.
    pub unsafe fn from_raw(rt: &Runtime, raw: *mut c_void) -> Result<Stream> {
        let Some(cuda) = rt.cuda_context() else {
            return Err(rt.unsupported("a CUDA stream", "use Stream::new, or a CUDA runtime"));
        };
        let raw: CUstream = raw.cast();
        // CU_STREAM_LEGACY is another name for it.
        if raw == DEFAULT_STREAM || raw as usize == 1 {
            return Ok(rt.stream().clone());
        }
        let _entered = cuda.enter()?;
        let mut context = core::ptr::null_mut();
        cuda.api.check("asking for the stream's context", unsafe { (cuda.api.stream_get_ctx)(raw, &mut context) })?;
        if context != cuda.context.0 {
            return Err(Error::StreamMismatch);
        }
        Ok(Self::cuda(cuda.clone(), raw, Owner::Foreign))
    }

    /// Work on cudarc's stream, so that launches and cudarc's own calls keep their order. Its context must be the
    /// device's primary one, as cudarc's always is. Errors: as [`Stream::from_raw`].
    pub fn from_cudarc(rt: &Runtime, stream: &Arc<cudarc::driver::CudaStream>) -> Result<Stream> {
        let raw = stream.cu_stream();
        // SAFETY: the Arc kept below keeps the stream.
        let s = unsafe { Self::from_raw(rt, raw.cast()) }?;
        match (&*s.0, rt.cuda_context()) {
            (StreamInner::Cuda(c), Some(cuda)) if !matches!(c.owner, Owner::Default) => {
                Ok(Self::cuda(cuda.clone(), raw, Owner::Cudarc(stream.clone())))
            }
            _ => Ok(s),
        }
    }

    pub(crate) fn host() -> Stream {
        Stream(Arc::new(StreamInner::Host(Blocks::default())))
    }

    pub(crate) fn default_of(cuda: Arc<Cuda>) -> Stream {
        Stream(Arc::new(StreamInner::Cuda(CudaStream::new(cuda, DEFAULT_STREAM, Owner::Default))))
    }

    fn cuda(cuda: Arc<Cuda>, raw: CUstream, owner: Owner) -> Stream {
        let inner = Arc::new(StreamInner::Cuda(CudaStream::new(cuda.clone(), raw, owner)));
        let mut all = cuda.streams.lock().unwrap_or_else(|e| e.into_inner());
        all.retain(|s| s.strong_count() > 0);
        all.push(Arc::downgrade(&inner));
        Stream(inner)
    }

    /// The `CUstream`; null for the legacy default stream and on the CPU.
    pub fn as_raw(&self) -> *mut c_void {
        self.as_cuda().map_or(core::ptr::null_mut(), |s| s.raw.0.cast())
    }

    /// Waits until everything put here is done. Errors: those of the work, [`Error::DeviceLost`] above all.
    pub fn synchronize(&self) -> Result<()> {
        self.as_cuda().map_or(Ok(()), |s| s.cuda.synchronize(s.raw.0))
    }

    /// Whether everything put here is done.
    pub fn is_done(&self) -> Result<bool> {
        let Some(s) = self.as_cuda() else { return Ok(true) };
        let _entered = s.cuda.enter()?;
        match unsafe { (s.cuda.api.stream_query)(s.raw.0) } {
            code::SUCCESS => Ok(true),
            code::NOT_READY => Ok(false),
            e => Err(s.cuda.api.error("asking whether the stream is done", e)),
        }
    }

    /// Later work here waits for what `event` has recorded.
    pub fn wait(&self, event: &Event) -> Result<()> {
        event.hold_back(self)
    }

    /// Later work here waits for what was put on `other` so far.
    pub fn wait_for(&self, other: &Stream) -> Result<()> {
        match (self.as_cuda(), other.as_cuda()) {
            (Some(a), Some(b)) if a.raw != b.raw => {
                let _entered = a.cuda.enter()?;
                a.cuda.order(a.raw.0, b.raw.0)
            }
            _ => Ok(()),
        }
    }

    /// Whether work put here is being recorded into a graph.
    pub fn is_capturing(&self) -> bool {
        self.as_cuda().is_some_and(|s| s.cuda.is_capturing(s.raw.0))
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

impl CudaStream {
    fn new(cuda: Arc<Cuda>, raw: CUstream, owner: Owner) -> CudaStream {
        CudaStream { cuda, raw: Handle(raw), owner, dirty: AtomicBool::new(false), scratch: Blocks::default() }
    }

    /// To be called after work was enqueued here.
    #[inline]
    pub(crate) fn mark(&self) {
        if !matches!(self.owner, Owner::Default) {
            self.dirty.store(true, Release);
        }
    }
}

impl StreamInner {
    /// Lets the default stream wait for the work given to this one.
    pub(crate) fn join_default(&self) {
        let StreamInner::Cuda(s) = self else { return };
        s.join_default();
    }
}

impl CudaStream {
    fn join_default(&self) {
        // What is being captured runs when the graph is replayed, and its memory is the replayer's concern.
        if !self.dirty.swap(false, AcqRel) || self.cuda.is_capturing(self.raw.0) {
            return;
        }
        if let Ok(_entered) = self.cuda.enter()
            && let Err(e) = self.cuda.order(DEFAULT_STREAM, self.raw.0)
        {
            tracing::debug!(error = %e, "joining a stream");
        }
    }
}

impl Drop for CudaStream {
    fn drop(&mut self) {
        let blocks = self.scratch.take();
        match self.owner {
            Owner::Own => {
                self.join_default();
                blocks.into_iter().for_each(|b| self.cuda.free(b, self.raw.0));
                if let Ok(_entered) = self.cuda.enter() {
                    // The driver finishes the stream's work first.
                    unsafe { (self.cuda.api.stream_destroy)(self.raw.0) };
                }
            }
            Owner::Default => blocks.into_iter().for_each(|b| self.cuda.free(b, self.raw.0)),
            Owner::Cudarc(_) => {
                self.join_default();
                blocks.into_iter().for_each(|b| self.cuda.free(b, self.raw.0));
            }
            // The stream may be gone already, where C code owns it: free without naming it.
            Owner::Foreign => blocks.into_iter().for_each(|b| self.cuda.free_now(b)),
        }
    }
}
