//! The time of one launch.

use crate::case::Failure;
use std::time::Duration;
use tilewright_runtime::{Buffer, Event, Runtime};

/// Times launches one by one, each with nothing of its data in the L2 cache of a GPU. The caches of a CPU are left as
/// they are.
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime};
/// use tilewright_bench::Timer;
///
/// let rt = Runtime::cpu();
/// let mut timer = Timer::new(&rt)?;
/// let mut x = Buffer::<f32>::zeros(&rt, 1 << 20)?;
/// println!("{:?}", timer.time(|| Ok(x.fill_zero()?))?);
/// # Ok::<(), tilewright_bench::Failure>(())
/// ```
pub struct Timer {
    rt: Runtime,
    flush: Option<Flush>,
}

struct Flush {
    cache: Buffer<u8>,
    settle: Buffer<u8>,
}

/// More than any L2 cache, and long enough for the host to enqueue the launch meanwhile.
const FLUSH_BYTES: usize = 256 << 20;

impl Timer {
    /// Allocates 256 MiB on a GPU, or twice its L2 cache where that is more. Errors: the runtime's.
    pub fn new(rt: &Runtime) -> tilewright_runtime::Result<Timer> {
        let l2 = rt.device().limits.l2_bytes as usize;
        let flush = match rt.device().compute_capability {
            Some(_) => {
                Some(Flush { cache: Buffer::alloc(rt, FLUSH_BYTES.max(2 * l2))?, settle: Buffer::alloc(rt, 1 << 10)? })
            }
            None => None,
        };
        Ok(Timer { rt: rt.clone(), flush })
    }

    /// Flushes the cache, runs `work`, which enqueues on the runtime's default stream, and waits for it. Errors: those
    /// of `work` and of the runtime.
    pub fn time(&mut self, work: impl FnOnce() -> Result<(), Failure>) -> Result<Duration, Failure> {
        if let Some(flush) = &mut self.flush {
            flush.cache.fill_zero()?;
            // A small kernel behind the large one, whose tail is not part of the time.
            flush.settle.fill_zero()?;
        }
        let (start, end) = (Event::new(&self.rt)?, Event::new(&self.rt)?);
        start.record(self.rt.stream())?;
        work()?;
        end.record(self.rt.stream())?;
        end.synchronize()?;
        Ok(end.since(&start)?)
    }
}
