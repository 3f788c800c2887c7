//! The runtime, the stream and the options of an operation's launches.

use super::samples::Samples;
use std::cell::RefCell;
use tilewright_core::{Call, ConfigDesc, KernelDesc};
use tilewright_runtime::tuning::Report;
use tilewright_runtime::{LaunchOptions, Pdl, Result, Runtime, Stream, private};

/// A kernel and one of its configurations.
///
/// # Examples
/// ```
/// use tilewright::ops::{ExecOptions, PinnedConfig};
/// use tilewright::{Runtime, ops, tile_kernel};
///
/// #[tile_kernel(tune(BLOCK = [64, 128], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
/// fn copy<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
///     let i = program_id(0) * BLOCK + arange(BLOCK);
///     store(y, i, load(x, i));
/// }
///
/// let pinned: PinnedConfig = (copy::DESCS[0], &copy::DESCS[0].configs[1]);
/// assert_eq!((pinned.0.name, pinned.1.id), ("copy", "BLOCK=128,warps=4"));
/// // An operation that launches this kernel takes this configuration of it.
/// let rt = Runtime::cpu();
/// let on = ExecOptions::new(&rt).pin(pinned);
/// ops::relu(&on, &[-1.0f32], &mut [9.0])?;
/// # Ok::<(), tilewright::Error>(())
/// ```
pub type PinnedConfig = (&'static KernelDesc, &'static ConfigDesc);

/// The kernels that were tuned, with the reports. [`ExecOptions`] has an example.
pub type TuningLog = RefCell<Vec<(&'static KernelDesc, Report)>>;

/// The target of launches: a [`Runtime`], on its default stream, or an [`ExecOptions`], which has an example.
///
/// # Safety
/// Operations size scratch memory of unchecked kernels by these functions: `runtime`, `stream` and `num_sms` give the
/// same each time, the stream is the runtime's, and `num_sms` is that of its device unless nothing is launched.
///
/// Safe code cannot claim so:
/// ```compile_fail,E0200
/// struct Few(tilewright_runtime::Runtime);
/// impl tilewright_ops::Executor for Few {
///     fn runtime(&self) -> &tilewright_runtime::Runtime { &self.0 }
///     fn num_sms(&self) -> usize { 1 }
/// }
/// ```
pub unsafe trait Executor {
    /// The runtime that launches.
    fn runtime(&self) -> &Runtime;

    /// The stream that launches go to.
    fn stream(&self) -> &Stream {
        self.runtime().stream()
    }

    /// The configuration to take for one of the kernels, instead of the tuner's.
    fn pin(&self) -> Option<PinnedConfig> {
        None
    }

    /// Multiprocessors of the device.
    fn num_sms(&self) -> usize {
        self.runtime().device().num_sms
    }

    /// The log that gets reports. With one, every kernel is tuned on its first launch here.
    fn tuned(&self) -> Option<&TuningLog> {
        None
    }

    /// The list that gets the times of plans. With one, an operation that has several plans runs all of them.
    fn samples(&self) -> Option<&Samples> {
        None
    }

    /// Whether operations load their code and get their scratch memory, and enqueue nothing.
    fn preparing(&self) -> bool {
        false
    }

    /// Whether results have equal bits in every launch, and however large the batch is.
    fn batch_invariant(&self) -> bool {
        false
    }

    /// Enqueues one call.
    fn launch(&self, call: Call<'_>) -> Result<()> {
        self.launch_as(call, LaunchOptions::new())
    }

    /// The same, where it may begin before the launch in front of it has ended.
    ///
    /// # Safety
    /// As of [`Pdl::allowed`].
    #[doc(hidden)]
    unsafe fn launch_pdl(&self, call: Call<'_>) -> Result<()> {
        // SAFETY: the caller's contract.
        let pdl = unsafe { Pdl::allowed() };
        self.launch_as(call, LaunchOptions::new().pdl(pdl))
    }

    /// The same, with all that can be said but the configuration, which is the pinned one.
    #[doc(hidden)]
    fn launch_as(&self, mut call: Call<'_>, options: LaunchOptions) -> Result<()> {
        let desc = call.desc();
        let pinned = self.pin().filter(|(k, _)| core::ptr::eq(*k, desc)).map(|(_, c)| c.id);
        let first = || if self.batch_invariant() { private::first_config(self.runtime(), &call) } else { None };
        let config = pinned.or(options.get_config()).or_else(first);
        let mut options = options.config(config);
        if self.preparing() {
            return self.runtime().load(self.stream(), &call, &options);
        }
        if let Some(tuned) = self.tuned()
            && config.is_none()
            && !tuned.borrow().iter().any(|(k, _)| core::ptr::eq(*k, desc))
        {
            let report = self.runtime().tune(self.stream(), call.reborrow())?;
            tuned.borrow_mut().push((desc, report));
            options = options.pdl(Pdl::default());
        }
        self.runtime().launch_with(self.stream(), call, &options)
    }
}

// SAFETY: all of it is the runtime's own.
unsafe impl Executor for Runtime {
    fn runtime(&self) -> &Runtime {
        self
    }
}

/// A runtime and options: a stream, a pinned configuration, measurements.
///
/// # Examples
/// ```
/// use std::cell::RefCell;
/// use tilewright::ops::{ExecOptions, Matmul, Samples, TuningLog};
/// use tilewright::{Buffer, Runtime, Stream, ops};
///
/// let rt = Runtime::cpu();
/// rt.set_cache_dir(None);
/// let stream = Stream::new(&rt)?;
/// let x = Buffer::from_slice(&rt, &[1.0f32, -2.0])?;
/// let mut y = Buffer::<f32>::zeros(&rt, 2)?;
/// let on = ExecOptions::new(&rt).stream(&stream);
///
/// // Prepared: arguments are checked and code is loaded, and nothing is enqueued.
/// ops::relu(&on.preparing(true), &x, &mut y)?;
/// assert_eq!(y.to_vec_on(&stream)?, [0.0, 0.0]);
///
/// // Tuned: each kernel's configurations are measured on its first launch.
/// let log = TuningLog::default();
/// ops::relu(&on.tuning(&log), &x, &mut y)?;
/// assert_eq!((y.to_vec_on(&stream)?, log.borrow()[0].0.name), (vec![1.0, 0.0], "relu"));
///
/// // Sampled: every plan of a product is run and timed.
/// let samples: Samples = RefCell::default();
/// Matmul::new(x.view([1, 2])?, x.view([2, 1])?, y.slice_mut(..1)?.view([1, 1])?).launch(&on.sampling(&samples))?;
/// assert!(y.to_vec_on(&stream)?[0] == 5.0 && samples.borrow().iter().all(|s| s.op == "matmul"));
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
#[must_use = "options have no effect until an operation takes them"]
pub struct ExecOptions<'a> {
    rt: &'a Runtime,
    stream: &'a Stream,
    pin: Option<PinnedConfig>,
    tuned: Option<&'a TuningLog>,
    samples: Option<&'a Samples>,
    preparing: bool,
    batch_invariant: bool,
}

impl<'a> ExecOptions<'a> {
    /// Options with the runtime's default stream and no pinned configuration.
    ///
    /// # Examples
    /// ```
    /// use tilewright::ops::ExecOptions;
    /// use tilewright::{Runtime, ops};
    ///
    /// let (rt, mut y) = (Runtime::cpu(), [9.0f32]);
    /// ops::relu(&ExecOptions::new(&rt), &[-1.0f32], &mut y)?;
    /// assert_eq!(y, [0.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn new(rt: &'a Runtime) -> Self {
        ExecOptions {
            rt,
            stream: rt.stream(),
            pin: None,
            tuned: None,
            samples: None,
            preparing: false,
            batch_invariant: false,
        }
    }

    /// Launches go to this stream of the runtime.
    ///
    /// # Examples
    /// ```
    /// use tilewright::ops::ExecOptions;
    /// use tilewright::{Buffer, Runtime, Stream, ops};
    ///
    /// let rt = Runtime::cpu();
    /// let (stream, x) = (Stream::new(&rt)?, Buffer::from_slice(&rt, &[-1.0f32, 2.0])?);
    /// let mut y = Buffer::<f32>::zeros(&rt, 2)?;
    /// ops::relu(&ExecOptions::new(&rt).stream(&stream), &x, &mut y)?;
    /// assert_eq!(y.to_vec_on(&stream)?, [0.0, 2.0]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn stream(self, stream: &'a Stream) -> Self {
        ExecOptions { stream, ..self }
    }

    /// Takes this configuration wherever the operation launches this kernel; an operation that has several kernels for
    /// one job takes this one. With `None` nothing is pinned. [`PinnedConfig`] has an example.
    pub fn pin(self, pin: impl Into<Option<PinnedConfig>>) -> Self {
        ExecOptions { pin: pin.into(), ..self }
    }

    /// Measures the configurations of every kernel that is launched, once for each, and keeps the reports.
    /// [`ExecOptions`] has an example.
    pub fn tuning(self, reports: &'a TuningLog) -> Self {
        ExecOptions { tuned: Some(reports), ..self }
    }

    /// Runs all plans of an operation that has several, several times each, and keeps their times, which do not affect
    /// later plans. An output that the operation also reads, as C with a `beta`, is read and written by each run.
    /// [`ExecOptions`] has an example.
    pub fn sampling(self, samples: &'a Samples) -> Self {
        ExecOptions { samples: Some(samples), ..self }
    }

    /// With `true` operations are prepared: arguments are checked, code is loaded, scratch memory is allocated on the
    /// stream, and nothing is enqueued or measured. Outputs are not written. An operation that was prepared loads
    /// nothing in a capture of the same arguments.
    ///
    /// # Examples
    /// ```
    /// use tilewright::ops::ExecOptions;
    /// use tilewright::{Runtime, ops};
    ///
    /// let (rt, mut y) = (Runtime::cpu(), [9.0f32]);
    /// ops::relu(&ExecOptions::new(&rt).preparing(true), &[-1.0f32], &mut y)?;
    /// assert_eq!(y, [9.0]); // nothing has run
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn preparing(self, on: bool) -> Self {
        ExecOptions { preparing: on, ..self }
    }

    /// With `true` results have equal bits in every launch, and however large the batch is: a row of a product or of a
    /// softmax, a matrix of [`batched_matmul`](super::batched_matmul()), a query or a head of
    /// [`Attention`](super::Attention) does not depend on how many others there are.
    ///
    /// Plans are predicted for one size of the batch. Nothing is measured, and programs do not share sums, so that
    /// small batches take longer. Strides and the alignment of addresses must stay the same.
    ///
    /// # Examples
    /// ```
    /// use tilewright::ops::{ExecOptions, Matmul};
    /// use tilewright::{Buffer, Runtime};
    ///
    /// let rt = Runtime::new();
    /// let on = ExecOptions::new(&rt).batch_invariant(true);
    /// let a = Buffer::from_slice(&rt, &[0.1f32; 64 * 300])?;
    /// let b = Buffer::from_slice(&rt, &[0.3f32; 300 * 8])?;
    /// let (mut one, mut all) = (Buffer::<f32>::zeros(&rt, 8)?, Buffer::<f32>::zeros(&rt, 64 * 8)?);
    /// Matmul::new(a.slice(..300)?.view([1, 300])?, b.view([300, 8])?, one.view_mut([1, 8])?).launch(&on)?;
    /// Matmul::new(a.view([64, 300])?, b.view([300, 8])?, all.view_mut([64, 8])?).launch(&on)?;
    /// assert_eq!(one.to_vec()?, all.to_vec()?[..8]);
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn batch_invariant(self, on: bool) -> Self {
        ExecOptions { batch_invariant: on, ..self }
    }
}

// SAFETY: all of it is the runtime's own, or a stream that every launch compares with the runtime.
unsafe impl Executor for ExecOptions<'_> {
    fn runtime(&self) -> &Runtime {
        self.rt
    }

    fn stream(&self) -> &Stream {
        self.stream
    }

    fn pin(&self) -> Option<PinnedConfig> {
        self.pin
    }

    fn tuned(&self) -> Option<&TuningLog> {
        self.tuned
    }

    fn samples(&self) -> Option<&Samples> {
        self.samples
    }

    fn preparing(&self) -> bool {
        self.preparing
    }

    fn batch_invariant(&self) -> bool {
        self.batch_invariant
    }
}

/// A configuration that loads its operands with TMA, among the configurations that the emulator has.
#[cfg(test)]
pub(super) fn emulated_with_maps(desc: &'static KernelDesc) -> PinnedConfig {
    let config = desc.configs.iter().find(|c| c.variants.iter().any(|v| v.emulated.is_some() && !v.maps.is_empty()));
    (desc, config.expect("one is emulated"))
}
