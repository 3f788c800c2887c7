//! The gauges of NVIDIA's driver: its library is loaded at run time where there is one.

use crate::gauges::{Read, Reading};
use core::ffi::{c_char, c_int, c_uint, c_void};
use libloading::Library;
use std::ffi::CString;

/// `nvmlDevice_t`.
type Handle = *mut c_void;

/// The functions that are used, with the signatures of `nvml.h`. All return `nvmlReturn_t`, 0 for success.
#[derive(Clone, Copy)]
struct Functions {
    init: unsafe extern "C" fn() -> c_int,
    by_pci_bus_id: unsafe extern "C" fn(*const c_char, *mut Handle) -> c_int,
    clock: unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_int,
    power: unsafe extern "C" fn(Handle, *mut c_uint) -> c_int,
    temperature: unsafe extern "C" fn(Handle, c_uint, *mut c_uint) -> c_int,
    shutdown: unsafe extern "C" fn() -> c_int,
}

impl Functions {
    /// None where one is missing.
    ///
    /// # Safety
    /// `library` is NVIDIA's, and outlives the result.
    unsafe fn load(library: &Library) -> Option<Functions> {
        macro_rules! get {
            ($symbol:literal) => {
                // SAFETY: the type of the field is that of `nvml.h`, and the caller vouches for the library.
                *unsafe { library.get($symbol) }.ok()?
            };
        }
        Some(Functions {
            init: get!(b"nvmlInit_v2\0"),
            by_pci_bus_id: get!(b"nvmlDeviceGetHandleByPciBusId_v2\0"),
            clock: get!(b"nvmlDeviceGetClockInfo\0"),
            power: get!(b"nvmlDeviceGetPowerUsage\0"),
            temperature: get!(b"nvmlDeviceGetTemperature\0"),
            shutdown: get!(b"nvmlShutdown\0"),
        })
    }
}

/// A device of the library.
pub(crate) struct Nvml {
    functions: Functions,
    device: Handle,
    /// Holds the code of the functions; none in tests.
    _library: Option<Library>,
}

// SAFETY: the library may be called from any thread, and a handle belongs to no thread ("NVML is thread-safe").
unsafe impl Send for Nvml {}

impl Nvml {
    /// The device at this address; none where there is no library, or it does not know the device.
    pub fn open(pci_bus_id: &str) -> Option<Nvml> {
        // SAFETY: loading NVIDIA's library runs its initializers, which ask for nothing.
        let library = unsafe { Library::new("libnvidia-ml.so.1") }.ok()?;
        // SAFETY: that library, which the result keeps.
        let functions = unsafe { Functions::load(&library) }?;
        Self::with(functions, Some(library), pci_bus_id)
    }

    fn with(functions: Functions, library: Option<Library>, pci_bus_id: &str) -> Option<Nvml> {
        let id = CString::new(pci_bus_id).ok()?;
        // SAFETY: no arguments.
        if unsafe { (functions.init)() } != 0 {
            return None;
        }
        // From here on dropping it shuts the library down.
        let mut nvml = Nvml { functions, device: core::ptr::null_mut(), _library: library };
        // SAFETY: a text with its end, and room for the handle.
        let found = unsafe { (functions.by_pci_bus_id)(id.as_ptr(), &mut nvml.device) };
        (found == 0).then_some(nvml)
    }
}

impl Drop for Nvml {
    fn drop(&mut self) {
        // SAFETY: `init` succeeded, and nobody has the handle any more.
        unsafe { (self.functions.shutdown)() };
    }
}

impl Read for Nvml {
    fn read(&mut self) -> Reading {
        const CLOCK_SM: c_uint = 1;
        const TEMPERATURE_GPU: c_uint = 0;
        let (f, device) = (self.functions, self.device);
        let get = |ask: &dyn Fn(&mut c_uint) -> c_int| {
            let mut value = 0;
            (ask(&mut value) == 0).then_some(f64::from(value))
        };
        Reading {
            // SAFETY: the handle is that of the library, which is initialized; room for the result.
            clock_mhz: get(&|v| unsafe { (f.clock)(device, CLOCK_SM, v) }),
            // SAFETY: as above. The unit is the milliwatt.
            power_w: get(&|v| unsafe { (f.power)(device, v) }).map(|mw| mw / 1e3),
            // SAFETY: as above.
            temperature_c: get(&|v| unsafe { (f.temperature)(device, TEMPERATURE_GPU, v) }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicI32, Ordering};

    static OPEN: AtomicI32 = AtomicI32::new(0);

    unsafe extern "C" fn init() -> c_int {
        OPEN.fetch_add(1, Ordering::Relaxed);
        0
    }
    unsafe extern "C" fn shutdown() -> c_int {
        OPEN.fetch_sub(1, Ordering::Relaxed);
        0
    }
    unsafe extern "C" fn find(id: *const c_char, device: *mut Handle) -> c_int {
        // SAFETY: the caller gives a text with its end.
        if unsafe { std::ffi::CStr::from_ptr(id) } != c"00000000:1b:00.0" {
            return 6;
        }
        // SAFETY: the caller gives room for the handle.
        unsafe { *device = 7 as Handle };
        0
    }
    unsafe extern "C" fn clock(device: Handle, kind: c_uint, mhz: *mut c_uint) -> c_int {
        assert_eq!((device as usize, kind), (7, 1));
        // SAFETY: the caller gives room for the result.
        unsafe { *mhz = 1980 };
        0
    }
    unsafe extern "C" fn power(_: Handle, mw: *mut c_uint) -> c_int {
        // SAFETY: the caller gives room for the result.
        unsafe { *mw = 652_500 };
        0
    }
    unsafe extern "C" fn not_supported(_: Handle, _: c_uint, _: *mut c_uint) -> c_int {
        3
    }

    #[test]
    fn a_gauge_that_is_not_there_is_left_out() {
        let functions = Functions { init, by_pci_bus_id: find, clock, power, temperature: not_supported, shutdown };
        let mut nvml = Nvml::with(functions, None, "00000000:1b:00.0").unwrap();
        let reading = nvml.read();
        assert_eq!(reading, Reading { clock_mhz: Some(1980.0), power_w: Some(652.5), temperature_c: None });
        assert!(Nvml::with(functions, None, "00000000:99:00.0").is_none(), "another device");
        assert_eq!(OPEN.load(Ordering::Relaxed), 1, "what was not found is shut down again");
        drop(nvml);
        assert_eq!(OPEN.load(Ordering::Relaxed), 0);
    }
}
