//! A launch of code with marks: the array is cleared before it and read after it.

use crate::cuda::Cuda;
use crate::cuda::module::TraceArray;
use crate::cuda::sys::CUstream;
use crate::error::Result;
use crate::stream::CudaStream;
use crate::trace::{self, TracedLaunch};
use std::mem::MaybeUninit;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// A traced launch, from before it is enqueued on.
pub(crate) struct Traced {
    array: TraceArray,
    /// Two launches of one entry would write to one array.
    _alone: MutexGuard<'static, ()>,
}

impl Traced {
    /// Clears the array. None of a stream that is captured: nobody can read what the launches of a graph leave. The
    /// context must be current.
    pub(crate) fn begin(cuda: &Cuda, stream: CUstream, array: TraceArray) -> Result<Option<Traced>> {
        static ALONE: Mutex<()> = Mutex::new(());
        if cuda.is_capturing(stream) {
            return Ok(None);
        }
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        cuda.fill_zero(array.address, array.bytes as u64, stream)?;
        Ok(Some(Traced { array, _alone: alone }))
    }

    /// Waits for the launch, and hands what it left to the tracer.
    pub(crate) fn end(self, stream: &CudaStream, kernel: &str, config: &str, grid: [u32; 3]) -> Result<()> {
        let cuda = &stream.cuda;
        let mut array = Vec::with_capacity(self.array.bytes);
        let room: &mut [MaybeUninit<u8>] = &mut array.spare_capacity_mut()[..self.array.bytes];
        stream.queue.download(cuda, room, self.array.address)?;
        // SAFETY: the copy has succeeded, so that all of these bytes are written.
        unsafe { array.set_len(self.array.bytes) };
        trace::launched(TracedLaunch {
            kernel: kernel.into(),
            config: config.into(),
            entry: self.array.entry.into(),
            grid,
            device: cuda.info.name.clone(),
            clock_khz: cuda.info.clock_khz,
            array,
        });
        Ok(())
    }
}
