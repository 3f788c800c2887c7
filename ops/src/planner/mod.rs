//! The planner: how an operation that can be done in several ways is done for given arguments.
//!
//! An operation enumerates its plans as data, each with a cost ([`cost`]), whose time a model of the device predicts. A
//! result that was measured before, or is shipped, decides. Else the plan with the shortest predicted time is taken, or
//! the best few are measured where tuning is on. A plan that was decided is kept for the same shapes and layouts, so
//! that the next call finds it by one look-up.

pub(crate) mod attention;
pub(crate) mod cost;
pub(crate) mod decided;
mod derived;
pub(crate) mod device;
pub(crate) mod fit;
mod fit_choices;
pub(crate) mod gemm;
mod models;
pub(crate) mod offers;
mod overlap;
pub(crate) mod rows;
mod samples;
pub(crate) mod shape;
pub(crate) mod state;

use cost::{Cost, Moved, Work};
pub(crate) use decided::Plan;
use decided::{Key, MAX_SIZES};
use device::DeviceModel;
use state::State;
use std::cmp::Ordering;
use tilewright_core::ConfigDesc;
use tilewright_runtime::private::{self, File};
use tilewright_runtime::tuning::{Autotune, Output, Report, Source, Version};
use tilewright_runtime::workload::{Argument, RecordedCall};
use tilewright_runtime::{BackendKind, Error, Result, Runtime, Stream};

/// A plan and its predicted time.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<P> {
    pub plan: P,
    pub cost: Cost,
    /// Predicted of that cost, in microseconds.
    pub micros: f32,
}

impl<P: Plan> Candidate<P> {
    /// Makes the candidate of a plan from the bytes that its other launches move and the work of its kernel.
    pub fn new(plan: P, moved: Moved, kernel: Work, model: &DeviceModel, num_sms: usize) -> Self {
        let key = |config: &ConfigDesc| cost::key(plan.kernel().name, config.id, kernel.loads());
        let configuration = plan.config().map_or(1.0, |config| model.of_configuration(&key(config)));
        Candidate::of_cost(plan, Cost { moved, kernel, configuration }, model, num_sms)
    }

    /// Makes the candidate of a plan with this cost.
    pub fn of_cost(plan: P, cost: Cost, model: &DeviceModel, num_sms: usize) -> Self {
        Candidate { plan, cost, micros: cost.micros(model, num_sms) }
    }

    /// Compares predicted times, the shortest first.
    pub fn by_time(&self, other: &Self) -> Ordering {
        self.micros.total_cmp(&other.micros)
    }
}

/// A request for a plan.
#[derive(Clone, Copy)]
pub(crate) struct Question<'a> {
    /// Files the results; unlike any kernel's name.
    pub op: &'static str,
    /// The element types, as in `f16`; empty where there is one.
    pub types: &'static str,
    /// Changes with the code of any kernel of a plan: results of another version are not used.
    pub version: &'a Version,
    /// Extents. Results are filed under their buckets, plans are kept by their values.
    pub sizes: [usize; MAX_SIZES],
    /// Everything else that decides: strides, alignment, precision.
    pub layout: u64,
    /// The call, as a workload has it: [`tune_recorded`](crate::workload::tune_recorded) makes it again.
    pub recorded: &'a dyn Fn() -> Vec<Argument>,
}

/// Whether a call may measure plans.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Measuring {
    Allowed,
    /// Another call of the same question may.
    Later,
    /// No call with such a result may: elements between those of the result are another array's.
    Never,
}

/// Bits of the layout of [`Key`]s that no question has. One marks plans that are predicted even after measurements, the
/// other plans of questions that cannot be measured.
const PREDICTED: u64 = 1 << 63;
const UNMEASURABLE: u64 = 1 << 62;

/// Plans that the first call measures, at most, and how many times the shortest predicted time one may take. On an H200
/// the best of three plans took 1.010 times as long as the fastest one, in the geometric mean over 3131 products, and
/// the best of eight 1.002.
const MEASURED: (usize, f32) = (8, 1.6);
/// The same where measuring is forced, as `tile tune` does.
const FORCED: (usize, f32) = (24, 2.5);

/// The plan for these arguments, and a report where plans were measured. `run` enqueues one whole run of a plan on
/// `stream`; it is called only where plans are measured, which `measuring` allows. `outputs` are all that a plan
/// writes but scratch memory; they are as before afterwards.
///
/// A question that cannot be measured takes the plan of the same question that was, or one that is kept apart: a later
/// call may still measure.
///
/// Errors: [`Error::Unsupported`] without a candidate; those of lost devices.
pub(crate) fn decide<P: Plan>(
    rt: &Runtime,
    stream: &Stream,
    question: &Question,
    outputs: &[Output<'_>],
    measuring: Measuring,
    candidates: impl FnOnce() -> Vec<Candidate<P>>,
    mut run: impl FnMut(&P) -> Result<()>,
) -> Result<(P, Option<Report>)> {
    let mut key = question.key();
    let apart = (measuring == Measuring::Never).then(|| key.with(UNMEASURABLE));
    let decided = &State::of(rt).decided;
    if let Some(plan) = [Some(key), apart].into_iter().flatten().find_map(|key| decided.get::<P>(&key)) {
        return Ok((plan, None));
    }
    if rt.kind() != BackendKind::Emulator {
        private::record(|| RecordedCall::of_operation(question.op, question.types, (question.recorded)()));
    }
    let candidates = candidates();
    let predicted = candidates.iter().copied().min_by(Candidate::by_time).ok_or_else(|| unsupported(rt, question))?;
    let file = question.file();
    let of_id = |id: &str| candidates.iter().find(|c| c.plan.to_string() == id).map(|c| c.plan);
    let known = || private::known(rt, &file);
    // A result of a device like this one says more than a prediction.
    let alike = || {
        let found = private::guess(rt, &file);
        found.filter(|(_, source)| *source != Source::Nearest).and_then(|(id, source)| Some((of_id(&id)?, source)))
    };
    let mut report = None;
    let (plan, source) = if rt.kind() == BackendKind::Emulator {
        (predicted.plan, Source::Predicted)
    } else if let Some((plan, source)) = known().and_then(|(id, source)| Some((of_id(&id)?, source))) {
        (plan, source)
    } else if candidates.len() < 2 || !private::would_tune(rt) {
        alike().unwrap_or((predicted.plan, Source::Predicted))
    } else if let Some(apart) = apart {
        key = apart;
        alike().unwrap_or((predicted.plan, Source::Predicted))
    } else if stream.is_capturing() || measuring == Measuring::Later {
        // Another call may find the time.
        return Ok((alike().map_or(predicted.plan, |(plan, _)| plan), None));
    } else {
        let forced = rt.autotune() == Autotune::Force;
        let (most, within) = if forced { FORCED } else { MEASURED };
        let near = |c: &&Candidate<P>| c.micros <= predicted.micros * within;
        let mut order: Vec<&Candidate<P>> = candidates.iter().filter(near).collect();
        order.sort_by(|a, b| a.by_time(b));
        let mut best: Vec<P> = order.iter().take(most).map(|c| c.plan).collect();
        best.extend(alike().map(|(plan, _)| plan).filter(|plan| !best.contains(plan)));
        match measure_plans(rt, stream, &file, &best, outputs, &mut run) {
            Ok(found) => {
                let winner = best[found.winner];
                report = Some(found);
                (winner, Source::Tuned)
            }
            Err(e) if e.is_fatal() || matches!(e, Error::MissingBundle { .. } | Error::NoTarget { .. }) => {
                return Err(e);
            }
            Err(e) => {
                tracing::warn!(operation = file.label, error = %e, "not tuned");
                (predicted.plan, Source::Predicted)
            }
        }
    };
    tracing::debug!(operation = file.label, key = file.signature, plan = %plan, ?source, "decided on a plan");
    decided.insert(key, plan);
    Ok((plan, report))
}

/// The plan that is predicted to be fastest, without regard to measurements. It is kept apart from plans that are
/// decided on.
///
/// Errors: [`Error::Unsupported`] without a candidate.
pub(crate) fn predicted<P: Plan>(
    rt: &Runtime,
    question: &Question,
    candidates: impl FnOnce() -> Vec<Candidate<P>>,
) -> Result<P> {
    let key = question.key().with(PREDICTED);
    if let Some(plan) = State::of(rt).decided.get::<P>(&key) {
        return Ok(plan);
    }
    let best = candidates().into_iter().min_by(Candidate::by_time);
    let plan = best.ok_or_else(|| unsupported(rt, question))?.plan;
    State::of(rt).decided.insert(key, plan);
    Ok(plan)
}

fn unsupported(rt: &Runtime, question: &Question) -> Error {
    let instead = "no kernel of this build runs here";
    Error::Unsupported { what: question.op, device: rt.device().name.clone(), instead }
}

/// Replaces the plan that was decided on.
pub(crate) fn decide_again<P: Plan>(rt: &Runtime, question: &Question, plan: P) {
    State::of(rt).decided.insert(question.key(), plan);
}

fn measure_plans<P: Plan>(
    rt: &Runtime,
    stream: &Stream,
    file: &File,
    plans: &[P],
    outputs: &[Output<'_>],
    run: &mut impl FnMut(&P) -> Result<()>,
) -> Result<Report> {
    let ids: Vec<String> = plans.iter().map(P::to_string).collect();
    let mut run_one = |i: usize| run(&plans[i]);
    private::measure(rt, stream, file, ids.iter().map(String::as_str).collect(), outputs, &mut run_one)
}

impl Question<'_> {
    fn key(&self) -> Key {
        Key { op: self.op, types: self.types, sizes: self.sizes, layout: self.layout }
    }

    fn file(&self) -> File {
        let sizes =
            self.sizes.iter().map(|&s| private::extent_bucket(s as u64).to_string()).collect::<Vec<_>>().join("x");
        File {
            label: private::kernel_label(self.op, self.types),
            version: self.version.clone(),
            signature: format!("{sizes} {:x}", self.layout),
        }
    }
}
