//! Memory of a context: allocated, freed, filled and copied on a stream.

use super::api::code;
use super::context::Context;
use super::relaxed::Relaxed;
use super::sys::{CUdeviceptr, CUstream, DEFAULT_STREAM};
use crate::error::{Error, Result};
use core::mem::MaybeUninit;

impl Context {
    /// `bytes` > 0 of device memory, usable by work put on `stream` from here on. It does not wait for memory that is
    /// being freed.
    pub(crate) fn try_alloc(&self, bytes: u64, stream: CUstream) -> Result<CUdeviceptr> {
        let _entered = self.enter()?;
        if stream == DEFAULT_STREAM || self.pool.raw().is_none() {
            self.not_captured("allocating memory", stream)?;
        }
        let _relaxed = Relaxed::new(self.api);
        let (mut ptr, size) = (0, bytes as usize);
        // SAFETY: room for the address; the pool is this value's, and the stream is live.
        let code = unsafe {
            match self.pool.raw() {
                Some(pool) => (self.api.mem_alloc_from_pool_async)(&mut ptr, size, pool, stream),
                None => (self.api.mem_alloc)(&mut ptr, size),
            }
        };
        match code {
            code::SUCCESS => Ok(ptr),
            code::OUT_OF_MEMORY => Err(Error::OutOfMemory { device: self.device(), bytes, free: self.free_bytes() }),
            e => Err(self.api.error("allocating device memory", e)),
        }
    }

    /// Gives memory back once the work put on `stream` so far is done. The context must be current. `false` where a
    /// capture refuses that, which another thread may have begun since the caller asked: the memory is still allocated.
    #[must_use]
    pub(crate) fn free_here(&self, ptr: CUdeviceptr, stream: CUstream) -> bool {
        let _relaxed = Relaxed::new(self.api);
        // SAFETY: the caller gives up what `try_alloc` gave, which only work put on the stream before may still use.
        // Where there is no pool, freeing waits for the device.
        let code = unsafe {
            match self.pool.raw() {
                Some(_) => (self.api.mem_free_async)(ptr, stream),
                None => (self.api.mem_free)(ptr),
            }
        };
        if code != code::SUCCESS {
            // But for a capture: the context is lost, and its memory with it.
            tracing::debug!(error = self.api.name(code), "freeing device memory");
        }
        !code::CAPTURES.contains(&code)
    }

    pub(crate) fn fill_zero(&self, ptr: CUdeviceptr, bytes: u64, stream: CUstream) -> Result<()> {
        let _entered = self.enter()?;
        self.takes_work("zeroing on the default stream", stream)?;
        // SAFETY: the caller's range of device memory, and a live stream.
        self.api.check("zeroing device memory", unsafe { (self.api.memset_d8_async)(ptr, 0, bytes as usize, stream) })
    }

    /// Copies from the host; `src` may be reused on return (pageable memory is staged by the driver, and the stream is
    /// waited for because pinned memory is not).
    pub(crate) fn upload(&self, dst: CUdeviceptr, src: &[u8], stream: CUstream) -> Result<()> {
        let _entered = self.enter()?;
        self.not_captured("copying from the host", stream)?;
        let _relaxed = Relaxed::new(self.api);
        // SAFETY: the slice, which is borrowed until the stream has been waited for; the caller's range of device
        // memory.
        let code = unsafe { (self.api.memcpy_htod_async)(dst, src.as_ptr().cast(), src.len(), stream) };
        self.api.check("copying to the device", code)?;
        // SAFETY: a live stream.
        self.api.check("copying to the device", unsafe { (self.api.stream_synchronize)(stream) })
    }

    /// Copies to the host and waits for it. All of `dst` is written where this succeeds. A stream other than the
    /// default one is copied on by [`Queue::download`](crate::queue::Queue::download), which keeps captures away.
    pub(crate) fn download(&self, dst: &mut [MaybeUninit<u8>], src: CUdeviceptr, stream: CUstream) -> Result<()> {
        let _entered = self.enter()?;
        self.not_captured("copying to the host", stream)?;
        let _relaxed = Relaxed::new(self.api);
        // SAFETY: the slice, which is borrowed until the stream has been waited for; the caller's range of device
        // memory.
        let code = unsafe { (self.api.memcpy_dtoh_async)(dst.as_mut_ptr().cast(), src, dst.len(), stream) };
        self.api.check("copying from the device", code)?;
        // The copy may be a part of a capture that the owner of the stream has begun meanwhile.
        self.not_captured("copying to the host", stream)?;
        // SAFETY: a live stream.
        self.api.check("copying from the device", unsafe { (self.api.stream_synchronize)(stream) })
    }

    pub(crate) fn copy(&self, dst: CUdeviceptr, src: CUdeviceptr, bytes: u64, stream: CUstream) -> Result<()> {
        let _entered = self.enter()?;
        self.takes_work("copying on the default stream", stream)?;
        // SAFETY: the caller's two ranges of device memory, and a live stream.
        let code = unsafe { (self.api.memcpy_dtod_async)(dst, src, bytes as usize, stream) };
        self.api.check("copying on the device", code)
    }

    /// Free bytes on the device, where the driver tells.
    pub(crate) fn free_bytes(&self) -> Option<u64> {
        let (mut free, mut total) = (0, 0);
        // SAFETY: a query.
        (unsafe { (self.api.mem_get_info)(&mut free, &mut total) } == code::SUCCESS).then_some(free as u64)
    }
}
