//! The driver's functions, looked up once.
//!
//! cudarc finds and keeps the library and gives the handle types (`sys`). Its own function wrappers are not used: they
//! panic at a symbol that an older driver lacks, and they return a Rust enum, which a code from a newer driver would
//! make invalid. Here a missing symbol is an error and a result is a number.
//!
//! # Contract of a call
//! The driver of an [`Api`] is initialized. A call of one of its functions is sound where
//! - a pointer that is written through has room for the values that the header names, and one that is read through has
//!   them, during the call;
//! - a handle (stream, event, graph, pool, library, context) was given by this driver and is not given back, and a
//!   range of device memory lies in one allocation that is not freed before the work is done.
//!
//! Numbers need no argument: the driver checks them. A *query* writes to its out-parameters and changes nothing else.
//! Functions of this crate that take a `CUstream` or a `CUdeviceptr` ask the second point of their callers: both come
//! from values that own them ([`crate::Stream`], [`crate::Buffer`], scratch), or from the arguments of a checked call.

use super::sys::{
    CUcontext, CUdevice, CUdeviceptr, CUevent, CUfunction, CUgraph, CUgraphExec, CUjit_option, CUkernel,
    CUlaunchConfig, CUlibrary, CUlibraryOption, CUmemoryPool, CUstream, PoolProps,
};
use crate::error::{DriverError, Error, Result};
use core::ffi::{CStr, c_char, c_int, c_uint, c_ulonglong, c_void};
use core::ops::Deref;
use std::cell::Cell;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed};
use tilewright_core::cpu::fork;

/// `CUresult` as a number.
pub(crate) type Code = u32;

/// A function of the driver. A child that was forked after the driver was started gets [`code::FORKED`] from it, and
/// the driver is not called: it does not survive a fork.
pub(crate) struct Function<F> {
    driver: F,
    refusal: F,
    /// In which the driver was started.
    generation: u64,
}

impl<F> Deref for Function<F> {
    type Target = F;

    #[inline]
    fn deref(&self) -> &F {
        if self.generation == fork::generation() { &self.driver } else { &self.refusal }
    }
}

macro_rules! api {
    ($($symbol:literal $name:ident($($t:ty),*);)*) => {
        /// The table of driver functions.
        #[allow(non_snake_case)]
        pub(crate) struct Api {
            $(pub $name: Function<unsafe extern "C" fn($($t),*) -> Code>,)*
            generation: u64,
        }

        impl Api {
            /// # Safety
            /// `find` gives null or the driver's function of this name.
            unsafe fn load(find: impl Fn(&str) -> *const c_void) -> Result<Api> {
                let generation = fork::generation();
                Ok(Api {
                    $($name: {
                        unsafe extern "C" fn refusal($(_: $t),*) -> Code {
                            code::FORKED
                        }
                        let f = find($symbol);
                        if f.is_null() {
                            return Err(Error::DriverTooOld { missing: $symbol.into() });
                        }
                        let driver =
                            // SAFETY: not null, and the signature is that of cuda.h, as the caller vouches.
                            unsafe { core::mem::transmute::<*const c_void, unsafe extern "C" fn($($t),*) -> Code>(f) };
                        Function { driver, refusal, generation }
                    },)*
                    generation,
                })
            }
        }
    };
}

api! {
    "cuInit" init(c_uint);
    "cuDriverGetVersion" driver_get_version(*mut c_int);
    "cuGetErrorName" get_error_name(Code, *mut *const c_char);
    "cuGetErrorString" get_error_string(Code, *mut *const c_char);
    "cuDeviceGet" device_get(*mut CUdevice, c_int);
    "cuDeviceGetCount" device_get_count(*mut c_int);
    "cuDeviceGetName" device_get_name(*mut c_char, c_int, CUdevice);
    "cuDeviceGetAttribute" device_get_attribute(*mut c_int, c_int, CUdevice);
    "cuDeviceTotalMem_v2" device_total_mem(*mut usize, CUdevice);
    "cuDevicePrimaryCtxRetain" primary_ctx_retain(*mut CUcontext, CUdevice);
    "cuDevicePrimaryCtxRelease_v2" primary_ctx_release(CUdevice);
    "cuCtxGetCurrent" ctx_get_current(*mut CUcontext);
    "cuCtxSetCurrent" ctx_set_current(CUcontext);
    "cuCtxGetDevice" ctx_get_device(*mut CUdevice);
    "cuCtxGetId" ctx_get_id(CUcontext, *mut c_ulonglong);
    "cuMemGetInfo_v2" mem_get_info(*mut usize, *mut usize);
    "cuMemAlloc_v2" mem_alloc(*mut CUdeviceptr, usize);
    "cuMemFree_v2" mem_free(CUdeviceptr);
    "cuMemAllocFromPoolAsync" mem_alloc_from_pool_async(*mut CUdeviceptr, usize, CUmemoryPool, CUstream);
    "cuMemFreeAsync" mem_free_async(CUdeviceptr, CUstream);
    "cuMemPoolCreate" mem_pool_create(*mut CUmemoryPool, *const PoolProps);
    "cuMemPoolDestroy" mem_pool_destroy(CUmemoryPool);
    "cuMemPoolSetAttribute" mem_pool_set_attribute(CUmemoryPool, c_int, *mut c_void);
    "cuMemPoolTrimTo" mem_pool_trim_to(CUmemoryPool, usize);
    "cuMemcpyHtoDAsync_v2" memcpy_htod_async(CUdeviceptr, *const c_void, usize, CUstream);
    "cuMemcpyDtoHAsync_v2" memcpy_dtoh_async(*mut c_void, CUdeviceptr, usize, CUstream);
    "cuMemcpyDtoDAsync_v2" memcpy_dtod_async(CUdeviceptr, CUdeviceptr, usize, CUstream);
    "cuMemsetD8Async" memset_d8_async(CUdeviceptr, u8, usize, CUstream);
    "cuPointerGetAttribute" pointer_get_attribute(*mut c_void, c_int, CUdeviceptr);
    "cuStreamCreate" stream_create(*mut CUstream, c_uint);
    "cuStreamDestroy_v2" stream_destroy(CUstream);
    "cuStreamSynchronize" stream_synchronize(CUstream);
    "cuStreamQuery" stream_query(CUstream);
    "cuStreamWaitEvent" stream_wait_event(CUstream, CUevent, c_uint);
    "cuStreamGetCtx" stream_get_ctx(CUstream, *mut CUcontext);
    "cuStreamIsCapturing" stream_is_capturing(CUstream, *mut c_int);
    // Version 2 of the symbol, which drivers for CUDA 11.3 and later have; later ones give more that is not used here.
    "cuStreamGetCaptureInfo_v2" stream_get_capture_info(
        CUstream, *mut c_int, *mut c_ulonglong, *mut c_void, *mut c_void, *mut c_void);
    "cuStreamBeginCapture_v2" stream_begin_capture(CUstream, c_int);
    "cuStreamEndCapture" stream_end_capture(CUstream, *mut CUgraph);
    "cuThreadExchangeStreamCaptureMode" thread_exchange_capture_mode(*mut c_int);
    "cuGraphInstantiateWithFlags" graph_instantiate(*mut CUgraphExec, CUgraph, c_ulonglong);
    "cuGraphLaunch" graph_launch(CUgraphExec, CUstream);
    "cuGraphExecDestroy" graph_exec_destroy(CUgraphExec);
    "cuGraphDestroy" graph_destroy(CUgraph);
    "cuEventCreate" event_create(*mut CUevent, c_uint);
    "cuEventRecord" event_record(CUevent, CUstream);
    "cuEventSynchronize" event_synchronize(CUevent);
    "cuEventQuery" event_query(CUevent);
    // Version 1 of the symbol: version 2 differs in nothing used here and would ask for a driver of CUDA 12.8.
    "cuEventElapsedTime" event_elapsed_time(*mut f32, CUevent, CUevent);
    "cuEventDestroy_v2" event_destroy(CUevent);
    "cuLibraryLoadData" library_load_data(
        *mut CUlibrary, *const c_void, *mut CUjit_option, *mut *mut c_void, c_uint,
        *mut CUlibraryOption, *mut *mut c_void, c_uint);
    "cuLibraryUnload" library_unload(CUlibrary);
    "cuLibraryGetGlobal" library_get_global(*mut CUdeviceptr, *mut usize, CUlibrary, *const c_char);
    "cuLibraryGetKernel" library_get_kernel(*mut CUkernel, CUlibrary, *const c_char);
    "cuKernelGetFunction" kernel_get_function(*mut CUfunction, CUkernel);
    "cuKernelGetAttribute" kernel_get_attribute(*mut c_int, c_int, CUkernel, CUdevice);
    "cuKernelSetAttribute" kernel_set_attribute(c_int, c_int, CUkernel, CUdevice);
    "cuLaunchKernel" launch_kernel(
        CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void, *mut *mut c_void);
    "cuLaunchKernelEx" launch_kernel_ex(*const CUlaunchConfig, CUfunction, *mut *mut c_void, *mut *mut c_void);
    "cuTensorMapEncodeTiled" tensor_map_encode_tiled(
        *mut c_void, u32, u32, *mut c_void, *const u64, *const u64, *const u32, *const u32, u32, u32, u32, u32);
}

thread_local!(static OWN: Cell<Option<&'static Api>> = const { Cell::new(None) });
/// Whether some thread has a driver of its own.
static ANY_OWN: AtomicBool = AtomicBool::new(false);

/// A driver other than `libcuda.so.1`, for tests. A thread that has entered it uses it in place of the library.
#[derive(Clone, Copy)]
pub struct Driver(&'static Api);

/// Goes back to the driver before.
pub struct OwnDriver(Option<&'static Api>);

impl Drop for OwnDriver {
    fn drop(&mut self) {
        OWN.set(self.0);
    }
}

impl Driver {
    /// The table is kept for the life of the process.
    ///
    /// # Safety
    /// `find` gives null or a function of cuda.h by this name, which stays and keeps to the driver's contract.
    pub unsafe fn from_symbols(find: impl Fn(&str) -> *const c_void) -> Result<Driver> {
        // SAFETY: the caller's contract.
        let api: &'static Api = Box::leak(Box::new(unsafe { Api::load(find) }?));
        // SAFETY: a function of the table.
        api.check("starting the driver", unsafe { (api.init)(0) })?;
        Ok(Driver(api))
    }

    /// The calling thread's driver until the guard is dropped.
    #[must_use]
    pub fn enter(self) -> OwnDriver {
        ANY_OWN.store(true, Relaxed);
        OwnDriver(OWN.replace(Some(self.0)))
    }
}

/// The codes that are treated apart.
pub(crate) mod code {
    pub const SUCCESS: u32 = 0;
    pub const INVALID_VALUE: u32 = 1;
    pub const OUT_OF_MEMORY: u32 = crate::error::DriverError::OUT_OF_MEMORY;
    pub const NO_DEVICE: u32 = 100;
    pub const INVALID_CONTEXT: u32 = 201;
    pub const UNSUPPORTED_PTX_VERSION: u32 = 222;
    pub const NOT_READY: u32 = 600;
    pub const LAUNCH_OUT_OF_RESOURCES: u32 = 701;
    pub const CONTEXT_IS_DESTROYED: u32 = 709;
    /// Errors of calls that a capture, or one of a stream that waits for the default stream, does not allow.
    pub const CAPTURES: core::ops::RangeInclusive<u32> = 900..=908;
    /// None of the driver's: the process is a child that was forked after the driver was started.
    pub const FORKED: u32 = u32::MAX;
    /// After these the process cannot use the device any more. Those that are marked with * say so in cuda.h: "this
    /// leaves the process in an inconsistent state and any further CUDA work will return the same error".
    pub const LOST: [u32; 17] = [
        4,   // deinitialized: the driver is shutting down, as it does when the process ends
        214, // uncorrectable ECC error: what memory holds is not known
        220, // uncorrectable NVLink error: the same
        226, // contained *: a hardware error, or an access over NVLink, that was confined to this process
        700, // illegal address *
        702, // launch timeout *
        710, // assertion: "the context cannot be used anymore"
        714, // hardware stack error *
        715, // illegal instruction *
        716, // misaligned address *
        717, // invalid address space *
        718, // invalid program counter *
        719, // launch failed *: any other exception in a kernel
        721, // tensor memory leak *
        810, // MPS client terminated: "the process must be terminated and relaunched"
        911, // external device *
        999, // unknown internal error: cuda.h promises nothing of the state after it, so nothing is relied upon
    ];
    // Not among them: 46 (device unavailable: another process has it for now), 709 and 201 (the context is gone, the
    // device is not: see `Error::ContextDestroyed`), 805 to 809 (an MPS server that cannot be reached, is not ready or
    // is full), 802 (the system is not ready yet).
}

impl Api {
    /// The driver, initialized; the same answer on every call, and no panic without one. Errors: [`Error::NoCuda`],
    /// [`Error::DriverTooOld`], [`Error::Forked`].
    pub(crate) fn get() -> Result<&'static Api> {
        let api = match OWN.get().filter(|_| ANY_OWN.load(Relaxed)) {
            Some(own) => own,
            None => Self::library()?,
        };
        if api.forked() { Err(Error::Forked) } else { Ok(api) }
    }

    /// Whether the driver was started before this process was forked.
    pub(crate) fn forked(&self) -> bool {
        self.generation != fork::generation()
    }

    fn library() -> Result<&'static Api> {
        static API: OnceLock<Result<Api>> = OnceLock::new();
        /// One more than the generation of the first process that has started the driver.
        static STARTED: AtomicU64 = AtomicU64::new(0);
        if let Some(known) = API.get() {
            return known.as_ref().map_err(Clone::clone);
        }
        // A parent may have been starting it when it was forked: nobody would end the wait for that.
        let now = fork::generation() + 1;
        if STARTED.compare_exchange(0, now, Relaxed, Relaxed).is_err_and(|first| first != now) {
            return Err(Error::Forked);
        }
        API.get_or_init(|| {
            let api = Self::load_library()?;
            // SAFETY: a function of the table, which takes a number.
            match unsafe { (api.init)(0) } {
                code::SUCCESS => Ok(api),
                e => Err(Error::NoCuda { why: format!("the driver does not start: {}", api.name(e)) }),
            }
        })
        .as_ref()
        .map_err(Clone::clone)
    }

    /// Opens the driver itself. cudarc's own handle exists only in builds whose features all ask for dynamic loading.
    #[cfg(feature = "cuda")]
    fn load_library() -> Result<Api> {
        use libloading::Library;
        // SAFETY: loading libcuda runs its initializers; that is the purpose.
        let found = ["libcuda.so.1", "libcuda.so"].into_iter().find_map(|name| unsafe { Library::new(name) }.ok());
        let Some(library) = found else {
            return Err(Error::NoCuda { why: "the driver library libcuda.so.1 was not found".into() });
        };
        // SAFETY: the driver gives its own functions.
        let api = unsafe { Api::load(|name| library.get::<*const c_void>(name).map_or(core::ptr::null(), |f| *f)) };
        // The driver stays loaded: its functions are called as long as the process lives.
        core::mem::forget(library);
        api
    }

    #[cfg(not(feature = "cuda"))]
    fn load_library() -> Result<Api> {
        Err(Error::NoCuda { why: "the program was built without the feature `cuda` of tilewright".into() })
    }

    /// `CUDA_ERROR_...` of a code.
    pub(crate) fn name(&self, e: Code) -> String {
        self.text(e, *self.get_error_name).unwrap_or_else(|| format!("error {e}"))
    }

    fn text(&self, e: Code, f: unsafe extern "C" fn(Code, *mut *const c_char) -> Code) -> Option<String> {
        let mut s = core::ptr::null();
        // SAFETY: `f` is a query; the driver gives a static string, or null for a code it does not know.
        unsafe {
            (f(e, &mut s) == code::SUCCESS && !s.is_null()).then(|| CStr::from_ptr(s).to_string_lossy().into_owned())
        }
    }

    /// The typed form of a code.
    #[cold]
    pub(crate) fn error(&self, what: &str, e: Code) -> Error {
        let what = what.to_string();
        let message = self.text(e, *self.get_error_string).unwrap_or_default();
        let source = DriverError { code: e as i32, name: self.name(e), message };
        match e {
            code::FORKED => Error::Forked,
            code::UNSUPPORTED_PTX_VERSION => {
                Error::DriverTooOld { missing: "support for this version of PTX (newer than the driver)".into() }
            }
            code::INVALID_CONTEXT | code::CONTEXT_IS_DESTROYED => Error::ContextDestroyed { what, source },
            e if code::LOST.contains(&e) => Error::DeviceLost { what, source },
            _ => Error::Driver { what, source },
        }
    }

    #[inline]
    pub(crate) fn check(&self, what: &str, e: Code) -> Result<()> {
        if e == code::SUCCESS { Ok(()) } else { Err(self.error(what, e)) }
    }
}
