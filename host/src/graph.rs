//! CUDA graphs: a sequence of launches recorded once and replayed as one.

use crate::cuda::Cuda;
use crate::cuda::api::Api;
use crate::cuda::sys::{CUgraph, CUgraphExec, Handle};
use crate::error::{Error, Result};
use crate::stream::{CudaStream, Stream};
use std::sync::Arc;

/// A recorded and instantiated sequence of launches, which [`Graph::replay`] runs with one call of the driver.
///
/// # Examples
/// ```no_run
/// use tilewright::{Buffer, Runtime, Stream, tile_kernel};
///
/// #[tile_kernel(grid = [1])]
/// fn add_one(y: &mut [f32]) {
///     store(y, arange(2), load(y, arange(2)) + 1.0);
/// }
///
/// let rt = Runtime::cuda(0)?;
/// let (stream, mut y) = (Stream::new(&rt)?, Buffer::<f32>::zeros(&rt, 2)?);
/// rt.launch_on(&stream, add_one(&mut y))?; // loads the code
/// let graph = stream.capture(|s| {
///     rt.launch_on(s, add_one(&mut y))?;
///     rt.launch_on(s, add_one(&mut y))
/// })?;
/// // SAFETY: `y` is alive, and nothing else uses it.
/// unsafe { graph.replay(&stream) }?;
/// assert_eq!(y.to_vec()?, [3.0, 3.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
pub struct Graph {
    cuda: Arc<Cuda>,
    exec: Handle<CUgraphExec>,
}

impl Stream {
    /// Records the launches that `work` puts on this stream, without running them. They do not tune: a launch takes a
    /// result that is known already, else the default configuration. Call each operation once before, so that its code
    /// is loaded. [`Graph`] has an example.
    ///
    /// Errors: those of `work`; the driver's, where something was done that cannot be recorded (a copy to the host, a
    /// wait); [`Error::Unsupported`] for the default stream, off the GPU, and where [`Scratch`](crate::Scratch) that
    /// `work` has leased outlives it. The stream is usable afterwards.
    ///
    /// # Examples
    /// ```no_run
    /// use tilewright::{Buffer, Runtime, Stream, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn add_one(y: &mut [f32]) {
    ///     store(y, arange(2), load(y, arange(2)) + 1.0);
    /// }
    ///
    /// let rt = Runtime::cuda(0)?;
    /// let (stream, mut y) = (Stream::new(&rt)?, Buffer::<f32>::zeros(&rt, 2)?);
    /// rt.launch_on(&stream, add_one(&mut y))?; // loads the code
    /// let graph = stream.capture(|s| rt.launch_on(s, add_one(&mut y)))?;
    /// assert_eq!(y.to_vec_on(&stream)?, [1.0, 1.0]); // the captured launch has not run
    /// // SAFETY: `y` is alive, and nothing else uses it.
    /// unsafe { graph.replay(&stream) }?;
    /// assert_eq!(y.to_vec_on(&stream)?, [2.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn capture(&self, work: impl FnOnce(&Stream) -> Result<()>) -> Result<Graph> {
        let unsupported =
            |device: &str, instead| Error::Unsupported { what: "graph capture", device: device.into(), instead };
        let Some(s) = self.as_cuda() else {
            return Err(unsupported("the host", "launch the calls one by one, or use a CUDA runtime"));
        };
        if s.raw.0.is_null() {
            return Err(unsupported("the default stream", "capture on a stream made with Stream::new"));
        }
        let _entered = s.cuda.enter()?;
        // In the capture neither the default stream nor this one can be made to wait for what the other has already.
        s.queue.join(&s.cuda)?;
        s.behind_allocations()?;
        const THREAD_LOCAL: i32 = 1;
        s.queue.begin_capture(&s.cuda, || {
            // SAFETY: a live stream, which is not the default one.
            let begin = unsafe { (s.cuda.api.stream_begin_capture)(s.raw.0, THREAD_LOCAL) };
            s.cuda.api.check("starting a capture", begin)
        })?;
        let recording = Recording(Some(s));
        let capture = s.capture();
        let done = work(self);
        // The graph would allocate it on each replay, and never free it.
        let outlives = capture.is_some() && s.cuda.leases.any(|l| l.capture == capture);
        // Ended before the error is looked at: the stream must leave the capture either way.
        let graph = recording.end();
        done?;
        let graph = graph?;
        if outlives {
            return Err(Error::Unsupported {
                what: "scratch memory that outlives its capture",
                device: s.cuda.info.name.clone(),
                instead: "drop it within the capture",
            });
        }
        let mut exec = core::ptr::null_mut();
        // SAFETY: room for the handle, and the graph of the capture that has ended.
        let code = unsafe { (s.cuda.api.graph_instantiate)(&mut exec, graph.1, 0) };
        s.cuda.api.check("instantiating a graph", code)?;
        Ok(Graph { cuda: s.cuda.clone(), exec: Handle(exec) })
    }
}

/// Ends the capture on every way out of [`Stream::capture`], a panic included.
struct Recording<'a>(Option<&'a CudaStream>);

impl<'a> Recording<'a> {
    fn end(mut self) -> Result<Recorded<'a>> {
        self.finish()
    }

    fn finish(&mut self) -> Result<Recorded<'a>> {
        let s = self.0.take().ok_or(Error::StreamMismatch { what: "stream" })?;
        let mut graph = core::ptr::null_mut();
        // SAFETY: a live stream that captures, and room for the handle.
        let code = s.queue.captures.end(|| unsafe { (s.cuda.api.stream_end_capture)(s.raw.0, &mut graph) });
        s.cuda.api.check("ending a capture", code)?;
        Ok(Recorded(s.cuda.api, graph))
    }
}

impl Drop for Recording<'_> {
    fn drop(&mut self) {
        if self.0.is_some() {
            let _ = self.finish();
        }
    }
}

/// A graph, until it is instantiated.
struct Recorded<'a>(&'a Api, CUgraph);

impl Drop for Recorded<'_> {
    fn drop(&mut self) {
        // SAFETY: `Recording::finish` has it from the driver, and nobody else has it. A graph that was instantiated
        // is another.
        unsafe { (self.0.graph_destroy)(self.1) };
    }
}

impl Graph {
    /// Runs the recorded launches on `stream`, with one call into the driver.
    ///
    /// # Safety
    /// Every buffer that a recorded launch uses is still alive, and is not used by other work at the same time. Every
    /// `World` of `tilewright-collectives` whose calls were captured is still open.
    ///
    /// # Errors
    /// [`Error::StreamMismatch`] for a stream of another runtime, [`Error::Unsupported`] for the default stream while a
    /// stream that waits for it is captured, and the driver's.
    ///
    /// # Examples
    /// ```no_run
    /// use tilewright::{Buffer, Runtime, Stream, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn add_one(y: &mut [f32]) {
    ///     store(y, arange(2), load(y, arange(2)) + 1.0);
    /// }
    ///
    /// let rt = Runtime::cuda(0)?;
    /// let (stream, mut y) = (Stream::new(&rt)?, Buffer::<f32>::zeros(&rt, 2)?);
    /// rt.launch_on(&stream, add_one(&mut y))?; // loads the code
    /// let graph = stream.capture(|s| rt.launch_on(s, add_one(&mut y)))?;
    /// for _ in 0..10 {
    ///     // SAFETY: `y` is alive, and nothing else uses it.
    ///     unsafe { graph.replay(&stream) }?;
    /// }
    /// assert_eq!(y.to_vec_on(&stream)?, [11.0, 11.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn replay(&self, stream: &Stream) -> Result<()> {
        let s = stream
            .as_cuda()
            .filter(|s| Arc::ptr_eq(&s.cuda, &self.cuda))
            .ok_or(Error::StreamMismatch { what: "graph" })?;
        let _entered = self.cuda.enter()?;
        self.cuda.takes_work("replaying on the default stream", s.raw.0)?;
        s.behind_allocations()?;
        let capture = s.capture();
        // SAFETY: the graph of this value, a live stream, and the buffers that the caller vouches for.
        let code = unsafe { (self.cuda.api.graph_launch)(self.exec.0, s.raw.0) };
        self.cuda.api.check("replaying a graph", code)?;
        s.mark(capture);
        Ok(())
    }
}

impl Drop for Graph {
    fn drop(&mut self) {
        // It went with its context.
        if self.cuda.is_alive() {
            // SAFETY: made by `Stream::capture`, and used by nobody any more. One that still runs is destroyed when it
            // is done. No context has to be current.
            unsafe { (self.cuda.api.graph_exec_destroy)(self.exec.0) };
        }
    }
}
