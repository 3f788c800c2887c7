//! The stream-ordered pool of a context's memory.

use super::api::Api;
use super::relaxed::Relaxed;
use super::sys::{CUdevice, CUmemoryPool, Handle, PoolProps};
use crate::error::Result;

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

    /// `None` where the device has no pools.
    #[inline]
    pub(crate) fn raw(&self) -> Option<CUmemoryPool> {
        self.0.map(|pool| pool.0)
    }

    /// Gives memory that is not in use back to the operating system.
    pub(crate) fn trim(&self, api: &Api) {
        if let Some(pool) = self.raw() {
            // SAFETY: the pool is this value's; what is in use stays.
            unsafe { (api.mem_pool_trim_to)(pool, 0) };
        }
    }
}
