//! A CUDA context: this process's primary one, or the caller's own. It knows of no stream that works in it.

use super::api::{Api, code};
use super::pool::Pool;
use super::relaxed::Relaxed;
use super::sys::{CUcontext, CUdevice, CUevent, CUstream, DEFAULT_STREAM, Handle};
use crate::device::{Device, Limits, Multiprocessor};
use crate::error::{Error, Result};
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::{AcqRel, Acquire};
use tilewright_core::DeviceId;

mod attr {
    pub const MAX_THREADS: i32 = 1;
    pub const MAX_REGISTERS: i32 = 12;
    pub const CLOCK_KHZ: i32 = 13;
    pub const SMS: i32 = 16;
    pub const PCI_BUS: i32 = 33;
    pub const PCI_DEVICE: i32 = 34;
    pub const MEMORY_CLOCK_KHZ: i32 = 36;
    pub const MEMORY_BUS_BITS: i32 = 37;
    pub const L2_BYTES: i32 = 38;
    pub const SM_THREADS: i32 = 39;
    pub const PCI_DOMAIN: i32 = 50;
    pub const MAJOR: i32 = 75;
    pub const MINOR: i32 = 76;
    pub const SM_SHARED_BYTES: i32 = 81;
    pub const SM_REGISTERS: i32 = 82;
    pub const MAX_SHARED_OPTIN: i32 = 97;
    pub const SM_BLOCKS: i32 = 106;
}

/// A context of a device, and what the driver says of both.
pub(crate) struct Context {
    pub api: &'static Api,
    pub ordinal: u32,
    pub device: CUdevice,
    pub compute: (u32, u32),
    /// Whether that is less than the device's own, whose code is then not taken (`TILE_COMPUTE`).
    pub assumed: bool,
    /// The CUDA version that the driver is for, as in 12030 for 12.3.
    pub driver: i32,
    /// The target that is this device's alone, as in `sm_90a`.
    pub target: String,
    pub info: Device,
    pub raw: Handle<CUcontext>,
    /// The driver's number for it: addresses of contexts are used again, numbers are not.
    pub id: u64,
    /// Whether `raw` is the primary one, retained for this value.
    retained: AtomicBool,
    pub pool: Pool,
}

/// The compute capability whose code is taken: the device's own, or an earlier one that `TILE_COMPUTE` names, to try on
/// this device what older ones would run.
fn assumed_compute(own: (u32, u32)) -> (u32, u32) {
    let Ok(text) = std::env::var("TILE_COMPUTE") else { return own };
    let named = text.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
    match named {
        // Code for 9.0 is for that alone.
        Some(compute) if compute == own || (compute < own && compute < (9, 0)) => compute,
        _ => {
            tracing::warn!(
                TILE_COMPUTE = text,
                "not a compute capability before 9.0 that this device is beyond, like 8.0: taking the device's own"
            );
            own
        }
    }
}

impl Context {
    /// How many devices the driver shows.
    pub(crate) fn count(api: &Api) -> Result<u32> {
        let mut n = 0;
        // SAFETY: a query.
        match unsafe { (api.device_get_count)(&mut n) } {
            code::SUCCESS => Ok(n as u32),
            code::NO_DEVICE => Ok(0),
            e => Err(api.error("counting devices", e)),
        }
    }

    /// The context that is current on this thread; `None` without one.
    pub(crate) fn current(api: &'static Api) -> Result<Option<CUcontext>> {
        let mut context = core::ptr::null_mut();
        // SAFETY: a query.
        api.check("asking for the current context", unsafe { (api.ctx_get_current)(&mut context) })?;
        Ok((!context.is_null()).then_some(context))
    }

    /// The driver's number for a context. Errors: [`Error::ContextDestroyed`].
    pub(crate) fn id_of(api: &Api, context: CUcontext) -> Result<u64> {
        let mut id = 0;
        // SAFETY: the driver says so where the context does not exist any more.
        api.check("asking for the context's id", unsafe { (api.ctx_get_id)(context, &mut id) }).map(|()| id)
    }

    /// Whether the context still exists: its owner may have destroyed it, and a primary one may have been reset. It
    /// counts as alive where the driver gives any other error: the next call gives that, too, and nothing is forgotten.
    pub(crate) fn is_alive(&self) -> bool {
        match Self::id_of(self.api, self.raw.0) {
            Ok(id) => id == self.id,
            Err(e) => !matches!(e, Error::ContextDestroyed { .. }),
        }
    }

    /// `retained` says that `context` is the primary one, and that the caller has retained it: the result gives it back
    /// when it is dropped. It is given back also where this fails. Errors: the driver's.
    pub(crate) fn new(
        api: &'static Api,
        ordinal: u32,
        device: CUdevice,
        context: CUcontext,
        retained: bool,
    ) -> Result<Context> {
        let get = |what: i32| -> Result<u32> {
            let mut v = 0;
            // SAFETY: a query.
            api.check("asking for a device attribute", unsafe { (api.device_get_attribute)(&mut v, what, device) })?;
            Ok(v as u32)
        };
        let made = (|| {
            let mut name = [0u8; 256];
            // SAFETY: a query; there is room for 255 bytes, and a zero behind them.
            api.check("asking for the device's name", unsafe {
                (api.device_get_name)(name.as_mut_ptr().cast(), 255, device)
            })?;
            let mut memory = 0;
            // SAFETY: a query.
            api.check("asking for the device's memory", unsafe { (api.device_total_mem)(&mut memory, device) })?;
            let mut driver = 0;
            // SAFETY: a query.
            api.check("asking for the driver's version", unsafe { (api.driver_get_version)(&mut driver) })?;
            let own = (get(attr::MAJOR)?, get(attr::MINOR)?);
            let compute = assumed_compute(own);
            // Measurements under another capability are not those of this device.
            let name = String::from_utf8_lossy(&name).trim_end_matches('\0').trim().to_string();
            let name = if compute == own { name } else { format!("{name} as {}.{}", compute.0, compute.1) };
            let id = Self::id_of(api, context)?;
            // Only predictions depend on it: a driver may lack it.
            let known = |what: i32, otherwise: u32| get(what).ok().filter(|n| *n > 0).unwrap_or(otherwise);
            let info = Device {
                name,
                id: DeviceId::Cuda { device: ordinal, context: id },
                compute_capability: Some(compute),
                num_sms: get(attr::SMS)? as usize,
                driver: format!("{}.{}", driver / 1000, driver % 1000 / 10),
                pci_bus_id: format!(
                    "{:08x}:{:02x}:{:02x}.0",
                    known(attr::PCI_DOMAIN, 0),
                    known(attr::PCI_BUS, 0),
                    known(attr::PCI_DEVICE, 0)
                ),
                memory,
                clock_khz: known(attr::CLOCK_KHZ, 0),
                // Two transfers a cycle.
                bandwidth: u64::from(known(attr::MEMORY_CLOCK_KHZ, 0))
                    * 1000
                    * 2
                    * u64::from(known(attr::MEMORY_BUS_BITS, 0))
                    / 8,
                limits: Limits {
                    threads: get(attr::MAX_THREADS)?,
                    shared_bytes: get(attr::MAX_SHARED_OPTIN)?,
                    registers: get(attr::MAX_REGISTERS)?,
                    l2_bytes: get(attr::L2_BYTES)?,
                },
                multiprocessor: Multiprocessor {
                    threads: known(attr::SM_THREADS, Multiprocessor::HOPPER.threads),
                    blocks: known(attr::SM_BLOCKS, Multiprocessor::HOPPER.blocks),
                    registers: known(attr::SM_REGISTERS, Multiprocessor::HOPPER.registers),
                    shared_bytes: known(attr::SM_SHARED_BYTES, Multiprocessor::HOPPER.shared_bytes),
                    shared_unit: Multiprocessor::allocation(own)[0],
                    reserved_shared_bytes: Multiprocessor::allocation(own)[1],
                },
            };
            Ok((id, compute, compute != own, driver, Pool::new(api, device)?, info))
        })();
        match made {
            Ok((id, compute, assumed, driver, pool, info)) => {
                let target = format!("sm_{}{}a", compute.0, compute.1);
                Ok(Context {
                    api,
                    ordinal,
                    device,
                    compute,
                    assumed,
                    driver,
                    target,
                    info,
                    raw: Handle(context),
                    id,
                    retained: AtomicBool::new(retained),
                    pool,
                })
            }
            Err(e) => {
                if retained {
                    // SAFETY: the caller retained it, and nobody has it.
                    unsafe { (api.primary_ctx_release)(device) };
                }
                Err(e)
            }
        }
    }

    /// Whether this is the primary context, retained for this value.
    pub(crate) fn is_retained(&self) -> bool {
        self.retained.load(Acquire)
    }

    /// To be called when the caller has retained this primary context: this value gives it back, once in all.
    pub(crate) fn take_retained(&self) {
        if self.retained.swap(true, AcqRel) {
            // SAFETY: retained by the caller, once more than this value needs.
            unsafe { (self.api.primary_ctx_release)(self.device) };
        }
    }

    pub(crate) fn device(&self) -> DeviceId {
        self.info.id
    }

    /// Makes the context current until the guard is dropped; a context that the caller had is put back.
    #[inline]
    pub(crate) fn enter(&self) -> Result<Entered> {
        let mut before = core::ptr::null_mut();
        // SAFETY: a query.
        self.api.check("asking for the current context", unsafe { (self.api.ctx_get_current)(&mut before) })?;
        if before == self.raw.0 {
            return Ok(Entered { api: self.api, before: core::ptr::null_mut() });
        }
        // SAFETY: retained for this value, or the context of a caller who keeps it.
        self.api.check("making the context current", unsafe { (self.api.ctx_set_current)(self.raw.0) })?;
        Ok(Entered { api: self.api, before })
    }

    pub(crate) fn synchronize(&self, stream: CUstream) -> Result<()> {
        let _entered = self.enter()?;
        self.not_captured("waiting for a stream", stream)?;
        let _relaxed = Relaxed::new(self.api);
        // SAFETY: the caller's stream is alive.
        self.api.check("waiting for the stream", unsafe { (self.api.stream_synchronize)(stream) })
    }

    /// Whether work put on the stream is recorded into a graph. A stream that cannot be asked counts as captured.
    pub(crate) fn is_capturing(&self, stream: CUstream) -> bool {
        self.asks_whether_captured(stream).unwrap_or(true)
    }

    /// The same for the default stream where a stream that waits for it is captured. Errors: the driver's.
    fn asks_whether_captured(&self, stream: CUstream) -> Result<bool> {
        let mut status = 0;
        // SAFETY: the caller's stream is alive; room for the status.
        match unsafe { (self.api.stream_is_capturing)(stream, &mut status) } {
            code::SUCCESS => Ok(status != 0),
            e if code::CAPTURES.contains(&e) => Ok(true),
            e => Err(self.api.error("asking whether a stream is captured", e)),
        }
    }

    /// Errors: [`Error::Unsupported`] while the stream is captured, or, of the default stream, a stream that waits for
    /// it: the driver would refuse the call and break the capture. Also the driver's.
    pub(crate) fn not_captured(&self, what: &'static str, stream: CUstream) -> Result<()> {
        if !self.asks_whether_captured(stream)? {
            return Ok(());
        }
        Err(Error::Unsupported { what, device: self.info.name.clone(), instead: "end the capture first" })
    }

    /// Which capture the stream is in; none where it is in none, or cannot be asked.
    pub(crate) fn capture_of(&self, stream: CUstream) -> Option<u64> {
        self.asks_for_capture(stream).ok().flatten()
    }

    /// The same. Errors: the driver's.
    pub(crate) fn asks_for_capture(&self, stream: CUstream) -> Result<Option<u64>> {
        let (mut status, mut id) = (0, 0);
        let none = core::ptr::null_mut();
        // SAFETY: the caller's stream is alive; room for both results, and null for what is not asked for.
        let code = unsafe { (self.api.stream_get_capture_info)(stream, &mut status, &mut id, none, none, none) };
        self.api.check("asking for the capture of a stream", code)?;
        Ok((status != 0).then_some(id))
    }

    /// To be called before work is put on a stream. Errors: [`Error::Unsupported`] for the default stream while a
    /// stream that waits for it is captured: the driver would refuse the work and break that capture. What a capture of
    /// another stream records is fine.
    #[inline]
    pub(crate) fn takes_work(&self, what: &'static str, stream: CUstream) -> Result<()> {
        if stream == DEFAULT_STREAM { self.not_captured(what, stream) } else { Ok(()) }
    }

    /// An event that measures no time.
    pub(crate) fn new_event(&self) -> Result<CUevent> {
        const DISABLE_TIMING: u32 = 2;
        let _entered = self.enter()?;
        let mut event: CUevent = core::ptr::null_mut();
        // SAFETY: room for the handle.
        let code = unsafe { (self.api.event_create)(&mut event, DISABLE_TIMING) };
        self.api.check("creating an event", code).map(|()| event)
    }

    /// To be called while the context is known to be there, as after a call that has entered it.
    pub(crate) fn destroy_event(&self, event: CUevent) {
        // SAFETY: the caller gives its event up. The driver keeps it until its work is done. No context has to be
        // current.
        unsafe { (self.api.event_destroy)(event) };
    }

    /// The same for an event that may have gone with its context.
    pub(crate) fn let_event_go(&self, event: CUevent) {
        if self.is_alive() {
            self.destroy_event(event);
        }
    }

    /// Lets `stream` wait for an event, which may be of another context.
    pub(crate) fn wait(&self, stream: CUstream, event: CUevent) -> Result<()> {
        let _entered = self.enter()?;
        self.takes_work("waiting on the default stream", stream)?;
        // SAFETY: the caller's event, and a live stream of the current context.
        let code = unsafe { (self.api.stream_wait_event)(stream, event, 0) };
        self.api.check("waiting for an event", code)
    }

    /// Lets `stream` wait for all work given so far to `other`, a stream of the context `theirs`.
    pub(crate) fn order(&self, stream: CUstream, theirs: &Context, other: CUstream) -> Result<()> {
        let event = theirs.mark_of(other)?;
        let ordered = self.wait(stream, event);
        self.destroy_event(event);
        ordered
    }

    /// A new event, recorded behind all work given to a stream so far.
    pub(crate) fn mark_of(&self, stream: CUstream) -> Result<CUevent> {
        let _entered = self.enter()?;
        self.takes_work("waiting for the default stream", stream)?;
        let event = self.new_event()?;
        // SAFETY: the event made above, and a live stream of the current context.
        let recorded = self.api.check("ordering two streams", unsafe { (self.api.event_record)(event, stream) });
        recorded.inspect_err(|_| self.destroy_event(event)).map(|()| event)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        self.pool.destroy(self.api);
        if *self.retained.get_mut() {
            // SAFETY: retained for this value, and all that was made in the context is gone: who makes something there
            // keeps this value until then.
            unsafe { (self.api.primary_ctx_release)(self.device) };
        }
    }
}

/// Restores the caller's context.
pub(crate) struct Entered {
    api: &'static Api,
    before: CUcontext,
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        if !self.before.is_null() {
            // SAFETY: it was current when this value was made; a caller keeps it during the call.
            unsafe { (self.api.ctx_set_current)(self.before) };
        }
    }
}
