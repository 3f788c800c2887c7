//! The streams of a runtime other than the default one: new ones, and those of other code.

use crate::cuda::sys::{CUstream, DEFAULT_STREAM};
use crate::error::{Error, Result};
use crate::queue::Owner;
use crate::runtime::Runtime;
use crate::stream::Stream;
use core::ffi::c_void;

/// `CU_STREAM_LEGACY`, another name of the default stream.
const LEGACY: usize = 1;
/// `CU_STREAM_PER_THREAD`.
const PER_THREAD: usize = 2;

impl Stream {
    /// Creates a stream that waits for work already enqueued on the default stream. Errors: the driver's.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, Stream};
    ///
    /// let rt = Runtime::cpu();
    /// let x = Buffer::from_slice(&rt, &[1.0f32])?;
    /// let stream = Stream::new(&rt)?; // the copy is done before the work of the stream
    /// assert_eq!(x.to_vec_on(&stream)?, [1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn new(rt: &Runtime) -> Result<Stream> {
        let Some(cuda) = rt.cuda_context() else { return Ok(Stream::host()) };
        const NON_BLOCKING: u32 = 1;
        let mut raw = core::ptr::null_mut();
        let _entered = cuda.enter()?;
        // SAFETY: room for the handle.
        cuda.api.check("creating a stream", unsafe { (cuda.api.stream_create)(&mut raw, NON_BLOCKING) })?;
        let stream = Self::cuda(cuda.clone(), raw, Owner::Own);
        stream.wait_for(rt.stream())?;
        Ok(stream)
    }

    /// A `CUstream` that other code owns; null is the legacy default stream. Errors: [`Error::StreamMismatch`] where
    /// the stream is of another context, [`Error::InvalidArgument`] for `CU_STREAM_PER_THREAD`, which is another stream
    /// on each thread, [`Error::Unsupported`] off the GPU.
    ///
    /// # Safety
    /// `raw` is a valid `CUstream` (or `cudaStream_t`) until this value and its clones are dropped. Where `raw` is
    /// being captured when they are, the work put here before the capture is done, or ordered before the default
    /// stream, before a buffer that it uses is dropped. The same holds for a buffer that was dropped while `raw` was
    /// captured, before that capture ends. While one thread reads a buffer on this stream or tunes on it, others begin
    /// and end captures of `raw` only by this value and its clones.
    ///
    /// # Examples
    /// ```no_run
    /// use tilewright::{Runtime, Stream};
    ///
    /// let rt = Runtime::cuda(0)?;
    /// let raw = std::ptr::null_mut(); // `torch.cuda.current_stream().cuda_stream`
    /// // SAFETY: the default stream is valid as long as its context.
    /// let stream = unsafe { Stream::from_raw(&rt, raw) }?;
    /// stream.synchronize()?;
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn from_raw(rt: &Runtime, raw: *mut c_void) -> Result<Stream> {
        let Some(cuda) = rt.cuda_context() else {
            return Err(rt.unsupported("a CUDA stream", "use Stream::new, or a CUDA runtime"));
        };
        let raw: CUstream = raw.cast();
        if raw == DEFAULT_STREAM || raw as usize == LEGACY {
            return Ok(rt.stream().clone());
        }
        // Each thread has another queue of this name; this value may go from thread to thread.
        if raw as usize == PER_THREAD {
            let why = "CU_STREAM_PER_THREAD is another stream on each thread: pass a stream that was created, or null";
            return Err(Error::InvalidArgument { what: "stream", why: why.into() });
        }
        let _entered = cuda.enter()?;
        let mut context = core::ptr::null_mut();
        // SAFETY: a query of the caller's stream, which is valid.
        cuda.api.check("asking for the stream's context", unsafe { (cuda.api.stream_get_ctx)(raw, &mut context) })?;
        if context != cuda.raw.0 {
            return Err(Error::StreamMismatch { what: "stream" });
        }
        Ok(Self::cuda(cuda.clone(), raw, Owner::Foreign))
    }
}
