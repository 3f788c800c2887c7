//! Device memory from a stream-ordered pool.

use super::api::{Api, code};
use super::context::Cuda;
use super::relaxed::Relaxed;
use super::sys::{CUdevice, CUdeviceptr, CUmemoryPool, CUstream, DEFAULT_STREAM, Handle, PoolProps};
use crate::error::{Error, Result};
use core::mem::MaybeUninit;

/// A pool of our own, so that keeping freed memory does not change the process's default pool. `None` where the device
/// has no pools: allocation is synchronous then.
pub(crate) struct Pool(Option<Handle<CUmemoryPool>>);

impl Pool {
    pub(crate) fn new(api: &Api, device: CUdevice) -> Result<Pool> {
        const POOLS_SUPPORTED: i32 = 115;
        const RELEASE_THRESHOLD: i32 = 4;
        let mut supported = 0;
        // SAFETY: a query.
        unsafe { (api.device_get_attribute)(&mut supported, POOLS_SUPPORTED, device) };
        if supported == 0 {
            return Ok(Pool(None));
        }
        let props = PoolProps {
            alloc_type: 1,    // pinned
            handle_types: 0,  // not shared between processes
            location_type: 1, // device
            location_id: device,
            security_attributes: core::ptr::null_mut(),
            max_size: 0,
            usage: 0,
            reserved: [0; 54],
        };
        let _relaxed = Relaxed::new(api);
        let mut pool = core::ptr::null_mut();
        // SAFETY: room for the handle; the properties are those of the header, with zeros behind them.
        api.check("creating a memory pool", unsafe { (api.mem_pool_create)(&mut pool, &props) })?;
        // Keep what is freed: the next allocation then costs no call into the operating system.
        let mut keep = u64::MAX;
        // SAFETY: the pool made above; the attribute is a 64-bit number.
        let set = unsafe { (api.mem_pool_set_attribute)(pool, RELEASE_THRESHOLD, (&raw mut keep).cast()) };
        if let Err(e) = api.check("configuring the memory pool", set) {
            // SAFETY: made above, and used by nobody.
            unsafe { (api.mem_pool_destroy)(pool) };
            return Err(e);
        }
        Ok(Pool(Some(Handle(pool))))
    }

    pub(crate) fn destroy(&mut self, api: &Api) {
        if let Some(pool) = self.0.take() {
            let _relaxed = Relaxed::new(api);
            // SAFETY: made by `new`, and taken out of this value. Memory of it that is in use stays until it is
            // freed.
            unsafe { (api.mem_pool_destroy)(pool.0) };
        }
    }
}

impl Cuda {
    /// `bytes` > 0 of device memory, usable by work put on `stream` from here on.
    pub(crate) fn alloc(&self, bytes: u64, stream: CUstream) -> Result<CUdeviceptr> {
        self.retrying(stream, || self.try_alloc(bytes, stream))
    }

    /// The same, without waiting for memory that is being freed.
    pub(crate) fn try_alloc(&self, bytes: u64, stream: CUstream) -> Result<CUdeviceptr> {
        let _entered = self.enter()?;
        if stream == DEFAULT_STREAM || self.pool.0.is_none() {
            self.not_captured("allocating memory", stream)?;
        }
        let _relaxed = Relaxed::new(self.api);
        let (mut ptr, size) = (0, bytes as usize);
        // SAFETY: room for the address; the pool is this value's, and the stream is live.
        let code = unsafe {
            match &self.pool.0 {
                Some(pool) => (self.api.mem_alloc_from_pool_async)(&mut ptr, size, pool.0, stream),
                None => (self.api.mem_alloc)(&mut ptr, size),
            }
        };
        match code {
            code::SUCCESS => Ok(ptr),
            code::OUT_OF_MEMORY => Err(Error::OutOfMemory { device: self.device(), bytes, free: self.free_bytes() }),
            e => Err(self.api.error("allocating device memory", e)),
        }
    }

    /// Calls `ask` again where there was no memory, after waiting for what is being freed. The caller holds no lock.
    pub(crate) fn retrying<T>(&self, stream: CUstream, mut ask: impl FnMut() -> Result<T>) -> Result<T> {
        match ask() {
            Err(Error::OutOfMemory { .. }) => {
                let _entered = self.enter()?;
                if !self.is_capturing(stream) {
                    self.make_room();
                }
                ask()
            }
            other => other,
        }
    }

    /// Waits for memory that is being freed, and frees what could not be freed before. The context must be current.
    fn make_room(&self) {
        self.release_waiting();
        let _relaxed = Relaxed::new(self.api);
        // What was freed stream-ordered becomes available when its stream has passed the free.
        // Not the context: waiting for it breaks every capture in it.
        if let Err(e) = self.join_streams().and_then(|()| self.synchronize(DEFAULT_STREAM)) {
            tracing::debug!(error = %e, "waiting for memory that is being freed");
        }
        if let Some(pool) = &self.pool.0 {
            // SAFETY: the pool is this value's; what is in use stays.
            unsafe { (self.api.mem_pool_trim_to)(pool.0, 0) };
        }
    }

    /// Gives memory back once the work put on `stream` so far is done. Where a capture refuses that, the memory waits
    /// for a later [`Cuda::release`].
    pub(crate) fn free(&self, ptr: CUdeviceptr, stream: CUstream) {
        // The context may be current even where the driver cannot say so.
        let _entered = self.enter();
        if !self.free_here(ptr, stream) {
            self.joins.keep(ptr);
        }
    }

    /// The same; the context must be current. `false` where another thread has begun a capture since the caller asked,
    /// in which the stream takes no work: the memory is still allocated.
    #[must_use]
    pub(crate) fn free_here(&self, ptr: CUdeviceptr, stream: CUstream) -> bool {
        let _relaxed = Relaxed::new(self.api);
        // SAFETY: the caller gives up what `alloc` gave, which only work put on the stream before may still use. Where
        // there is no pool, freeing waits for the device.
        let code = unsafe {
            match &self.pool.0 {
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
}
