//! The runtime: a device, its default stream, and what is known about launching on it.

use crate::cuda::api::{Api, code};
use crate::cuda::context::Context;
use crate::cuda::per_driver::PerDriver;
use crate::cuda::sys::CUcontext;
use crate::cuda::{Cuda, module};
use crate::device::Device;
use crate::emulator_options::{self, Options};
use crate::error::{Error, Result};
use crate::extension::{Extension, Extensions};
use crate::plan::Plans;
use crate::scratch_limit::ScratchLimit;
use crate::stream::Stream;
use crate::tuner::{Autotune, Tuner};
use std::cell::RefCell;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};
use tilewright_core::KernelDesc;

/// A device with its default stream, on which kernels run. Clones are the same runtime; it may be used from any number
/// of threads.
///
/// # Examples
/// ```
/// use tilewright::tuning::Autotune;
/// use tilewright::{BackendKind, Runtime, tile_kernel};
///
/// #[tile_kernel(grid = [cdiv(y.len(), 64)])]
/// fn double(x: &[f32], y: &mut [f32]) {
///     let i = program_id(0) * 64 + arange(64);
///     store(y, i, 2.0 * load(x, i));
/// }
///
/// let rt = Runtime::cpu(); // Runtime::new() takes a GPU where there is one
/// assert_eq!((rt.kind(), rt.name()), (BackendKind::Cpu, "cpu".to_string()));
/// rt.set_autotune(Autotune::Off);
/// let x = rt.from_slice(&[1.0f32, 2.0])?;
/// let mut y = rt.zeros::<f32>(2)?;
/// rt.launch(double(&x, &mut y))?;
/// rt.synchronize()?; // `to_vec` waits by itself
/// assert_eq!(y.to_vec()?, [2.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone)]
pub struct Runtime(pub(crate) Arc<Inner>);

pub(crate) struct Inner {
    pub device: Device,
    pub backend: Backend,
    pub stream: Stream,
    pub tuner: Tuner,
    pub plans: Plans,
    pub scratch_limit: ScratchLimit,
    /// Of libraries of operations.
    pub extensions: Extensions,
}

impl Inner {
    /// Forgets which plans and configurations were decided on.
    pub fn forget(&self) {
        self.plans.clear();
        self.extensions.for_each(|e| e.forget_choices());
    }
}

pub(crate) enum Backend {
    Cpu,
    #[cfg_attr(not(feature = "emulator"), allow(dead_code))]
    Emulator(Options),
    Cuda(Arc<Cuda>),
}

/// The kind of a runtime's backend.
///
/// # Examples
/// ```
/// use tilewright::{BackendKind, Runtime};
///
/// assert_eq!(Runtime::cpu().kind(), BackendKind::Cpu);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackendKind {
    /// An NVIDIA GPU.
    Cuda,
    /// All cores of the host.
    Cpu,
    /// The emulated SM, which runs the GPU code of kernels on the host.
    Emulator,
}

impl Runtime {
    /// CUDA device 0 where there is a device and a driver, else the CPU. `TILE_BACKEND` overrides (see
    /// [`Runtime::from_name`]); where its backend is not there, the CPU is taken with a warning.
    pub fn new() -> Runtime {
        Self::from_env().unwrap_or_else(|e| {
            tracing::warn!(error = %e, "falling back to the CPU");
            Self::cpu()
        })
    }

    /// The backend that `TILE_BACKEND` names, as [`Runtime::new`] takes it, for tests and measurements, which mean that
    /// one. Errors: as [`Runtime::from_name`].
    ///
    /// # Examples
    /// ```
    /// let rt = tilewright::Runtime::from_env()?;
    /// rt.zeros::<f32>(4)?;
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn from_env() -> Result<Runtime> {
        let name = std::env::var("TILE_BACKEND").ok().filter(|n| !n.is_empty());
        Self::from_name(name.as_deref().unwrap_or("auto"))
    }

    /// As [`Runtime::new`], but the CPU also where one of the kernels was not compiled for the device.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn one(y: &mut [f32]) {
    ///     store(y, 0, 1.0);
    /// }
    ///
    /// let rt = Runtime::for_kernels(one::DESCS); // the build script has not seen this kernel
    /// let mut y = rt.zeros::<f32>(1)?;
    /// rt.launch(one(&mut y))?;
    /// assert_eq!(y.to_vec()?, [1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn for_kernels(kernels: &[&'static KernelDesc]) -> Runtime {
        let rt = Self::new();
        let Some(cuda) = rt.cuda_context() else { return rt };
        match kernels.iter().find(|k| !module::has_code_for(k, cuda.compute)) {
            Some(k) => rt.cpu_instead(k),
            None => rt,
        }
    }

    /// CUDA device 0 where there is one and code for it in all of these kernels that are for such a device, else the
    /// CPU. For kernels that stand in for each other: one that is for other GPUs alone does not count.
    pub fn auto(kernels: &[&'static KernelDesc]) -> Runtime {
        let rt = Self::cuda_or_cpu();
        match rt.without_code(kernels) {
            Some(k) => rt.cpu_instead(k),
            None => rt,
        }
    }

    /// The first of these kernels that is for this runtime's GPU and was not compiled for it; `None` off the GPU.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn one(y: &mut [f32]) {
    ///     store(y, 0, 1.0);
    /// }
    ///
    /// assert!(Runtime::cpu().without_code(one::DESCS).is_none());
    /// // The runtime that has code of all kernels:
    /// assert!(Runtime::auto(one::DESCS).without_code(one::DESCS).is_none());
    /// ```
    pub fn without_code(&self, kernels: &[&'static KernelDesc]) -> Option<&'static KernelDesc> {
        let cuda = self.cuda_context()?;
        kernels.iter().copied().find(|k| module::is_missing(k, cuda.compute))
    }

    fn cpu_instead(&self, lacking: &KernelDesc) -> Runtime {
        tracing::warn!(
            kernel = lacking.name,
            device = self.device().name,
            "no code for this GPU in this build: using the CPU (`cargo xtask setup` and a new build cure it)"
        );
        Self::cpu()
    }

    fn cuda_or_cpu() -> Runtime {
        Self::cuda(0).unwrap_or_else(|e| {
            match e {
                Error::Forked => tracing::warn!(reason = %e, "using the CPU"),
                _ => tracing::debug!(reason = %e, "using the CPU"),
            }
            Self::cpu()
        })
    }

    /// The runtime of a name: `auto`, `cuda`, `cuda:N`, `cpu`, `emulator`, `emulator:SEED` or
    /// `emulator:SEED:MULTIPROCESSORS`. Errors: [`Error::UnknownBackend`]; [`Error::NoEmulator`] without the feature
    /// `emulator`; those of [`Runtime::cuda`] where CUDA is named.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Error, Runtime};
    ///
    /// assert_eq!(Runtime::from_name("cpu")?.name(), "cpu");
    /// assert!(matches!(Runtime::from_name("tpu"), Err(Error::UnknownBackend { name }) if name == "tpu"));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn from_name(name: &str) -> Result<Runtime> {
        let unknown = || Error::UnknownBackend { name: name.into() };
        match name.split_once(':').unwrap_or((name, "")) {
            ("auto", "") => Ok(Self::cuda_or_cpu()),
            ("cpu", "") => Ok(Self::cpu()),
            ("cuda", "") => Self::cuda(0),
            ("cuda", n) => Self::cuda(n.parse().map_err(|_| unknown())?),
            #[cfg(feature = "emulator")]
            ("emulator", of) => emulator_options::parse(of).map(Self::emulator_with).ok_or_else(unknown),
            #[cfg(not(feature = "emulator"))]
            ("emulator", _) => Err(Error::NoEmulator),
            _ => Err(unknown()),
        }
    }

    /// The emulated SM: runs the code that goes to the GPU, thread by thread in an order chosen by `seed`, and reports
    /// defects. Slow; for tests.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{BackendKind, Runtime};
    ///
    /// let rt = Runtime::emulator(7);
    /// assert_eq!((rt.kind(), rt.name()), (BackendKind::Emulator, "emulator:7".to_string()));
    /// ```
    #[cfg(feature = "emulator")]
    pub fn emulator(seed: u64) -> Runtime {
        Self::emulator_with(Options { seed, ..Default::default() })
    }

    /// As [`Runtime::emulator`], with a choice of the defects that are reported.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, kernel::emulator::Options};
    ///
    /// let rt = Runtime::emulator_with(Options { seed: 7, num_sms: 8, ..Options::default() });
    /// assert_eq!((rt.device().num_sms, rt.name()), (8, "emulator:7:8".to_string()));
    /// ```
    #[cfg(feature = "emulator")]
    pub fn emulator_with(options: Options) -> Runtime {
        let options = Options { num_sms: options.num_sms.clamp(1, u32::MAX as usize), ..options };
        Self::build(emulator_options::device(&options), Backend::Emulator(options))
    }

    /// The CUDA device with this ordinal, from 0 on, in its primary context. Errors: [`Error::NoCuda`],
    /// [`Error::NoDevice`], [`Error::DriverTooOld`], and the driver's.
    ///
    /// # Examples
    /// ```no_run
    /// let rt = tilewright::Runtime::cuda(0)?;
    /// println!("{}, {} multiprocessors", rt.device().name, rt.device().num_sms);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn cuda(ordinal: u32) -> Result<Runtime> {
        Cuda::primary(ordinal, &mut Vec::new()).map(|cuda| Self::build(cuda.info.clone(), Backend::Cuda(cuda)))
    }

    /// The context that is current on the calling thread, else the primary one of device 0. For functions that foreign
    /// code calls: the default stream is that context's. The same context gives the same runtime. Errors: as
    /// [`Runtime::cuda`].
    ///
    /// A call of this library puts the thread's current context back. On a thread that has none, the context of the
    /// call stays current, which spares later calls two calls of the driver each. This function then gives the runtime
    /// of the context that the thread has used last. Code that needs another device makes its context current first.
    ///
    /// # Examples
    /// ```no_run
    /// let rt = tilewright::Runtime::current()?; // that of torch, in a library that Python calls
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn current() -> Result<Runtime> {
        /// A context by address and id: addresses are used again.
        type Id = (usize, u64);
        static OF_CONTEXTS: PerDriver<Mutex<HashMap<Id, Runtime>>> = PerDriver::new();
        // Not kept alive here: it goes when its context does.
        thread_local!(static LAST: RefCell<Option<(usize, Id, Weak<Inner>)>> = const { RefCell::new(None) });
        const NO_CONTEXT: Id = (0, 0);
        let api = Api::get()?;
        let driver = core::ptr::from_ref(api) as usize;
        let id_of = |context: CUcontext| Context::id_of(api, context).map(|number| (context as usize, number));
        let is_alive = |rt: &Runtime| rt.cuda_context().is_some_and(|c| c.is_alive());
        let current = Context::current(api)?;
        let id = current.map_or(Ok(NO_CONTEXT), id_of)?;
        let last = LAST.with_borrow(|l| l.as_ref().filter(|l| (l.0, l.1) == (driver, id)).and_then(|l| l.2.upgrade()));
        // The number says it of a context that is current.
        if let Some(rt) = last.map(Runtime).filter(|rt| id != NO_CONTEXT || is_alive(rt)) {
            return Ok(rt);
        }
        // Dropped after the lock: the end of a runtime runs deleters of other libraries, which may call this function.
        let (mut dead, mut in_use) = (Vec::new(), Vec::new());
        let mut all = OF_CONTEXTS.of(api).lock().unwrap_or_else(|e| e.into_inner());
        dead.extend(all.extract_if(|_, rt| !is_alive(rt)));
        let rt = match (all.get(&id), current) {
            (Some(rt), _) => rt.clone(),
            (None, Some(context)) => {
                let cuda = Cuda::borrowed(api, context, &mut in_use)?;
                Self::build(cuda.info.clone(), Backend::Cuda(cuda))
            }
            (None, None) => {
                let cuda = Cuda::primary(0, &mut in_use)?;
                // It is the current one from the first launch on.
                let itself = id_of(cuda.raw.0)?;
                all.entry(itself).or_insert_with(|| Self::build(cuda.info.clone(), Backend::Cuda(cuda))).clone()
            }
        };
        all.insert(id, rt.clone());
        LAST.set(Some((driver, id, Arc::downgrade(&rt.0))));
        Ok(rt)
    }

    /// The CPU: programs run on all cores. A launch is done when it returns.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{BackendKind, Runtime};
    ///
    /// assert_eq!(Runtime::cpu().kind(), BackendKind::Cpu);
    /// ```
    pub fn cpu() -> Runtime {
        Self::build(Device::host("cpu"), Backend::Cpu)
    }

    pub(crate) fn build(device: Device, backend: Backend) -> Runtime {
        let stream = match &backend {
            Backend::Cuda(cuda) => Stream::default_of(cuda.clone()),
            _ => Stream::host(),
        };
        let tuner = Tuner::new(&device);
        let scratch_limit = ScratchLimit::from_env(device.memory);
        Runtime(Arc::new(Inner {
            device,
            backend,
            stream,
            tuner,
            plans: Plans::default(),
            scratch_limit,
            extensions: Extensions::default(),
        }))
    }

    /// The device and its limits.
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The name from which [`Runtime::from_name`] makes the same runtime, as in `cuda:0` or `emulator:7`.
    pub fn name(&self) -> String {
        match &self.0.backend {
            Backend::Cuda(cuda) => format!("cuda:{}", cuda.ordinal),
            Backend::Cpu => "cpu".into(),
            Backend::Emulator(options) => emulator_options::name(options),
        }
    }

    /// The kind of the backend.
    pub fn kind(&self) -> BackendKind {
        match self.0.backend {
            Backend::Cuda(_) => BackendKind::Cuda,
            Backend::Cpu => BackendKind::Cpu,
            Backend::Emulator(_) => BackendKind::Emulator,
        }
    }

    /// The default stream.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Event, Runtime};
    ///
    /// let (rt, before) = (Runtime::cpu(), Event::new(&Runtime::cpu())?);
    /// before.record(rt.stream())?;
    /// assert!(rt.stream().is_done()?);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    #[inline]
    pub fn stream(&self) -> &Stream {
        &self.0.stream
    }

    /// Waits for everything on the default stream. Errors: those of the work.
    pub fn synchronize(&self) -> Result<()> {
        self.stream().synchronize()
    }

    /// The mode of the autotuner: whether launches measure configurations.
    ///
    /// # Examples
    /// ```
    /// use tilewright::Runtime;
    /// use tilewright::tuning::Autotune;
    ///
    /// let rt = Runtime::cpu();
    /// rt.set_autotune(Autotune::Off);
    /// assert_eq!(rt.autotune(), Autotune::Off);
    /// ```
    pub fn autotune(&self) -> Autotune {
        self.0.tuner.mode()
    }

    /// Overrides `TILE_AUTOTUNE` for this runtime. Choices made before are made again.
    pub fn set_autotune(&self, mode: Autotune) {
        self.0.tuner.set_mode(mode);
        self.0.forget();
    }

    /// Bytes of scratch memory that an operation may take to be faster. Operations of libraries ask for it before they
    /// choose how they are carried out; launches do not.
    pub fn scratch_limit(&self) -> usize {
        self.0.scratch_limit.get()
    }

    /// Overrides `TILE_SCRATCH_MIB` for this runtime: plans of an operation whose copies take more bytes are not
    /// considered. Choices made before are made again.
    ///
    /// # Examples
    /// ```
    /// let rt = tilewright::Runtime::cpu();
    /// rt.set_scratch_limit(64 << 20);
    /// assert_eq!(rt.scratch_limit(), 64 << 20);
    /// ```
    pub fn set_scratch_limit(&self, bytes: usize) {
        self.0.scratch_limit.set(bytes);
        self.0.forget();
    }

    /// Overrides the folder of tuning results and fitted models; `None` keeps results in this process only.
    ///
    /// # Examples
    /// ```
    /// let rt = tilewright::Runtime::cpu();
    /// rt.set_cache_dir(None); // a test neither reads nor writes the user's results
    /// ```
    pub fn set_cache_dir(&self, dir: Option<PathBuf>) {
        self.0.tuner.set_dir(dir);
        self.0.extensions.for_each(|e| e.forget_files());
        self.0.forget();
    }

    /// The state of this type that a library keeps in this runtime, made by its default where it is not there yet.
    /// [`Extension`] has an example.
    pub fn extension<T: Extension + Default>(&self) -> &T {
        self.0.extensions.get()
    }

    /// The tuning results, on this device, of all kernels that this runtime has launched and of all operations that it
    /// has measured plans of: JSON, a file for `host/defaults`.
    ///
    /// # Examples
    /// ```
    /// let text = tilewright::Runtime::cpu().export_defaults();
    /// assert!(text.starts_with('{') && text.contains("\"kernels\""));
    /// ```
    pub fn export_defaults(&self) -> String {
        self.0.tuner.export().text()
    }

    /// The same, beside the results of a file that it has written on this device before; where both have one, it is
    /// this runtime's. Errors: [`Error::InvalidArgument`] for another file.
    ///
    /// # Examples
    /// ```
    /// let rt = tilewright::Runtime::cpu();
    /// let before = rt.export_defaults();
    /// assert_eq!(rt.export_defaults_beside(&before)?, before);
    /// assert!(rt.export_defaults_beside("{}").is_err());
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn export_defaults_beside(&self, file: &str) -> Result<String> {
        let all = self.0.tuner.export_beside(file);
        all.map(|d| d.text()).map_err(|why| Error::InvalidArgument { what: "shipped results", why })
    }

    /// The default folder of tuning results and other caches: `$TILE_CACHE_DIR`, else `tilewright` in
    /// `$XDG_CACHE_HOME` or `~/.cache`; `None` where none of these is set.
    ///
    /// # Examples
    /// ```
    /// if let Some(dir) = tilewright::Runtime::cache_dir() {
    ///     println!("tuning results are in {}", dir.display());
    /// }
    /// ```
    pub fn cache_dir() -> Option<PathBuf> {
        tilewright_cache_dir::user_dir()
    }

    #[inline]
    pub(crate) fn cuda_context(&self) -> Option<&Arc<Cuda>> {
        match &self.0.backend {
            Backend::Cuda(c) => Some(c),
            _ => None,
        }
    }

    pub(crate) fn unsupported(&self, what: &'static str, instead: &'static str) -> Error {
        Error::Unsupported { what, device: self.device().name.clone(), instead }
    }

    /// Whether the device can reach an address: always on the CPU.
    pub(crate) fn check_reachable(&self, addr: u64) -> Result<()> {
        const DEVICE_ORDINAL: i32 = 9;
        let Some(cuda) = self.cuda_context() else { return Ok(()) };
        let _entered = cuda.enter()?;
        let mut ordinal = 0i32;
        // SAFETY: a query; the driver looks the address up and does not follow it. The attribute is a 32-bit number.
        match unsafe { (cuda.api.pointer_get_attribute)((&raw mut ordinal).cast(), DEVICE_ORDINAL, addr) } {
            code::SUCCESS if ordinal as u32 == cuda.ordinal => Ok(()),
            code::SUCCESS => Err(Error::ExternalMemory {
                why: format!("it lives on CUDA device {ordinal}, not on {}", cuda.ordinal),
            }),
            code::INVALID_VALUE => Err(Error::ExternalMemory { why: "its address is not device memory".into() }),
            e => Err(cuda.api.error("asking where memory lives", e)),
        }
    }
}

impl Default for Runtime {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Runtime {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Runtime({})", self.device().name)
    }
}

/// The number of CUDA devices. Nothing is created. Errors: [`Error::NoCuda`] without a driver or a device,
/// [`Error::DriverTooOld`].
///
/// # Examples
/// ```
/// match tilewright::cuda_status() {
///     Ok(count) => assert!(count >= 1),
///     Err(e) => println!("{e}"),
/// }
/// ```
pub fn cuda_status() -> Result<u32> {
    let api = Api::get()?;
    match Context::count(api)? {
        0 => Err(Error::NoCuda { why: "the driver is there but shows no device".into() }),
        n => Ok(n),
    }
}

const _: () = {
    const fn shared<T: Send + Sync>() {}
    shared::<Runtime>();
    shared::<Stream>();
};
