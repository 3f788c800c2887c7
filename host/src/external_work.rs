//! Work that other libraries put on a stream of this one.

use crate::error::{Error, Result};
use crate::stream::{BeforeWork, CudaStream, Stream};
use core::ffi::c_void;
use tilewright_core::{BufferUse, DeviceId, RawArg};

impl Stream {
    /// Puts work of another library here, which uses `memory`. `enqueue` gets the `CUstream` with its context current,
    /// and null off the GPU, where the work is done when `enqueue` returns.
    ///
    /// The work is ordered as a launch on this stream is: behind the allocation of every buffer, and before the release
    /// of one that is dropped. It counts as enqueued also where `enqueue` reports a failure. Returns what `enqueue`
    /// returns.
    ///
    /// Errors, after which `enqueue` was not called: [`Error::StreamMismatch`] for memory of another device or another
    /// context, [`Error::Unsupported`] for the default stream while a stream that waits for it is captured, the
    /// driver's.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let rt = Runtime::cpu();
    /// let y = Buffer::<u8>::zeros(&rt, 3)?;
    /// rt.stream().external_work(&[y.raw()], |stream| {
    ///     assert!(stream.is_null()); // on a GPU it is a `CUstream`
    ///     // SAFETY: three bytes on the host, which nothing else uses.
    ///     unsafe { std::ptr::write_bytes(y.addr() as *mut u8, 7, 3) };
    /// })?;
    /// assert_eq!(y.to_vec()?, [7, 7, 7]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn external_work<R>(&self, memory: &[RawArg<u8>], enqueue: impl FnOnce(*mut c_void) -> R) -> Result<R> {
        let device = self.as_cuda().map_or(DeviceId::Host, |s| s.cuda.device());
        if !memory.iter().all(|m| m.device().takes_work(device, self.as_raw() as u64)) {
            return Err(Error::StreamMismatch { what: "buffer" });
        }
        let Some(s) = self.as_cuda() else { return Ok(enqueue(core::ptr::null_mut())) };
        let _entered = s.cuda.enter()?;
        let uses: Vec<BufferUse> = memory.iter().map(of_external_work).collect();
        let _borrowed = self.borrow_scratch(&uses)?;
        s.cuda.takes_work("enqueuing on the default stream", s.raw.0)?;
        s.behind_allocations()?;
        let _enqueued = Enqueued { on: s, uses: &uses, before: s.before_work() };
        Ok(enqueue(s.raw.0.cast()))
    }
}

/// Tells a stream of work when it is dropped: after the work was enqueued, and also where that panics, since
/// some of the work may be there then.
struct Enqueued<'a> {
    on: &'a CudaStream,
    uses: &'a [BufferUse],
    before: BeforeWork,
}

impl Drop for Enqueued<'_> {
    fn drop(&mut self) {
        self.on.enqueued(self.before, self.uses.iter().map(|u| u.start));
    }
}

fn of_external_work(memory: &RawArg<u8>) -> BufferUse {
    let extent = memory.extent().map(|bytes| bytes as u64);
    BufferUse { param: 0, device: memory.device(), start: memory.addr(), bytes: 0, extent, mutable: true }
}
