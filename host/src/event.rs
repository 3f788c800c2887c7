//! Events: marks on a stream, to wait for and to measure between.

use crate::cuda::Cuda;
use crate::cuda::api::code;
use crate::cuda::relaxed::Relaxed;
use crate::cuda::sys::{CUevent, Handle};
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::stream::Stream;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A mark on a stream, which other streams and the host wait for, and from which time is measured.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Event, Runtime};
///
/// let rt = Runtime::cpu();
/// let (start, end) = (Event::new(&rt)?, Event::new(&rt)?);
/// start.record(rt.stream())?;
/// let x = Buffer::<f32>::zeros(&rt, 1 << 20)?;
/// end.record(rt.stream())?;
/// end.synchronize()?;
/// assert!(end.is_done()?);
/// println!("{:?} for {} bytes", end.since(&start)?, x.bytes());
/// # Ok::<(), tilewright::Error>(())
/// ```
pub struct Event(Inner);

enum Inner {
    /// When it was recorded: CPU work is done by then.
    Host(Mutex<Option<Instant>>),
    Cuda(Mark),
}

struct Mark {
    cuda: Arc<Cuda>,
    raw: Handle<CUevent>,
    /// The capture that it was last recorded in, if it was in one: then it marks a place in a graph, and no work that
    /// runs.
    captured: Mutex<Option<u64>>,
}

impl Mark {
    fn captured(&self) -> Option<u64> {
        *self.captured.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Errors: [`Error::Unsupported`] where a capture has recorded it. The driver would end that capture.
    fn not_captured(&self, what: &'static str) -> Result<()> {
        if self.captured().is_none() {
            return Ok(());
        }
        let instead = "the event was recorded in a capture: record it on a stream that is not captured";
        Err(Error::Unsupported { what, device: self.cuda.info.name.clone(), instead })
    }
}

impl Event {
    /// An event that measures time. Errors: the driver's.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Event, Runtime};
    ///
    /// let rt = Runtime::cpu();
    /// let event = Event::new(&rt)?;
    /// event.record(rt.stream())?;
    /// assert!(event.is_done()?);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn new(rt: &Runtime) -> Result<Event> {
        let Some(cuda) = rt.cuda_context() else { return Ok(Event(Inner::Host(Mutex::default()))) };
        let _entered = cuda.enter()?;
        let mut raw = core::ptr::null_mut();
        // SAFETY: room for the handle.
        cuda.api.check("creating an event", unsafe { (cuda.api.event_create)(&mut raw, 0) })?;
        Ok(Event(Inner::Cuda(Mark { cuda: cuda.clone(), raw: Handle(raw), captured: Mutex::default() })))
    }

    /// Marks the end of the work that `stream` was given so far. On a stream that is captured it marks a place in the
    /// graph, for [`Stream::wait`] in that capture.
    ///
    /// Errors: [`Error::StreamMismatch`] for a stream of another backend or context; [`Error::Unsupported`] for the
    /// default stream while a stream that waits for it is captured.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Event, Runtime, Stream};
    ///
    /// let rt = Runtime::cpu();
    /// let (a, b, written) = (Stream::new(&rt)?, Stream::new(&rt)?, Event::new(&rt)?);
    /// written.record(&a)?; // after the launches on `a`
    /// b.wait(&written)?; // before those on `b`
    /// assert!(written.is_done()?);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn record(&self, stream: &Stream) -> Result<()> {
        match (&self.0, stream.as_cuda()) {
            (Inner::Host(at), None) => {
                *at.lock().unwrap_or_else(|e| e.into_inner()) = Some(Instant::now());
                Ok(())
            }
            (Inner::Cuda(mark), Some(s)) if Arc::ptr_eq(&mark.cuda, &s.cuda) => {
                let cuda = &mark.cuda;
                let _entered = cuda.enter()?;
                cuda.takes_work("recording on the default stream", s.raw.0)?;
                // Held over the call, so that the note is that of the last record.
                let mut captured = mark.captured.lock().unwrap_or_else(PoisonError::into_inner);
                let capture = cuda.capture_of(s.raw.0);
                // SAFETY: event and stream are alive, as these values are.
                cuda.api.check("recording an event", unsafe { (cuda.api.event_record)(mark.raw.0, s.raw.0) })?;
                *captured = capture;
                Ok(())
            }
            _ => Err(Error::StreamMismatch { what: "stream" }),
        }
    }

    /// Waits until the work before the mark is done. Errors: those of the work; [`Error::Unsupported`] where a capture
    /// has recorded it.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Event, Runtime};
    ///
    /// let rt = Runtime::cpu();
    /// let end = Event::new(&rt)?;
    /// end.record(rt.stream())?;
    /// end.synchronize()?;
    /// assert!(end.is_done()?);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn synchronize(&self) -> Result<()> {
        let Inner::Cuda(mark @ Mark { cuda, raw, .. }) = &self.0 else { return Ok(()) };
        let _entered = cuda.enter()?;
        mark.not_captured("waiting for an event")?;
        let _relaxed = Relaxed::new(cuda.api);
        // SAFETY: the event is alive, as this value is.
        cuda.api.check("waiting for an event", unsafe { (cuda.api.event_synchronize)(raw.0) })
    }

    /// Whether the work before the mark is done. Errors: as [`Event::synchronize`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Event, Runtime};
    ///
    /// let rt = Runtime::cpu();
    /// let end = Event::new(&rt)?;
    /// end.record(rt.stream())?;
    /// while !end.is_done()? {
    ///     std::thread::yield_now();
    /// }
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn is_done(&self) -> Result<bool> {
        let Inner::Cuda(mark @ Mark { cuda, raw, .. }) = &self.0 else { return Ok(true) };
        let _entered = cuda.enter()?;
        mark.not_captured("asking whether an event is done")?;
        let _relaxed = Relaxed::new(cuda.api);
        // SAFETY: the event is alive, as this value is.
        match unsafe { (cuda.api.event_query)(raw.0) } {
            code::SUCCESS => Ok(true),
            code::NOT_READY => Ok(false),
            e => Err(cuda.api.error("asking whether an event is done", e)),
        }
    }

    /// Device time from `start` to this event; waits for this one. Both must have been recorded. On the GPU the
    /// resolution is about half a microsecond. Errors: as [`Event::synchronize`], for either; [`Error::Tuning`] off the
    /// GPU for an event that was not recorded.
    ///
    /// # Examples
    /// ```
    /// use std::time::Duration;
    /// use tilewright::{Error, Event, Runtime};
    ///
    /// let rt = Runtime::cpu();
    /// let (start, end) = (Event::new(&rt)?, Event::new(&rt)?);
    /// assert!(matches!(end.since(&start), Err(Error::Tuning { .. }))); // not recorded yet
    /// start.record(rt.stream())?;
    /// std::thread::sleep(Duration::from_millis(1));
    /// end.record(rt.stream())?;
    /// assert!(end.since(&start)? >= Duration::from_millis(1));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn since(&self, start: &Event) -> Result<Duration> {
        match (&self.0, &start.0) {
            (Inner::Host(end), Inner::Host(start)) => {
                let at = |m: &Mutex<Option<Instant>>| *m.lock().unwrap_or_else(|e| e.into_inner());
                match (at(start), at(end)) {
                    (Some(a), Some(b)) => Ok(b.saturating_duration_since(a)),
                    _ => Err(Error::Tuning {
                        what: "measuring time".into(),
                        why: "an event was not recorded: call Event::record first".into(),
                    }),
                }
            }
            (Inner::Cuda(Mark { cuda, raw: end, .. }), Inner::Cuda(first @ Mark { raw: start, .. })) => {
                first.not_captured("measuring time from an event")?;
                self.synchronize()?;
                let _entered = cuda.enter()?;
                let mut ms = 0f32;
                // SAFETY: a query of two events that live as long as the values that are borrowed.
                let code = unsafe { (cuda.api.event_elapsed_time)(&mut ms, start.0, end.0) };
                cuda.api.check("measuring time between events", code)?;
                Ok(Duration::from_secs_f64(f64::from(ms.max(0.0)) * 1e-3))
            }
            _ => Err(Error::StreamMismatch { what: "event" }),
        }
    }
}

impl Stream {
    /// Later work here waits for the work that `event` marks. Errors: [`Error::StreamMismatch`] for an event of another
    /// backend; [`Error::Unsupported`] where a capture would break.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Event, Runtime, Stream};
    ///
    /// let rt = Runtime::cpu();
    /// let (stream, copied) = (Stream::new(&rt)?, Event::new(&rt)?);
    /// copied.record(rt.stream())?;
    /// stream.wait(&copied)?;
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn wait(&self, event: &Event) -> Result<()> {
        match (&event.0, self.as_cuda()) {
            (Inner::Host(_), None) => Ok(()),
            // The event may be of another context. The default stream is that of the current one.
            (Inner::Cuda(mark), Some(s)) => {
                let _entered = s.cuda.enter()?;
                s.may_wait(mark.captured(), Arc::ptr_eq(&mark.cuda, &s.cuda))?;
                s.cuda.wait(s.raw.0, mark.raw.0)
            }
            _ => Err(Error::StreamMismatch { what: "event" }),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Inner::Cuda(Mark { cuda, raw, .. }) = &self.0 {
            cuda.let_event_go(raw.0);
        }
    }
}
