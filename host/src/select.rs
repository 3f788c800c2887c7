//! Which configuration a launch takes: the caller's, a known result, or one that is measured now.

use crate::check::{self, NotPutBack};
use crate::error::{Error, Result};
use crate::launch::config_index;
use crate::plan::{Plan, PlanKey};
use crate::runtime::{BackendKind, Runtime};
use crate::stream::Stream;
use crate::tuner::file::{File, Version};
use crate::tuner::key::{self, Buckets, Kind};
use crate::tuner::measure::{Measure, Output};
use crate::tuner::{Autotune, Report, Source, search};
use crate::workload::{self, RecordedCall};
use core::marker::PhantomData;
use std::cell::Cell;
use std::sync::{Arc, MutexGuard};
use std::time::Duration;
use tilewright_core::{Call, ConfigDesc, ParamKind, cpu};

thread_local!(static MEASURING: Cell<bool> = const { Cell::new(false) });

/// The key of results for a call of this kind.
fn file_of(call: &Call, buckets: &Buckets, kind: Kind) -> File {
    let desc = call.desc();
    File {
        label: key::kernel_label(desc.name, desc.types),
        version: Version::of_kernel(desc),
        signature: key::signature(desc, buckets, kind),
    }
}

impl Runtime {
    /// The configuration for a call without a plan, and whether the choice holds for later calls; without
    /// `measure` nothing is tuned. On the GPU the context must be current.
    pub(crate) fn select(
        &self,
        stream: &Stream,
        call: &Call,
        key: &PlanKey,
        forced: Option<usize>,
        measure: bool,
    ) -> Result<(usize, bool)> {
        let desc = call.desc();
        if let Some(i) = forced {
            return Ok((i, true));
        }
        if desc.deterministic {
            let i = self.0.first_that_takes(desc, call.words());
            if self.kind() != BackendKind::Emulator {
                self.can_run(call, &desc.configs[i])?;
            }
            // Other sizes of the same key may satisfy other conditions.
            return Ok((i, self.0.choices(desc) == 1));
        }
        if self.kind() == BackendKind::Emulator {
            // The first that was built for it and whose grid it takes. Where there is none, a configuration with such a
            // grid says that it was not built: the grid of another one is not what is wrong.
            let built = |c: &&'static ConfigDesc| self.0.variant(c, call.words()).is_some();
            let takes = |c: &&'static ConfigDesc| {
                !c.is_for_cpu() && self.check_grid(c, self.grid(c, call.words()), desc).is_ok()
            };
            let find = |of: &dyn Fn(&&'static ConfigDesc) -> bool| desc.configs.iter().position(|c| of(&c));
            let chosen = find(&|c| built(c) && takes(c)).or_else(|| find(&takes)).or_else(|| find(&built));
            return Ok((chosen.unwrap_or(0), true));
        }
        let file = file_of(call, &key.buckets, key.kind);
        if self.0.choices(desc) > 1 {
            workload::record(|| RecordedCall::of_launch(call));
        }
        let mut lasting = true;
        let (config, source) = if let Some(known) = self.look_up(call, &file) {
            known
        } else if self.would_tune() && self.0.choices(desc) > 1 && self.is_put_back(call, &file) {
            if stream.is_capturing() || !measure {
                // Another launch may find the time.
                lasting = false;
                self.guess(call, &file)
            } else {
                match self.tune_now(stream, call, &file, false) {
                    Ok(TuningOutcome::Known(config)) => (config, Source::Tuned),
                    Ok(TuningOutcome::Now(report)) => (report.winner, Source::Tuned),
                    Ok(TuningOutcome::Busy) => {
                        lasting = false;
                        self.guess(call, &file)
                    }
                    Err(e) if e.is_fatal() || matches!(e, Error::MissingBundle { .. } | Error::NoTarget { .. }) => {
                        return Err(e);
                    }
                    Err(e) => {
                        // Where none can run, the launch says so, or there is nothing to compute.
                        match e {
                            Error::CannotLaunch { .. } => tracing::debug!(kernel = file.label, error = %e, "not tuned"),
                            _ => tracing::warn!(kernel = file.label, error = %e, "not tuned"),
                        }
                        self.guess(call, &file)
                    }
                }
            }
        } else {
            self.guess(call, &file)
        };
        tracing::debug!(
            kernel = file.label,
            key = file.signature,
            config = desc.configs[config].id,
            ?source,
            "chose a configuration"
        );
        let fits = self.one_that_fits(call, config)?;
        // Another of these sizes may fit the grid.
        lasting &= fits == config || check::grid(desc, self.grid(&desc.configs[config], call.words())).is_ok();
        Ok((fits, lasting))
    }

    /// Measures every configuration on these arguments, whatever is known, and keeps the result. Outputs are as before
    /// afterwards. Waits for the stream.
    ///
    /// Errors: as [`Runtime::launch_with`]; [`Error::Tuning`] where the stream is being captured, where a raw pointer
    /// is written, whose extent is not known, where the kernel writes through addresses that it computes, where an
    /// output has gaps, which tuning would overwrite, or where the kernel is `deterministic`.
    pub fn tune(&self, stream: &Stream, call: Call<'_>) -> Result<Report> {
        check::call(self.device().id, stream.as_raw() as u64, &call)?;
        let _entered = self.cuda_context().map(|c| c.enter()).transpose()?;
        let _borrowed = stream.borrow_scratch(call.buffers())?;
        let file = self.file_of(&call)?;
        match self.tune_now(stream, &call, &file, true)? {
            TuningOutcome::Now(report) => {
                self.0.forget();
                Ok(report)
            }
            TuningOutcome::Known(_) => Err(Error::Tuning { what: file.label, why: "nothing was measured".into() }),
            TuningOutcome::Busy => Err(busy(&file)),
        }
    }

    /// The configuration that a launch of this call would take now, without measuring, and where it comes from.
    ///
    /// Errors: [`Error::Arguments`].
    ///
    /// # Examples
    /// ```
    /// use tilewright::tuning::{Autotune, Source};
    /// use tilewright::{Runtime, tile_kernel};
    ///
    /// #[tile_kernel(tune(BLOCK = [64, 128], warps = [1]), grid = [cdiv(y.len(), BLOCK)])]
    /// fn ones<const BLOCK: usize>(y: &mut [f32]) {
    ///     store(y, program_id(0) * BLOCK + arange(BLOCK), 1.0);
    /// }
    ///
    /// let rt = Runtime::cpu();
    /// rt.set_cache_dir(None);
    /// assert_eq!(rt.configuration(&ones(&mut [0.0; 100]))?, ("BLOCK=64,warps=1", Source::Default));
    /// let report = rt.tune(rt.stream(), ones(&mut [0.0; 100]))?;
    /// let (config, source) = rt.configuration(&ones(&mut [0.0; 100]))?;
    /// assert_eq!((config, source), (report.candidates[report.winner].id.as_str(), Source::Tuned));
    /// # Ok::<(), tilewright::Error>(())
    /// ```
    pub fn configuration(&self, call: &Call<'_>) -> Result<(&'static str, Source)> {
        call.check()?;
        let file = self.file_of(call)?;
        if call.desc().deterministic {
            let i = self.0.first_that_takes(call.desc(), call.words());
            return Ok((call.desc().configs[i].id, Source::Default));
        }
        let (i, source) = self.look_up(call, &file).unwrap_or_else(|| self.guess(call, &file));
        Ok((call.desc().configs[i].id, source))
    }

    fn file_of(&self, call: &Call) -> Result<File> {
        let desc = call.desc();
        if desc.configs.is_empty() {
            return Err(Error::Tuning { what: desc.name.into(), why: "it has no configuration".into() });
        }
        Ok(file_of(call, &key::buckets(desc, call.words()), self.0.kind(desc, call.words())))
    }

    fn look_up(&self, call: &Call, file: &File) -> Option<(usize, Source)> {
        let (id, source) = self.0.tuner.known(file)?;
        Some((self.known_config(call, file, &id)?, source))
    }

    fn guess(&self, call: &Call, file: &File) -> (usize, Source) {
        let guess = self.0.tuner.guess(file);
        let known = guess.and_then(|(id, s)| Some((self.known_config(call, file, &id)?, s)));
        known.unwrap_or_else(|| (self.0.of_fewest_programs(call.desc(), call.words()).unwrap_or(0), Source::Default))
    }

    /// The index of a result's configuration, if it runs here; a result that names none of the kernel is reported once
    /// and left out.
    fn known_config(&self, call: &Call, file: &File, id: &str) -> Option<usize> {
        let found = config_index(call.desc(), id).ok();
        if found.is_none() && self.0.tuner.is_first_unknown(&file.label, &file.signature) {
            tracing::warn!(
                kernel = file.label,
                key = file.signature,
                config = id,
                "ignoring a tuning result: the kernel has no such configuration"
            );
        }
        // Results of another build, or of another device, may name one that has no code here.
        found.filter(|&i| self.0.has_code(&call.desc().configs[i]))
    }

    pub(crate) fn would_tune(&self) -> bool {
        match (self.autotune(), self.kind()) {
            (Autotune::Off, _) | (_, BackendKind::Emulator) => false,
            (Autotune::On, kind) => kind == BackendKind::Cuda,
            (Autotune::Force, _) => true,
        }
    }

    /// Whether the outputs of a call can be put back after a measurement. Where they cannot, says so once of a kernel:
    /// as a warning if its caller can mend that.
    fn is_put_back(&self, call: &Call, file: &File) -> bool {
        let Some(why) = check::is_not_put_back(call) else { return true };
        if self.0.tuner.is_first_untuned(&file.label) {
            match why {
                NotPutBack::UnknownExtent => tracing::warn!(kernel = file.label, reason = %why, "not tuned"),
                _ => tracing::debug!(kernel = file.label, reason = %why, "not tuned"),
            }
        }
        false
    }

    /// The configuration, or the first other one that the device can run.
    pub(crate) fn one_that_fits(&self, call: &Call, config: usize) -> Result<usize> {
        let desc = call.desc();
        match self.can_run(call, &desc.configs[config]) {
            Ok(()) => Ok(config),
            Err(e @ (Error::CannotLaunch { .. } | Error::GridTooLarge { .. })) => {
                let other =
                    (0..desc.configs.len()).find(|&i| i != config && self.can_run(call, &desc.configs[i]).is_ok());
                let other = other.ok_or(e.clone())?;
                // That a configuration takes some arguments alone is no defect.
                let defect = !matches!(e, Error::GridTooLarge { .. })
                    && self.0.variant(&desc.configs[config], call.words()).is_some();
                match defect {
                    false => {
                        tracing::debug!(reason = %e, instead = desc.configs[other].id, "taking another configuration")
                    }
                    true => {
                        tracing::warn!(error = %e, instead = desc.configs[other].id, "taking another configuration")
                    }
                }
                Ok(other)
            }
            Err(e) => Err(e),
        }
    }

    fn tune_now(&self, stream: &Stream, call: &Call, file: &File, again: bool) -> Result<TuningOutcome> {
        let (desc, tuning) = (call.desc(), |why: &str| Error::Tuning { what: file.label.clone(), why: why.into() });
        if desc.deterministic {
            return Err(tuning("it is `deterministic`, and runs in the first configuration that takes its arguments"));
        }
        if stream.is_capturing() {
            return Err(tuning("its stream is being captured: tune before the capture"));
        }
        if let Some(why) = check::is_not_put_back(call) {
            return Err(tuning(&why.to_string()));
        }
        let leases = stream.as_cuda().map(|s| &s.cuda.leases);
        // Scratch of any stream is no output.
        let is_scratch = |addr: u64| match leases {
            Some(all) => all.any(|l| l.addresses.contains(&addr)),
            None => stream.blocks().contains(addr),
        };
        let outputs: Vec<Output> = call
            .buffers()
            .iter()
            .filter(|b| b.mutable)
            .filter_map(|b| Some((b, desc.params.get(b.param as usize)?)))
            .map(|(b, param)| Output {
                addr: b.start,
                device: b.device,
                bytes: b.extent.filter(|_| param.kind == ParamKind::PtrMut).unwrap_or(b.bytes),
                dtype: param.dtype,
                tf32: desc.tf32,
                compare: !is_scratch(b.start),
                borrow: PhantomData,
            })
            .collect();
        let Some(_alone) = self.measuring() else { return Ok(TuningOutcome::Busy) };
        if !again && let Some((config, _)) = self.look_up(call, file) {
            return Ok(TuningOutcome::Known(config));
        }
        let plans: Vec<Arc<Plan>> = desc.configs.iter().map(|c| Arc::new(Plan::new(c))).collect();
        let candidates = Candidates {
            ids: desc.configs.iter().map(|c| c.id).collect(),
            outputs: &outputs,
            prepare: &mut |i| self.can_run(call, &desc.configs[i]),
            run: &mut |i| self.launch_config(stream, call, &plans[i]),
        };
        // SAFETY: the outputs are arguments of the call, which borrows them mutably, or all of a raw pointer's extent,
        // which by `RawArg::within` is the call's.
        let report = unsafe { self.measured(stream, file, candidates, if again { None } else { self.budget() }) }?;
        Ok(TuningOutcome::Now(report))
    }

    /// The time that a call may spend on measurements, if no result is known: on a GPU 0.2 s, unless measuring is
    /// forced.
    fn budget(&self) -> Option<Duration> {
        const FIRST_CALL: Duration = Duration::from_millis(200);
        (self.autotune() == Autotune::On && self.kind() == BackendKind::Cuda).then_some(FIRST_CALL)
    }

    pub(crate) fn keep(&self, file: &File, report: &Report) {
        for c in &report.candidates {
            tracing::debug!(kernel = file.label, config = c.id, outcome = ?c.outcome, "tuned");
        }
        let winner = &report.candidates[report.winner].id;
        tracing::info!(
            kernel = file.label,
            key = file.signature,
            winner,
            ms = report.took.as_millis() as u64,
            "tuned a kernel"
        );
        self.0.tuner.record(file, report);
    }

    /// Measures candidates until the budget is spent, and keeps the result.
    ///
    /// # Safety
    /// Nobody uses the outputs meanwhile but the candidates.
    unsafe fn measured(
        &self,
        stream: &Stream,
        file: &File,
        candidates: Candidates<'_>,
        budget: Option<Duration>,
    ) -> Result<Report> {
        let Candidates { ids, outputs, prepare, run } = candidates;
        let shipped = self.0.tuner.shipped(&file.label, &file.signature);
        let shipped = shipped.and_then(|(shipped, _)| ids.iter().position(|id| *id == shipped));
        // SAFETY: the caller's contract.
        let mut bench = unsafe { Measure::new(self, stream, ids, outputs, prepare, run) }?;
        let report = search(&mut bench, shipped, budget)?;
        self.keep(file, &report);
        Ok(report)
    }

    /// Measures candidates whose runs `run` enqueues, until the budget is spent, and keeps the result.
    pub(crate) fn search_among(
        &self,
        stream: &Stream,
        file: &File,
        ids: Vec<&str>,
        outputs: &[Output<'_>],
        run: &mut dyn FnMut(usize) -> Result<()>,
    ) -> Result<Report> {
        let _entered = self.cuda_context().map(|c| c.enter()).transpose()?;
        let _alone = self.measuring().ok_or_else(|| busy(file))?;
        let candidates = Candidates { ids, outputs, prepare: &mut |_| Ok(()), run };
        // SAFETY: by the contract of `Output::new` nobody uses the outputs but the candidates.
        unsafe { self.measured(stream, file, candidates, self.budget()) }
    }

    /// One search at a time; a search within a search (a multi-launch operation's kernels) is part of it. `None` on a
    /// thread of a rayon pool while another thread searches: that one may wait for what this thread has begun.
    fn measuring(&self) -> Option<Measuring<'_>> {
        if MEASURING.get() {
            return Some(Measuring(None));
        }
        let alone = self.0.tuner.measuring(!cpu::is_pool_thread())?;
        MEASURING.set(true);
        Some(Measuring(Some(alone)))
    }
}

/// The outcome of measuring a call's configurations.
enum TuningOutcome {
    /// Another thread has measured them meanwhile.
    Known(usize),
    Now(Report),
    /// Another thread measures, and this one must not wait.
    Busy,
}

/// The calls that are measured.
struct Candidates<'a> {
    ids: Vec<&'a str>,
    outputs: &'a [Output<'a>],
    /// Whether a candidate can run.
    prepare: &'a mut dyn FnMut(usize) -> Result<()>,
    /// Enqueues one run of a candidate.
    run: &'a mut dyn FnMut(usize) -> Result<()>,
}

fn busy(file: &File) -> Error {
    let why = "another thread measures, for which a thread of a rayon pool does not wait: tune on another thread";
    Error::Tuning { what: file.label.clone(), why: why.into() }
}

struct Measuring<'a>(Option<MutexGuard<'a, ()>>);

impl Drop for Measuring<'_> {
    fn drop(&mut self) {
        if self.0.is_some() {
            MEASURING.set(false);
        }
    }
}

/// An operation that can be done in several ways, each of one or more launches.
///
/// # Examples
/// ```
/// use tilewright::tuning::{Output, Tunable, Version};
/// use tilewright::{AsSliceMut, Runtime, tile_kernel};
///
/// #[tile_kernel(tune(BLOCK = [64], warps = [1]), grid = [cdiv(y.len(), BLOCK)])]
/// fn ones<const BLOCK: usize>(y: &mut [f32]) {
///     store(y, program_id(0) * BLOCK + arange(BLOCK), 1.0);
/// }
///
/// let rt = Runtime::cpu();
/// rt.set_cache_dir(None);
/// let mut y = [0.0f32; 100];
/// let version = Version::of_kernels(&[ones::DESCS]);
/// let op = Tunable {
///     name: "fill",
///     types: "f32",
///     version: &version,
///     sizes: &[y.len()],
///     candidates: &["at once", "by halves"],
/// };
/// let p = y.as_mut_ptr();
/// let fill = |candidate: usize| {
///     // SAFETY: the elements of `y`, which one candidate writes at a time.
///     let y = unsafe { std::slice::from_raw_parts_mut(p, 100) };
///     if candidate == 0 {
///         return rt.launch(ones(y));
///     }
///     let (head, tail) = y.split_at_mut(50);
///     rt.launch(ones(head))?;
///     rt.launch(ones(tail))
/// };
/// // SAFETY: the candidates alone use the memory during the selection.
/// let output = unsafe { Output::new(&(&mut y).as_slice_mut_arg()) };
/// let fastest = rt.select_among(rt.stream(), &op, &[output], fill)?;
/// assert!(fastest < op.candidates.len());
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Tunable<'a> {
    /// Files the results; unlike any kernel's name.
    pub name: &'static str,
    /// The element types, as in `f16`; empty where there is one.
    pub types: &'static str,
    /// Changes when a candidate's code does: results of another version are not used.
    pub version: &'a Version,
    /// Sizes; rounded as extents of views are.
    pub sizes: &'a [usize],
    /// Stable ids; the first is the default.
    pub candidates: &'a [&'a str],
}

impl Runtime {
    /// The candidate to use, as an index: a known result, else measured now with `run(candidate)`, which enqueues one
    /// whole run of it on `stream`. `outputs` are all that it writes but scratch; they are as before afterwards.
    ///
    /// The second time it is a look-up. Errors: [`Error::DeviceLost`], [`Error::StreamMismatch`] where the stream or an
    /// output is of another device, and the first candidate's where none can run.
    pub fn select_among(
        &self,
        stream: &Stream,
        op: &Tunable,
        outputs: &[Output<'_>],
        mut run: impl FnMut(usize) -> Result<()>,
    ) -> Result<usize> {
        let buckets: Buckets = op.sizes.iter().map(|&s| key::extent_bucket(s as u64)).collect();
        let fast = (op.name, op.types, buckets);
        if let Some(i) = self.0.plans.choice(&fast, op.candidates, op.version) {
            return Ok(i);
        }
        let signature = key::operation_signature(&fast.2, op.candidates);
        let file = File { label: key::kernel_label(op.name, op.types), version: op.version.clone(), signature };
        let index =
            |found: Option<(String, Source)>| found.and_then(|(id, _)| op.candidates.iter().position(|c| *c == id));
        let look_up = || index(self.0.tuner.known(&file));
        // The result for other sizes says less than the order of the candidates does.
        let guess = || {
            let guess = self.0.tuner.guess(&file).filter(|(_, from)| *from != Source::Nearest);
            index(guess).unwrap_or(0)
        };
        let choice = if let Some(i) = look_up() {
            i
        } else if op.candidates.len() < 2 || !self.would_tune() {
            guess()
        } else if stream.is_capturing() {
            return Ok(guess());
        } else {
            let _entered = self.cuda_context().map(|c| c.enter()).transpose()?;
            let Some(_alone) = self.measuring() else { return Ok(guess()) };
            let measure = || {
                let ids = op.candidates.to_vec();
                let candidates = Candidates { ids, outputs, prepare: &mut |_| Ok(()), run: &mut run };
                // SAFETY: by the contract of `Output::new` nobody uses the outputs but the candidates.
                unsafe { self.measured(stream, &file, candidates, self.budget()) }.map(|report| report.winner)
            };
            match look_up().map_or_else(measure, Ok) {
                Ok(i) => i,
                Err(e @ (Error::OutOfMemory { .. } | Error::Tuning { .. })) => {
                    tracing::warn!(operation = file.label, error = %e, "not tuned");
                    guess()
                }
                Err(e) => return Err(e),
            }
        };
        self.0.plans.insert_choice(fast, op.candidates, op.version, choice);
        Ok(choice)
    }
}
