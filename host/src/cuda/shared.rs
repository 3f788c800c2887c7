//! The state that all runtimes of a CUDA context share: the context, and the state of its streams.

use super::api::Api;
use super::context::Context;
use super::per_driver::PerDriver;
use super::sys::{CUcontext, CUdeviceptr};
use crate::error::{Error, Result};
use crate::failures::Failures;
use crate::joins::Joins;
use crate::leases::Leases;
use crate::owners::Owners;
use crate::queue::{Left, Queue};
use core::ops::Deref;
use std::sync::atomic::AtomicU64;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A context in use. `release.rs` says how what was made in it is given back, also at its end.
pub(crate) struct Cuda {
    /// Dropped before the others, after what was made in it has been given back.
    context: Context,
    /// Streams other than the default one, and what they have left. Freed memory waits for their work, see
    /// [`Cuda::join_streams`].
    pub joins: Joins<Arc<Queue>, Left, CUdeviceptr>,
    /// Buffers that were allocated on the default stream so far: a stream that has not waited since may not use them
    /// yet.
    pub allocations: AtomicU64,
    /// The scratch memory of its streams that is leased.
    pub leases: Leases,
    /// Launches that have failed.
    pub failures: Failures,
    /// Owners of foreign memory.
    pub owners: Owners<Box<dyn Send>>,
}

/// The contexts in use.
static KNOWN: PerDriver<Mutex<Vec<Weak<Cuda>>>> = PerDriver::new();

impl Cuda {
    fn new(context: Context) -> Cuda {
        Cuda {
            joins: Joins::new(),
            allocations: AtomicU64::new(0),
            leases: Leases::new(),
            failures: Failures::new(context.device()),
            owners: Owners::new(),
            context,
        }
    }

    /// Device `ordinal` in its primary context. All runtimes of a device share it, so that one's streams and buffers
    /// serve another.
    ///
    /// `in_use` gets contexts that the caller drops after all of its locks: the end of a context runs deleters of other
    /// libraries, which may ask for a runtime.
    pub(crate) fn primary(ordinal: u32, in_use: &mut Vec<Arc<Cuda>>) -> Result<Arc<Cuda>> {
        let api = Api::get()?;
        let mut known = KNOWN.of(api).lock().unwrap_or_else(PoisonError::into_inner);
        Self::add_in_use(&mut known, in_use);
        let is_wanted = |c: &&Arc<Cuda>| c.ordinal == ordinal && c.is_retained() && c.is_alive();
        if let Some(cuda) = in_use.iter().find(is_wanted) {
            return Ok(cuda.clone());
        }
        let count = Context::count(api)?;
        if count == 0 {
            return Err(Error::NoCuda { why: "the driver is there but shows no device".into() });
        }
        if ordinal >= count {
            return Err(Error::NoDevice { ordinal, count });
        }
        let mut device = 0;
        // SAFETY: a query.
        api.check("opening the device", unsafe { (api.device_get)(&mut device, ordinal as i32) })?;
        let mut context = core::ptr::null_mut();
        // SAFETY: room for the handle; the device was given by the driver.
        api.check("creating the device's context", unsafe { (api.primary_ctx_retain)(&mut context, device) })?;
        // It is in use as the caller's own where another library had made it current: two values for one context would
        // not know of each other's streams.
        if let Some(cuda) = in_use.iter().find(|c| c.raw.0 == context && c.is_alive()) {
            cuda.take_retained();
            return Ok(cuda.clone());
        }
        let cuda = Arc::new(Self::new(Context::new(api, ordinal, device, context, true)?));
        known.push(Arc::downgrade(&cuda));
        Ok(cuda)
    }

    /// The caller's context, which must be current on this thread. It may be a primary one. `in_use` as in
    /// [`Cuda::primary`].
    pub(crate) fn borrowed(api: &'static Api, context: CUcontext, in_use: &mut Vec<Arc<Cuda>>) -> Result<Arc<Cuda>> {
        let mut known = KNOWN.of(api).lock().unwrap_or_else(PoisonError::into_inner);
        Self::add_in_use(&mut known, in_use);
        if let Some(cuda) = in_use.iter().find(|c| c.raw.0 == context && c.is_alive()) {
            return Ok(cuda.clone());
        }
        let mut device = 0;
        // SAFETY: a query.
        api.check("asking for the context's device", unsafe { (api.ctx_get_device)(&mut device) })?;
        // A CUdevice is its ordinal.
        let cuda = Arc::new(Self::new(Context::new(api, device as u32, device, context, false)?));
        known.push(Arc::downgrade(&cuda));
        Ok(cuda)
    }

    /// Adds the contexts that are in use to `all`. Contexts that do not exist any more are forgotten.
    fn add_in_use(known: &mut Vec<Weak<Cuda>>, all: &mut Vec<Arc<Cuda>>) {
        all.extend(known.iter().filter_map(Weak::upgrade));
        known.clear();
        known.extend(all.iter().filter(|c| c.is_alive()).map(Arc::downgrade));
    }
}

impl Deref for Cuda {
    type Target = Context;

    #[inline]
    fn deref(&self) -> &Context {
        &self.context
    }
}
