//! Events: marks on a stream, to wait for and to measure between.

use crate::cuda::Cuda;
use crate::cuda::api::code;
use crate::cuda::context::Handle;
use crate::cuda::module::Relaxed;
use crate::error::{Error, Result};
use crate::runtime::Runtime;
use crate::stream::Stream;
use cudarc::driver::sys::CUevent;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// A mark on a stream.
pub struct Event(Inner);

enum Inner {
    /// When it was recorded: CPU work is done by then.
    Host(Mutex<Option<Instant>>),
    Cuda {
        cuda: Arc<Cuda>,
        raw: Handle<CUevent>,
    },
}

impl Event {
    /// An event that measures time. Errors: the driver's.
    pub fn new(rt: &Runtime) -> Result<Event> {
        let Some(cuda) = rt.cuda_context() else { return Ok(Event(Inner::Host(Mutex::default()))) };
        let _entered = cuda.enter()?;
        let mut raw = core::ptr::null_mut();
        // SAFETY: room for the handle.
        cuda.api.check("creating an event", unsafe { (cuda.api.event_create)(&mut raw, 0) })?;
        Ok(Event(Inner::Cuda { cuda: cuda.clone(), raw: Handle(raw) }))
    }

    /// Marks the end of what `stream` was given so far.
    pub fn record(&self, stream: &Stream) -> Result<()> {
        match (&self.0, stream.as_cuda()) {
            (Inner::Host(at), None) => {
                *at.lock().unwrap_or_else(|e| e.into_inner()) = Some(Instant::now());
                Ok(())
            }
            (Inner::Cuda { cuda, raw }, Some(s)) => {
                let _entered = cuda.enter()?;
                // SAFETY: both live as long as the values that are borrowed.
                cuda.api.check("recording an event", unsafe { (cuda.api.event_record)(raw.0, s.raw.0) })
            }
            _ => Err(Error::StreamMismatch),
        }
    }

    /// Waits until the work before the mark is done.
    pub fn synchronize(&self) -> Result<()> {
        let Inner::Cuda { cuda, raw } = &self.0 else { return Ok(()) };
        let _entered = cuda.enter()?;
        let _relaxed = Relaxed::new(cuda.api);
        // SAFETY: the event is alive, as this value is.
        cuda.api.check("waiting for an event", unsafe { (cuda.api.event_synchronize)(raw.0) })
    }

    /// Whether the work before the mark is done.
    pub fn is_done(&self) -> Result<bool> {
        let Inner::Cuda { cuda, raw } = &self.0 else { return Ok(true) };
        let _entered = cuda.enter()?;
        let _relaxed = Relaxed::new(cuda.api);
        // SAFETY: the event is alive, as this value is.
        match unsafe { (cuda.api.event_query)(raw.0) } {
            code::SUCCESS => Ok(true),
            code::NOT_READY => Ok(false),
            e => Err(cuda.api.error("asking whether an event is done", e)),
        }
    }

    /// Device time from `start` to this event; waits for this one. Both must have been recorded.
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
            (Inner::Cuda { cuda, raw: end }, Inner::Cuda { raw: start, .. }) => {
                self.synchronize()?;
                let _entered = cuda.enter()?;
                let mut ms = 0f32;
                // SAFETY: a query of two events that live as long as the values that are borrowed.
                let code = unsafe { (cuda.api.event_elapsed_time)(&mut ms, start.0, end.0) };
                cuda.api.check("measuring time between events", code)?;
                Ok(Duration::from_secs_f64(f64::from(ms.max(0.0)) * 1e-3))
            }
            _ => Err(Error::StreamMismatch),
        }
    }

    pub(crate) fn hold_back(&self, stream: &Stream) -> Result<()> {
        match (&self.0, stream.as_cuda()) {
            (Inner::Host(_), None) => Ok(()),
            (Inner::Cuda { cuda, raw }, Some(s)) => {
                let _entered = cuda.enter()?;
                // SAFETY: both live as long as the values that are borrowed.
                cuda.api.check("waiting for an event", unsafe { (cuda.api.stream_wait_event)(s.raw.0, raw.0, 0) })
            }
            _ => Err(Error::StreamMismatch),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        if let Inner::Cuda { cuda, raw } = &self.0 {
            // SAFETY: made by `Event::new`, and used by nobody any more. No context has to be current.
            unsafe { (cuda.api.event_destroy)(raw.0) };
        }
    }
}
