//! Launching: check, find the plan, enqueue.

use crate::check;
use crate::cuda::Cuda;
use crate::cuda::api::code;
use crate::cuda::sys::{CUlaunchAttribute, CUlaunchAttributeID, CUlaunchAttributeValue, CUlaunchConfig};
use crate::cuda::tensor_map::{self, TensorMap};
use crate::emulate;
use crate::error::{Error, Result};
use crate::failures::Failures;
use crate::launch_options::LaunchOptions;
use crate::plan::{Function, Plan, PlanKey};
use crate::runtime::{Backend, Runtime};
use crate::stream::{CudaStream, Stream};
use crate::traced_launch::Traced;
use crate::tuner::key;
use core::ffi::c_void;
use smallvec::SmallVec;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use tilewright_core::{Call, ConfigDesc, DeviceId, INLINE_ARGUMENT_WORDS, KernelDesc, MAX_TENSOR_MAPS, cpu};

/// A call that was checked once and can be run many times, of [`Runtime::prepare`].
///
/// # Examples
/// ```
/// use tilewright::{Buffer, Runtime, tile_kernel};
///
/// #[tile_kernel(tune(BLOCK = [64], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
/// fn add_one<const BLOCK: usize>(y: &mut [f32]) {
///     let i = program_id(0) * BLOCK + arange(BLOCK);
///     store(y, i, load(y, i) + 1.0);
/// }
///
/// let rt = Runtime::cpu();
/// let mut y = Buffer::<f32>::zeros(&rt, 200)?;
/// let mut launcher = rt.prepare(add_one(&mut y))?;
/// assert_eq!((launcher.config(), launcher.grid()), (Some("BLOCK=64,warps=4"), [4, 1, 1]));
/// for _ in 0..3 {
///     launcher.run()?;
/// }
/// drop(launcher); // it borrows `y`
/// assert_eq!(y.to_vec()?, [3.0; 200]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[must_use = "a launcher does nothing until it is run"]
pub struct Launcher<'a> {
    rt: Runtime,
    stream: Stream,
    call: Call<'a>,
    /// `None` where there is nothing to do.
    ready: Option<Ready>,
}

/// All that a launch needs.
pub(crate) struct Ready {
    plan: Arc<Plan>,
    variant: usize,
    grid: [u64; 3],
    pdl: bool,
    /// On the GPU.
    function: Option<Function>,
    /// Those of the function, for these arguments.
    maps: Box<[TensorMap]>,
}

impl Runtime {
    /// Checks a call and puts it on the default stream: [`Runtime::launch_with`] with the default options.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Runtime, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn add_one(y: &mut [f32]) {
    ///     store(y, arange(2), load(y, arange(2)) + 1.0);
    /// }
    ///
    /// let mut y = [1.0f32, 2.0]; // the memory of the CPU
    /// Runtime::cpu().launch(add_one(&mut y))?;
    /// assert_eq!(y, [2.0, 3.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    #[inline]
    pub fn launch(&self, call: Call<'_>) -> Result<()> {
        self.launch_with(self.stream(), call, &LaunchOptions::default())
    }

    /// Checks a call and puts it on a stream: [`Runtime::launch_with`] with the default options.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Runtime, Stream, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn add_one(y: &mut [f32]) {
    ///     store(y, arange(2), load(y, arange(2)) + 1.0);
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// let (stream, mut y) = (Stream::new(&rt)?, Buffer::<f32>::zeros(&rt, 2)?);
    /// rt.launch_on(&stream, add_one(&mut y))?;
    /// assert_eq!(y.to_vec_on(&stream)?, [1.0, 1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    #[inline]
    pub fn launch_on(&self, stream: &Stream, call: Call<'_>) -> Result<()> {
        self.launch_with(stream, call, &LaunchOptions::default())
    }

    /// Checks a call and puts it on a stream; on the GPU it may still run when this returns, elsewhere it is done. The
    /// first launch of a kernel loads its code, and may tune it ([`Autotune`](crate::tuning::Autotune)). An empty grid
    /// of a configuration that takes the arguments is a success that launches nothing. [`LaunchOptions`] has an
    /// example.
    ///
    /// Errors, all before anything is enqueued: [`Error::Arguments`], [`Error::DeviceMismatch`],
    /// [`Error::StreamOfArgument`], [`Error::StreamMismatch`], [`Error::Alias`], [`Error::Misaligned`],
    /// [`Error::NullPointer`], [`Error::GridTooLarge`], [`Error::UnknownConfig`], [`Error::MissingBundle`],
    /// [`Error::NoTarget`], [`Error::BadBundle`], [`Error::CannotLaunch`]; [`Error::Unsupported`] for scratch memory of
    /// another stream that this one cannot wait for, because either is captured, and for that of a capture outside of
    /// it. Off the GPU also [`Error::Assert`] and [`Error::OutOfMemory`], after which outputs may be partly written.
    pub fn launch_with(&self, stream: &Stream, call: Call<'_>, options: &LaunchOptions) -> Result<()> {
        self.launch_checked(stream, &call, options).inspect_err(|_| self.launch_failed(stream, &call))
    }

    #[inline]
    fn launch_checked(&self, stream: &Stream, call: &Call<'_>, options: &LaunchOptions) -> Result<()> {
        check::call(self.0.device.id, stream.as_raw() as u64, call)?;
        match &self.0.backend {
            Backend::Cuda(cuda) => {
                let s = cuda_stream(cuda, stream)?;
                let _entered = cuda.enter()?;
                let _borrowed = stream.borrow_scratch(call.buffers())?;
                match self.ready(stream, call, options, true)? {
                    Some(ready) => ready.enqueue(cuda, s, call, &self.0.device.name),
                    None => Ok(()),
                }
            }
            _ => match self.ready(stream, call, options, true)? {
                Some(ready) => self.run_here(stream, call, ready.plan.config, ready.variant, ready.grid),
                None => Ok(()),
            },
        }
    }

    /// To be called once for a launch that has failed.
    #[cold]
    fn launch_failed(&self, stream: &Stream, call: &Call) {
        let own = self.cuda_context().map_or(Failures::on_host(), |cuda| &cuda.failures);
        own.add(stream.failures(), call.buffers());
    }

    /// Checks a call once, for the default stream: [`Runtime::prepare_with`] with the default options.
    pub fn prepare<'a>(&self, call: Call<'a>) -> Result<Launcher<'a>> {
        self.prepare_with(self.stream(), call, &LaunchOptions::default())
    }

    /// Does all of a launch but the launch: checks, loads and tunes. [`Launcher::run`] then costs little more than the
    /// driver's own launch. Errors: as [`Runtime::launch_with`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{LaunchOptions, Runtime, tile_kernel};
    ///
    /// #[tile_kernel(tune(BLOCK = [64, 128], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
    /// fn ones<const BLOCK: usize>(y: &mut [f32]) {
    ///     store(y, program_id(0) * BLOCK + arange(BLOCK), 1.0);
    /// }
    ///
    /// let (rt, mut y) = (Runtime::cpu(), [0.0f32; 100]);
    /// let options = LaunchOptions::new().config("BLOCK=128,warps=4");
    /// rt.prepare_with(rt.stream(), ones(&mut y), &options)?.run()?;
    /// assert_eq!(y, [1.0; 100]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn prepare_with<'a>(&self, stream: &Stream, call: Call<'a>, options: &LaunchOptions) -> Result<Launcher<'a>> {
        check::call(self.0.device.id, stream.as_raw() as u64, &call)?;
        let _here = match &self.0.backend {
            Backend::Cuda(cuda) => {
                cuda_stream(cuda, stream)?;
                Some((cuda.enter()?, stream.borrow_scratch(call.buffers())?))
            }
            _ => None,
        };
        let ready = self.ready(stream, &call, options, true)?.map(|ready| Ready { pdl: options.pdl.0, ..ready });
        Ok(Launcher { rt: self.clone(), stream: stream.clone(), call, ready })
    }

    /// Checks a call and loads its code, so that a capture of the same launch finds it loaded. Nothing is enqueued or
    /// measured: for an operation that is prepared.
    ///
    /// Errors: as [`Runtime::launch_with`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::{LaunchOptions, Runtime, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn one(y: &mut [f32]) {
    ///     store(y, 0, 1.0);
    /// }
    ///
    /// let (rt, mut y) = (Runtime::cpu(), [0.0f32]);
    /// rt.load(rt.stream(), &one(&mut y), &LaunchOptions::default())?;
    /// assert_eq!(y, [0.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn load(&self, stream: &Stream, call: &Call<'_>, options: &LaunchOptions) -> Result<()> {
        check::call(self.0.device.id, stream.as_raw() as u64, call)?;
        let _entered = match &self.0.backend {
            Backend::Cuda(cuda) => {
                cuda_stream(cuda, stream)?;
                Some(cuda.enter()?)
            }
            _ => None,
        };
        self.ready(stream, call, options, false).map(drop)
    }

    /// The plan for a checked call, made if need be, by measuring where that is allowed; `None` where there is nothing
    /// to do. On the GPU the context must be current.
    fn ready(&self, stream: &Stream, call: &Call, options: &LaunchOptions, measure: bool) -> Result<Option<Ready>> {
        let (desc, words) = (call.desc(), call.words());
        if desc.configs.is_empty() {
            return Err(Error::UnknownConfig {
                kernel: desc.name.into(),
                id: "any".into(),
                known: "none: the kernel has no configuration".into(),
            });
        }
        let forced = match options.config {
            Some(id) => Some(config_index(desc, id)?),
            None => None,
        };
        let key = PlanKey {
            desc: core::ptr::from_ref(desc) as usize,
            forced: forced.map_or(0, |i| i as u32 + 1),
            kind: self.0.kind(desc, words),
            buckets: key::buckets(desc, words),
        };
        let known = self.0.plans.get(&key);
        // Else the tuner may have been on the stream just now.
        let pdl = options.pdl.0 && known.is_some();
        let mut plan = match known {
            Some(plan) => plan,
            // Nothing to do: not worth loading code or tuning.
            None if self.has_no_program(desc, forced, words) => return Ok(None),
            None => {
                let (config, lasting) = self.select(stream, call, &key, forced, measure)?;
                let plan = Arc::new(Plan::new(&desc.configs[config]));
                if lasting { self.0.plans.insert(key.clone(), plan) } else { plan }
            }
        };
        let (variant, grid) = match self.taken(desc, plan.config, words) {
            Ok(taken) => taken,
            Err(e) => {
                plan = self.stand_in(call, &key, e)?;
                self.taken(desc, plan.config, words)?
            }
        };
        if !check::grid(desc, grid)? {
            return Ok(None);
        }
        self.with_code(call, plan, variant, grid).map(|ready| Some(Ready { pdl, ..ready }))
    }

    /// Whether the configurations that take these arguments have no program for them: each that may run, or the one
    /// that is named.
    fn has_no_program(&self, desc: &'static KernelDesc, named: Option<usize>, words: &[u64]) -> bool {
        let (ctx, configs) = (self.0.grid_ctx(words), named.map_or(desc.configs, |i| &desc.configs[i..=i]));
        let mut takes = configs.iter().filter(|c| self.0.may_run(c) && c.satisfied_by(&ctx)).peekable();
        takes.peek().is_some() && takes.all(|c| self.grid(c, words).contains(&0))
    }

    /// The variant and the grid of a configuration that takes these arguments; else why it does not.
    #[inline]
    fn taken(&self, desc: &KernelDesc, config: &'static ConfigDesc, words: &[u64]) -> Result<(usize, [u64; 3])> {
        let variant = self.0.variant(config, words).ok_or_else(|| self.refusal(desc, config, words))?;
        let grid = self.grid(config, words);
        self.check_grid(config, grid, desc).map(|()| (variant, grid))
    }

    /// Why a configuration has no variant for these arguments, and on the emulated SM which other one has.
    #[cold]
    fn refusal(&self, desc: &KernelDesc, config: &'static ConfigDesc, words: &[u64]) -> Error {
        let mut why = self.0.refusal(desc, config, words);
        if let Error::NotEmulated { emulated, .. } = &mut why {
            let takes = |c: &&'static ConfigDesc| {
                self.0.variant(c, words).is_some() && self.check_grid(c, self.grid(c, words), desc).is_ok()
            };
            *emulated = desc.configs.iter().find(takes).map(|c| c.id);
        }
        why
    }

    /// That this backend takes a grid.
    #[inline]
    pub(crate) fn check_grid(&self, config: &'static ConfigDesc, grid: [u64; 3], desc: &KernelDesc) -> Result<()> {
        check::grid(desc, grid)?;
        match &self.0.backend {
            Backend::Emulator(options) => emulate::check_grid(desc, config, grid, options),
            _ => Ok(()),
        }
    }

    /// The plan for a call that a known plan's configuration does not take, although it takes others of that key.
    #[cold]
    fn stand_in(&self, call: &Call, key: &PlanKey, why: Error) -> Result<Arc<Plan>> {
        let (desc, words) = (call.desc(), call.words());
        let takes = |c: &'static ConfigDesc| self.taken(desc, c, words).is_ok();
        let first =
            desc.configs.iter().position(takes).filter(|_| !(1..=desc.configs.len() as u32).contains(&key.forced));
        let first = first.ok_or(why)?;
        let key = PlanKey { forced: u32::MAX - first as u32, ..key.clone() };
        match self.0.plans.get(&key) {
            Some(plan) => Ok(plan),
            None => {
                let fits = self.one_that_fits(call, first)?;
                let plan = Arc::new(Plan::new(&desc.configs[fits]));
                Ok(if fits == first { self.0.plans.insert(key, plan) } else { plan })
            }
        }
    }

    /// Loads the code and encodes its tensor maps. On the GPU the context must be current.
    #[inline]
    fn with_code(&self, call: &Call, plan: Arc<Plan>, variant: usize, grid: [u64; 3]) -> Result<Ready> {
        let Backend::Cuda(cuda) = &self.0.backend else {
            return Ok(Ready { plan, variant, grid, pdl: false, function: None, maps: Box::default() });
        };
        let function = plan.function(cuda, &self.0.device, call.desc(), variant)?;
        // Of thread blocks, too, there are no more than that.
        check::grid(call.desc(), [grid[0].saturating_mul(u64::from(function.ctas)), grid[1], grid[2]])?;
        let maps = tensor_map::encode(cuda, call.desc(), plan.config, function.maps, call.words())?;
        Ok(Ready { plan, variant, grid, pdl: false, function: Some(function), maps })
    }

    #[inline]
    pub(crate) fn grid(&self, config: &ConfigDesc, words: &[u64]) -> [u64; 3] {
        (config.grid)(&self.0.grid_ctx(words))
    }

    /// Whether a configuration can run these arguments; loads its code.
    pub(crate) fn can_run(&self, call: &Call, config: &'static ConfigDesc) -> Result<()> {
        let (variant, grid) = self.taken(call.desc(), config, call.words())?;
        self.with_code(call, Arc::new(Plan::new(config)), variant, grid).map(|_| ())
    }

    /// Launches a configuration as it is. On the GPU the context must be current.
    pub(crate) fn launch_config(&self, stream: &Stream, call: &Call, plan: &Arc<Plan>) -> Result<()> {
        self.launch_planned(stream, call, plan).inspect_err(|_| self.launch_failed(stream, call))
    }

    fn launch_planned(&self, stream: &Stream, call: &Call, plan: &Arc<Plan>) -> Result<()> {
        let (variant, grid) = self.taken(call.desc(), plan.config, call.words())?;
        if !check::grid(call.desc(), grid)? {
            return Ok(());
        }
        match &self.0.backend {
            Backend::Cuda(cuda) => {
                let ready = self.with_code(call, plan.clone(), variant, grid)?;
                ready.enqueue(cuda, cuda_stream(cuda, stream)?, call, &self.0.device.name)
            }
            _ => self.run_here(stream, call, plan.config, variant, grid),
        }
    }

    /// Runs on the CPU or the emulated SM.
    fn run_here(
        &self,
        stream: &Stream,
        call: &Call,
        config: &'static ConfigDesc,
        variant: usize,
        grid: [u64; 3],
    ) -> Result<()> {
        let (kernel, file) = (call.desc().name, call.desc().file);
        let run = || match &self.0.backend {
            Backend::Emulator(options) => {
                emulate::launch(stream, call, config, &config.variants[variant], grid, options)
            }
            _ if !cpu::is_supported() => Err(Error::OldProcessor { kernel }),
            _ => {
                // SAFETY: the argument words are those of this kernel, by `Call`, and the memory of its arguments was
                // checked to be here: the call borrows it, or is of an `unsafe fn` whose caller vouches for it.
                unsafe { cpu::launch(config.cpu, grid, call.words()) };
                Ok(())
            }
        };
        // A failed device_assert unwinds, and a program whose tiles do not fit into memory panics.
        catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|panic| {
            if let Some(cpu::OutOfMemory { bytes }) = panic.downcast_ref() {
                return Err(Error::OutOfMemory { device: DeviceId::Host, bytes: *bytes, free: None });
            }
            let failed = panic.downcast_ref::<cpu::Assertion>().map(|a| format!("{file}, {a}"));
            let text = failed.or_else(|| panic.downcast_ref::<String>().cloned());
            let message = text.or_else(|| panic.downcast_ref::<&str>().map(|s| s.to_string()));
            Err(Error::Assert { kernel, message: message.unwrap_or_else(|| "it panicked".into()) })
        })
    }
}

impl Ready {
    /// The launch itself. The context must be current.
    #[inline]
    fn enqueue(&self, cuda: &Cuda, stream: &CudaStream, call: &Call, device: &str) -> Result<()> {
        let Some(f) = self.function else { return Err(Error::StreamMismatch { what: "stream" }) };
        cuda.takes_work("launching on the default stream", stream.raw.0)?;
        stream.behind_allocations()?;
        let words = call.words().iter().map(|s| core::ptr::from_ref(s).cast_mut().cast());
        let maps = self.maps.iter().map(|m| core::ptr::from_ref(m).cast_mut().cast());
        let mut params: SmallVec<[*mut c_void; INLINE_ARGUMENT_WORDS + MAX_TENSOR_MAPS]> = words.chain(maps).collect();
        let [x, y, z] = self.grid.map(|g| g as u32);
        let x = x * f.ctas;
        let traced = f.trace.map_or(Ok(None), |array| Traced::begin(cuda, stream.raw.0, array))?;
        let before = stream.before_work();
        // SAFETY: by `KernelDesc::new` the entry's parameters are the argument words and the maps, which live until the
        // call returns. The memory they name is borrowed by the call, or vouched for by its caller; a drop of a buffer
        // waits for the stream.
        let code = unsafe {
            match self.pdl && f.pdl {
                false => (cuda.api.launch_kernel)(
                    f.raw.0,
                    x,
                    y,
                    z,
                    f.threads,
                    1,
                    1,
                    f.shared_bytes,
                    stream.raw.0,
                    params.as_mut_ptr(),
                    core::ptr::null_mut(),
                ),
                true => launch_pdl(cuda, &f, [x, y, z], stream, &mut params),
            }
        };
        if code != code::SUCCESS {
            return Err(launch_error(cuda, call.desc(), self.plan.config, device, code));
        }
        stream.enqueued(before, call.buffers().iter().map(|b| b.start));
        match traced {
            Some(traced) => traced.end(stream, call.desc().name, self.plan.config.id, [x, y, z]),
            None => Ok(()),
        }
    }
}

/// The launch itself, of a program that waits for the one before where it must.
///
/// # Safety
/// As of `cuLaunchKernel`.
unsafe fn launch_pdl(
    cuda: &Cuda,
    f: &Function,
    [x, y, z]: [u32; 3],
    stream: &CudaStream,
    params: &mut [*mut c_void],
) -> u32 {
    let mut allowed = CUlaunchAttribute {
        id: CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        pad: [0; 4],
        value: CUlaunchAttributeValue { programmaticStreamSerializationAllowed: 1 },
    };
    let config = CUlaunchConfig {
        gridDimX: x,
        gridDimY: y,
        gridDimZ: z,
        blockDimX: f.threads,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: f.shared_bytes,
        hStream: stream.raw.0,
        attrs: &mut allowed,
        numAttrs: 1,
    };
    // SAFETY: the caller's contract; the configuration and its one attribute live until the call returns.
    unsafe { (cuda.api.launch_kernel_ex)(&config, f.raw.0, params.as_mut_ptr(), core::ptr::null_mut()) }
}

#[cold]
fn launch_error(cuda: &Cuda, desc: &KernelDesc, config: &'static ConfigDesc, device: &str, e: u32) -> Error {
    match e {
        code::INVALID_VALUE | code::LAUNCH_OUT_OF_RESOURCES => Error::CannotLaunch {
            kernel: desc.name,
            config: config.id,
            device: device.into(),
            why: format!("the driver refuses the launch with {}", cuda.api.name(e)),
        },
        _ => cuda.api.error(&format!("launching {} ({})", desc.name, config.id), e),
    }
}

#[inline]
fn cuda_stream<'s>(cuda: &Arc<Cuda>, stream: &'s Stream) -> Result<&'s CudaStream> {
    stream.as_cuda().filter(|s| Arc::ptr_eq(&s.cuda, cuda)).ok_or(Error::StreamMismatch { what: "stream" })
}

/// The index of a configuration by its id.
pub(crate) fn config_index(desc: &KernelDesc, id: &str) -> Result<usize> {
    // Plans name configurations by the descriptors' own texts.
    let same = |c: &ConfigDesc| core::ptr::eq(c.id, id);
    let found = desc.configs.iter().position(same).or_else(|| desc.configs.iter().position(|c| c.id == id));
    found.ok_or_else(|| Error::UnknownConfig {
        kernel: desc.name.into(),
        id: id.into(),
        known: desc.configs.iter().map(|c| c.id).collect::<Vec<_>>().join("; "),
    })
}

impl Launcher<'_> {
    /// Puts the call on its stream once more. Errors: the driver's; off the GPU also [`Error::Assert`].
    #[inline]
    pub fn run(&mut self) -> Result<()> {
        let Some(ready) = &self.ready else { return Ok(()) };
        let run = || match (&self.rt.0.backend, self.stream.as_cuda()) {
            (Backend::Cuda(cuda), Some(s)) => {
                let _entered = cuda.enter()?;
                let _borrowed = self.stream.borrow_scratch(self.call.buffers())?;
                ready.enqueue(cuda, s, &self.call, &self.rt.0.device.name)
            }
            _ => self.rt.run_here(&self.stream, &self.call, ready.plan.config, ready.variant, ready.grid),
        };
        run().inspect_err(|_| self.rt.launch_failed(&self.stream, &self.call))
    }

    /// The id of the chosen configuration; `None` where there is nothing to do.
    pub fn config(&self) -> Option<&'static str> {
        self.ready.as_ref().map(|r| r.plan.config.id)
    }

    /// Programs along x, y, z; zero where there is nothing to do.
    pub fn grid(&self) -> [usize; 3] {
        self.ready.as_ref().map_or([0; 3], |r| r.grid.map(|n| n as usize))
    }

    /// The stream that it was prepared for.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Ends the borrow of the arguments, so that a launcher can be kept beside its buffers.
    ///
    /// # Safety
    /// Whenever it is run, the arguments are alive, nobody else uses an output, and nobody writes an input.
    ///
    /// # Examples
    /// ```
    /// use tilewright::{Buffer, Launcher, Runtime, tile_kernel};
    ///
    /// #[tile_kernel(grid = [1])]
    /// fn add_one(y: &mut [f32]) {
    ///     store(y, arange(2), load(y, arange(2)) + 1.0);
    /// }
    ///
    /// struct Layer {
    ///     step: Launcher<'static>,
    ///     y: Buffer<f32>,
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// let mut y = Buffer::<f32>::zeros(&rt, 2)?;
    /// // SAFETY: `Layer` keeps the buffer, which is used between runs alone.
    /// let step = unsafe { rt.prepare(add_one(&mut y))?.detach() };
    /// let mut layer = Layer { step, y };
    /// layer.step.run()?;
    /// assert_eq!(layer.y.to_vec()?, [1.0, 1.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub unsafe fn detach(self) -> Launcher<'static> {
        // SAFETY: only the lifetime changes.
        unsafe { core::mem::transmute::<Launcher<'_>, Launcher<'static>>(self) }
    }
}
