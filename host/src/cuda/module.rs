//! Loaded code: one CUDA library per entry of a bundle, kept for the life of the process.
//!
//! Libraries belong to no context, so a kernel loaded once launches in the primary context and in a caller's own.

use super::api::{Api, Code, code};
use super::context::Context;
use super::per_driver::PerDriver;
use super::sys::{CUdeviceptr, CUfunction, CUjit_option, CUkernel, CUlibrary, Handle};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::trace;
use core::ffi::{CStr, c_void};
use std::collections::HashMap;
use std::ffi::CString;
use std::sync::{Arc, Mutex};
use std::time::Instant;
use tilewright_core::bundle::{Arch, Bundle, BundleError, Image};
use tilewright_core::{ConfigDesc, KernelDesc, TRACE_SYMBOL, VariantDesc};

/// An entry that is known to fit on the device.
pub(crate) struct Entry {
    kernel: Handle<CUkernel>,
    /// Unloaded with this value.
    library: Library,
    /// Its name, where its code has marks.
    traced: Option<&'static str>,
    pub threads: u32,
    pub shared_bytes: u32,
    pub ctas: u32,
    /// Whether it waits where it must for the launch before, so that it may begin while that ends.
    pub pdl: bool,
}

/// The array of a traced entry in a context.
#[derive(Clone, Copy)]
pub(crate) struct TraceArray {
    pub entry: &'static str,
    pub address: CUdeviceptr,
    pub bytes: usize,
}

mod attr {
    pub const MAX_THREADS_PER_BLOCK: i32 = 0;
    pub const NUM_REGS: i32 = 4;
    pub const MAX_DYNAMIC_SHARED: i32 = 8;
}

/// Bundle (by address), entry, device.
type Key = (usize, &'static str, u32);

static LOADED: PerDriver<Mutex<HashMap<Key, Arc<Entry>>>> = PerDriver::new();

/// Loads an entry, or finds it loaded. `config` is named in errors. The context must be current.
pub(crate) fn load(
    context: &Context,
    device: &Device,
    desc: &'static KernelDesc,
    config: &ConfigDesc,
    entry: &'static str,
) -> Result<Arc<Entry>> {
    let cannot = |why| Error::CannotLaunch {
        kernel: desc.name,
        config: config_id(desc, config),
        device: device.name.clone(),
        why,
    };
    let traced = trace::code(entry).map_err(cannot)?;
    let bytes = traced.or(desc.bundle).ok_or(Error::MissingBundle { kernel: desc.name })?;
    let key = (bytes.as_ptr() as usize, entry, context.ordinal);
    let loaded = LOADED.of(context.api);
    if let Some(e) = loaded.lock().unwrap_or_else(|e| e.into_inner()).get(&key) {
        return Ok(e.clone());
    }
    let mut made = load_new(context, device, desc, config, bytes, entry)?;
    made.traced = traced.map(|_| entry);
    // Two threads may both have come here: the first one's stays.
    Ok(loaded.lock().unwrap_or_else(|e| e.into_inner()).entry(key).or_insert(Arc::new(made)).clone())
}

/// Whether the bundle holds code for this compute capability: for every variant that it is to run.
pub(crate) fn has_code_for(desc: &KernelDesc, compute: (u32, u32)) -> bool {
    let Some(bundle) = desc.bundle.and_then(|b| Bundle::parse(b).ok()) else { return false };
    let mut wanted = variants_for(desc, compute).peekable();
    wanted.peek().is_some() && wanted.all(|v| holds(&bundle, v, compute))
}

/// Whether the build lacks code that this compute capability needs of a kernel. What is for other ones alone is not
/// needed, nor is what `TILE_TARGETS` left out in favor of what runs everywhere.
pub(crate) fn is_missing(desc: &KernelDesc, compute: (u32, u32)) -> bool {
    let Some(bundle) = desc.bundle.and_then(|b| Bundle::parse(b).ok()) else { return true };
    variants_for(desc, compute).any(|v| !lacks(desc, v) && !holds(&bundle, v, compute))
}

/// The variants that are built, and not for other devices alone.
fn variants_for(desc: &KernelDesc, compute: (u32, u32)) -> impl Iterator<Item = &'static VariantDesc> {
    desc.configs
        .iter()
        .flat_map(|c| c.variants)
        .filter(move |v| v.built && v.only.is_none_or(|target| runs_on(target, compute)))
}

fn holds(bundle: &Bundle, variant: &VariantDesc, compute: (u32, u32)) -> bool {
    bundle.entry(variant.entry).is_ok_and(|e| e.targets().any(|target| runs_on(target, compute)))
}

fn runs_on(target: &str, compute: (u32, u32)) -> bool {
    target.parse::<tilewright_core::bundle::Arch>().is_ok_and(|a| a.ptx_runs_on(compute))
}

/// Whether a bundle that can be read was built without the one target of a variant.
pub(crate) fn lacks(desc: &KernelDesc, variant: &VariantDesc) -> bool {
    let bundle = desc.bundle.and_then(|b| Bundle::parse(b).ok());
    let Some((only, bundle)) = variant.only.zip(bundle) else { return false };
    bundle.entry(variant.entry).map_or(true, |e| e.targets().all(|t| t != only))
}

fn load_new(
    context: &Context,
    device: &Device,
    desc: &'static KernelDesc,
    config: &ConfigDesc,
    bytes: &'static [u8],
    entry: &str,
) -> Result<Entry> {
    let start = Instant::now();
    let bundle_error = |e: BundleError| match e {
        BundleError::NoTarget { built, major, minor, .. } => Error::NoTarget {
            kernel: desc.name,
            device: format!("{} (compute capability {major}.{minor})", device.name),
            built: built.join(", "),
            wanted: format!("sm_{major}{minor}"),
        },
        e => Error::BadBundle { kernel: desc.name, why: e.to_string() },
    };
    let bundle = Bundle::parse(bytes).map_err(bundle_error)?;
    let meta = bundle.entry(entry).map_err(bundle_error)?;
    // A fact that the bundle has is not worth a compilation.
    let cannot = |why: String| Error::CannotLaunch {
        kernel: desc.name,
        config: config_id(desc, config),
        device: device.name.clone(),
        why,
    };
    fits("threads", meta.threads, device.limits.threads).map_err(cannot)?;
    fits("bytes of shared memory", meta.shared_bytes, device.limits.shared_bytes).map_err(cannot)?;

    // The driver may compile PTX when it is loaded, or when its kernel is first asked for.
    let attempt = |image: Image<'static>| -> Result<_> {
        let image = if context.assumed { image.without_cubin() } else { image };
        let (library, how) = load_image(context.api, desc.name, &image)?;
        let kernel = find_kernel(context, desc, &library, entry)?;
        let get = |what: i32| {
            let mut v = 0;
            // SAFETY: a query of a kernel of the library loaded above.
            let code = unsafe { (context.api.kernel_get_attribute)(&mut v, what, kernel, context.device) };
            context.api.check("asking for a kernel attribute", code).map(|()| v as u32)
        };
        let (registers, most_threads) = (get(attr::NUM_REGS)?, get(attr::MAX_THREADS_PER_BLOCK)?);
        function_of(context.api, kernel)?;
        Ok((Handle(kernel), library, image.target, how, registers, most_threads))
    };
    let best = attempt(bundle.image_for(meta, context.compute).map_err(bundle_error)?);
    let (kernel, library, target, how, registers, most_threads) = match best {
        // The PTX of an older target may be older, too.
        Err(Error::DriverTooOld { missing }) => {
            first_of_older(missing, bundle.others_for(meta, context.compute).map(attempt))?
        }
        other => other?,
    };
    fits("threads with its registers", meta.threads, most_threads).map_err(cannot)?;
    // The hardware gives registers to warps in units of 256.
    let needed = (registers * 32).next_multiple_of(256) * meta.threads.div_ceil(32);
    fits("registers", needed, device.limits.registers).map_err(cannot)?;
    if meta.shared_bytes > 0 {
        // SAFETY: a kernel of the library loaded above, and a number.
        let set = unsafe {
            (context.api.kernel_set_attribute)(
                attr::MAX_DYNAMIC_SHARED,
                meta.shared_bytes as i32,
                kernel.0,
                context.device,
            )
        };
        if set != code::SUCCESS {
            return Err(match context.api.error("giving a kernel its shared memory", set) {
                e @ Error::DeviceLost { .. } => e,
                e if set == code::OUT_OF_MEMORY => e,
                _ => {
                    let name = context.api.name(set);
                    cannot(format!("{} bytes of shared memory are refused ({name})", meta.shared_bytes))
                }
            });
        }
    }
    tracing::debug!(
        kernel = desc.name,
        types = desc.types,
        entry,
        target,
        how,
        registers,
        ms = start.elapsed().as_millis() as u64,
        "loaded a kernel"
    );
    Ok(Entry {
        kernel,
        library,
        traced: None,
        threads: meta.threads,
        shared_bytes: meta.shared_bytes,
        ctas: meta.ctas,
        pdl: pdl(desc, context, target),
    })
}

/// The first image that loads, where the driver lacks something for the best one. Errors: [`Error::DriverTooOld`] with
/// what is missing, and with the errors of all others; an error after which no other image can load, as it is.
fn first_of_older<T>(mut missing: String, others: impl Iterator<Item = Result<T>>) -> Result<T> {
    for other in others {
        match other {
            Err(e) if !e.is_fatal() => missing += &format!("; code for an older target does not load either: {e}"),
            loaded_or_lost => return loaded_or_lost,
        }
    }
    Err(Error::DriverTooOld { missing })
}

/// The kernel of an entry in a library that is loaded. Without a cubin the driver compiles the PTX here at the latest.
fn find_kernel(context: &Context, desc: &'static KernelDesc, library: &Library, entry: &str) -> Result<CUkernel> {
    let name = CString::new(entry)
        .map_err(|_| Error::BadBundle { kernel: desc.name, why: "an entry's name has a null in it".into() })?;
    let mut kernel = core::ptr::null_mut();
    // SAFETY: room for the handle; a loaded library; a name that ends in zero.
    let found = unsafe { (context.api.library_get_kernel)(&mut kernel, library.raw.0, name.as_ptr()) };
    if found == code::SUCCESS {
        return Ok(kernel);
    }
    Err(match context.api.error("finding a kernel in its module", found) {
        e @ (Error::DeviceLost { .. } | Error::DriverTooOld { .. }) => e,
        e if found == code::OUT_OF_MEMORY => e,
        _ => Error::BadBundle { kernel: desc.name, why: format!("the driver reports {}", context.api.name(found)) },
    })
}

/// A kernel in the current context.
fn function_of(api: &Api, kernel: CUkernel) -> Result<CUfunction> {
    let mut f = core::ptr::null_mut();
    // SAFETY: room for the handle; a kernel of a library that is loaded.
    api.check("loading a kernel into the context", unsafe { (api.kernel_get_function)(&mut f, kernel) })?;
    Ok(f)
}

/// Whether a launch may begin before the one in front of it has ended: code for devices before 9.0 does not wait, and
/// drivers before 12.3 do not capture such launches.
fn pdl(desc: &KernelDesc, context: &Context, target: &str) -> bool {
    const CAPTURES: i32 = 12030;
    desc.pdl && context.driver >= CAPTURES && target.parse::<Arch>().is_ok_and(|a| a.major >= 9)
}

pub(crate) fn config_id(desc: &'static KernelDesc, config: &ConfigDesc) -> &'static str {
    desc.configs.iter().find(|c| core::ptr::eq(*c, config)).map_or("", |c| c.id)
}

fn fits(what: &str, needs: u32, has: u32) -> Result<(), String> {
    if needs <= has { Ok(()) } else { Err(format!("it needs {needs} {what}, the device gives {has}")) }
}

/// A loaded image.
struct Library {
    api: &'static Api,
    raw: Handle<CUlibrary>,
    /// Where the driver reports: it compiles lazily, and may write here after the call that loads. Cubins have none.
    _log: Vec<u8>,
}

impl Drop for Library {
    fn drop(&mut self) {
        // SAFETY: loaded by `load`, and nobody has a kernel of it any more. The log is dropped after it.
        unsafe { (self.api.library_unload)(self.raw.0) };
    }
}

impl Library {
    /// # Safety
    /// `data` is PTX that ends in zero, or a whole cubin.
    unsafe fn load(api: &'static Api, data: *const c_void, mut log: Vec<u8>) -> Result<Library, (Code, Vec<u8>)> {
        let mut library = core::ptr::null_mut();
        let mut options = [CUjit_option::CU_JIT_ERROR_LOG_BUFFER, CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
        let mut values = [log.as_mut_ptr().cast::<c_void>(), log.len() as *mut c_void];
        let n = if log.is_empty() { 0 } else { 2 };
        let (no_options, no_values) = (core::ptr::null_mut(), core::ptr::null_mut());
        // SAFETY: the caller's image; a log that lives as long as the library; two options with two values, of which
        // the header says that the first is an address and the second a number, or none.
        match unsafe {
            (api.library_load_data)(
                &mut library,
                data,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
                n,
                no_options,
                no_values,
                0,
            )
        } {
            code::SUCCESS => Ok(Library { api, raw: Handle(library), _log: log }),
            e => Err((e, log)),
        }
    }
}

/// The cubin where there is one for this device, else the PTX through the driver's compiler.
fn load_image(api: &'static Api, kernel: &'static str, image: &Image) -> Result<(Library, &'static str)> {
    let damaged = |e: BundleError| Error::BadBundle { kernel, why: e.to_string() };
    if let Some(cubin) = image.cubin().map_err(damaged)? {
        // SAFETY: `bundle::Image::cubin` gives a whole cubin.
        match unsafe { Library::load(api, cubin.as_ptr().cast(), vec![]) } {
            Ok(library) => return Ok((library, "cubin")),
            Err((e, _)) if matches!(api.error("", e), Error::DeviceLost { .. }) => {
                return Err(api.error("loading a kernel", e));
            }
            Err((e, _)) => tracing::warn!(
                kernel,
                error = api.name(e),
                "the assembled kernel does not load, compiling its PTX instead"
            ),
        }
    }
    let ptx = CString::new(image.ptx().map_err(damaged)?)
        .map_err(|_| Error::BadBundle { kernel, why: "its PTX has a null in it".into() })?;
    // SAFETY: text that ends in zero.
    match unsafe { Library::load(api, ptx.as_ptr().cast(), vec![0; 8192]) } {
        Ok(library) => Ok((library, "ptx")),
        Err((e, log)) => match api.error("loading a kernel", e) {
            e @ (Error::DeviceLost { .. } | Error::DriverTooOld { .. }) => Err(e),
            _ if e == code::OUT_OF_MEMORY => Err(api.error("loading a kernel", e)),
            _ => {
                let said = CStr::from_bytes_until_nul(&log);
                let said = said.map(|s| s.to_string_lossy().trim().to_string()).unwrap_or_default();
                Err(Error::BadBundle { kernel, why: format!("the driver's compiler reports {}: {said}", api.name(e)) })
            }
        },
    }
}

impl Entry {
    /// The kernel in the current context.
    pub(crate) fn function(&self, api: &Api) -> Result<CUfunction> {
        // The kernel's library stays loaded as long as this value.
        function_of(api, self.kernel.0)
    }

    /// The array that its marks go to in the current context; none of code without marks.
    pub(crate) fn trace_array(&self, api: &Api) -> Result<Option<TraceArray>> {
        let Some(entry) = self.traced else { return Ok(None) };
        let name = CString::new(TRACE_SYMBOL).expect("a name without a null");
        let (mut address, mut bytes) = (0, 0);
        // SAFETY: room for both; a loaded library; a name that ends in zero.
        let found = unsafe { (api.library_get_global)(&mut address, &mut bytes, self.library.raw.0, name.as_ptr()) };
        api.check("finding the array of a traced kernel", found)?;
        Ok(Some(TraceArray { entry, address, bytes }))
    }
}
