//! Deciding on a plan for an operation and carrying it out.

use super::Executor;
use super::launch::PinnedConfig;
use super::samples::{Sample, Samples};
use crate::planner::{self, Candidate, Measuring, Plan, Question};
use core::time::Duration;
use tilewright_core::{Element, SliceMutArg, ViewMutArg};
use tilewright_runtime::tuning::Output;
use tilewright_runtime::{BackendKind, Buffer, Error, Event, Result};

/// Which plans an operation may enumerate.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Bytes of scratch memory that a plan may take.
    pub scratch: usize,
    /// Plans of this kernel alone.
    pub pin: Option<PinnedConfig>,
}

/// The size of a batch by which plans are chosen: its own, or one for all where results may not depend on it.
pub(super) fn batch_size(on: &impl Executor, size: usize) -> usize {
    const OF_ALL: usize = 1024;
    if on.batch_invariant() { OF_ALL } else { size }
}

/// Decides on a plan and carries it out. `candidates` enumerates plans; `run` carries one out, and fails without memory
/// before it enqueues a kernel that writes `c`.
///
/// A pinned kernel decides alone. If results may not depend on the size of the batch, the prediction decides. If
/// scratch memory is short, a plan without scratch memory runs instead. If a kernel cannot be launched, the next best
/// plan runs.
pub(super) fn run<P: Plan, T: Element, const R: usize>(
    on: &impl Executor,
    question: &Question,
    c: &ViewMutArg<T, R>,
    candidates: impl Fn(Limits) -> Vec<Candidate<P>>,
    run: impl Fn(&P) -> Result<()>,
) -> Result<()> {
    let sorted = |limits| {
        let mut all = candidates(limits);
        all.sort_by(Candidate::by_time);
        all.into_iter().map(|c| c.plan)
    };
    let rt = on.runtime();
    let limit = rt.scratch_limit();
    if let Some(samples) = on.samples() {
        return sample(on, question, candidates(Limits { scratch: limit, pin: None }), &run, samples);
    }
    if let Some(pin) = on.pin()
        && let Some(plan) = sorted(Limits { scratch: limit, pin: Some(pin) }).next()
    {
        return run(&plan);
    }
    let all = || candidates(Limits { scratch: limit, pin: None });
    if on.batch_invariant() {
        return run(&planner::predicted(rt, question, all)?);
    }
    // Elements between those of the result may be another array's, which other work writes.
    let result = c.as_view();
    let has_gaps = result.dims().into_iter().fold(1, usize::saturating_mul) < result.span();
    // SAFETY: the operation borrows the result mutably. While plans are measured only the running one has it.
    let output = unsafe { Output::of_view(c) }.without_comparison();
    let measuring = match (has_gaps, on.preparing()) {
        (true, _) => Measuring::Never,
        (false, true) => Measuring::Later,
        (false, false) => Measuring::Allowed,
    };
    let (plan, report) = planner::decide(rt, on.stream(), question, &[output], measuring, all, &run)?;
    // Off the GPU a plan has no configuration: the launch of its kernel is tuned.
    if let (Some(report), Some(tuned), BackendKind::Cuda) = (report, on.tuned(), rt.kind()) {
        tuned.borrow_mut().push((plan.kernel(), report));
    }
    let e = match run(&plan) {
        Err(e @ (Error::OutOfMemory { .. } | Error::CannotLaunch { .. } | Error::GridTooLarge { .. })) => e,
        ran => return ran,
    };
    let scratch = !matches!(e, Error::OutOfMemory { .. });
    let others: Vec<P> = sorted(Limits { scratch: if scratch { limit } else { 0 }, pin: None }).collect();
    if !scratch && others.contains(&plan) {
        // It took none: the memory lacks elsewhere.
        return Err(e);
    }
    for other in others.into_iter().filter(|other| *other != plan) {
        match run(&other) {
            Err(Error::OutOfMemory { .. } | Error::CannotLaunch { .. } | Error::GridTooLarge { .. }) => {}
            ran => {
                tracing::debug!(operation = question.op, reason = %e, %plan, instead = %other, "took another plan");
                // A lack of memory may pass.
                if scratch && ran.is_ok() {
                    planner::decide_again(rt, question, other);
                }
                return ran;
            }
        }
    }
    Err(e)
}

/// Times all plans that are predicted to take no more than this many times the shortest time, at most so many.
const SAMPLED_WITHIN: f32 = 20.0;
const MAX_SAMPLED: usize = 150;
const WARM_RUNS: usize = 1;
const RUNS: usize = 5;

fn sample<P: Plan>(
    on: &impl Executor,
    question: &Question,
    mut all: Vec<Candidate<P>>,
    run: &impl Fn(&P) -> Result<()>,
    samples: &Samples,
) -> Result<()> {
    all.sort_by(Candidate::by_time);
    let none_runs = || Error::Tuning { what: question.op.into(), why: "no plan runs for these arguments here".into() };
    let Some(shortest) = all.first().map(|c| c.micros) else { return Err(none_runs()) };
    all.retain(|c| c.micros <= shortest * SAMPLED_WITHIN);
    // The best, and of the others some everywhere.
    let step = (2 * all.len() / MAX_SAMPLED).max(1);
    let kept = all.iter().enumerate().filter(|(i, _)| *i < MAX_SAMPLED / 2 || i % step == 0);
    let (rt, before) = (on.runtime(), samples.borrow().len());
    let mut flush = Buffer::<u8>::alloc(rt, 4 * (rt.device().limits.l2_bytes as usize).max(1 << 20))?;
    for (_, candidate) in kept {
        let mut times = vec![];
        for i in 0..WARM_RUNS + RUNS {
            flush.fill_zero()?;
            let (start, end) = (Event::new(rt)?, Event::new(rt)?);
            start.record(on.stream())?;
            match run(&candidate.plan) {
                Err(e) if e.is_fatal() => return Err(e),
                // A plan that cannot run is none.
                Err(e) => {
                    tracing::debug!(plan = %candidate.plan, error = %e, "not sampled");
                    break;
                }
                Ok(()) => {}
            }
            end.record(on.stream())?;
            if i >= WARM_RUNS {
                times.push(end.since(&start)?);
            }
        }
        times.sort();
        // Delays only lengthen a measurement, so the lower quartile is taken.
        let Some(&measured) = times.get(times.len() / 4) else { continue };
        let (op, plan) = (question.op.into(), candidate.plan.to_string());
        let predicted = Duration::from_nanos((f64::from(candidate.micros) * 1e3) as u64);
        samples.borrow_mut().push(Sample { op, plan, predicted, measured, cost: candidate.cost });
    }
    if samples.borrow().len() == before { Err(none_runs()) } else { Ok(()) }
}

/// The result for one more launch.
///
/// # Safety
/// One launch has it at a time: it is enqueued before the next one is made.
pub(super) unsafe fn again<'b, T: Element, const R: usize>(c: &'b ViewMutArg<'_, T, R>) -> ViewMutArg<'b, T, R> {
    let seen = c.as_view();
    // SAFETY: the same borrow, which one launch has at a time by the caller's contract.
    let all = unsafe { SliceMutArg::from_raw(seen.addr(), seen.span(), seen.device()) };
    all.strided(seen.dims(), seen.strides()).expect("the same memory")
}

#[cfg(all(test, feature = "products"))]
mod tests {
    use super::*;
    use crate::kernel_plan::KernelPlan;
    use crate::planner::cost::{Moved, Work};
    use crate::planner::state::State;
    use core::cell::Cell;
    use tilewright_core::AsSliceMut;
    use tilewright_kernels::matmul::products::{matmul_nn, matmul_nt};
    use tilewright_runtime::Runtime;
    use tilewright_runtime::tuning::{Autotune, Version};

    /// No call may measure on a result with gaps, so that no later call would find a plan.
    #[test]
    fn plans_for_results_with_gaps_are_kept() {
        let rt = Runtime::cpu();
        rt.set_cache_dir(None);
        rt.set_autotune(Autotune::Force);
        let version = Version::from("a test");
        let question = Question {
            op: "an operation of a test",
            types: "",
            version: &version,
            sizes: [2, 2, 2, 0],
            layout: 0,
            recorded: &Vec::new,
        };
        let (enumerated, measured) = (Cell::new(0), Cell::new(0));
        let model = State::model_of(&rt);
        let candidates = |_: Limits| {
            enumerated.set(enumerated.get() + 1);
            let plans = [matmul_nn::DESCS[0], matmul_nt::DESCS[0]].map(|kernel| KernelPlan { kernel, config: None });
            plans.map(|plan| Candidate::new(plan, Moved::default(), Work::Unknown, &model, 1)).to_vec()
        };
        let mut data = [0f32; 8];
        let mut decide = |strides: [usize; 2]| {
            let c = data.as_mut_slice().as_slice_mut_arg().strided([2, 2], strides).unwrap();
            let before = (enumerated.get(), measured.get());
            let ran = run(&rt, &question, &c, candidates, |_: &KernelPlan| {
                measured.set(measured.get() + 1);
                Ok(())
            });
            ran.unwrap();
            (enumerated.get() - before.0, measured.get() - before.1)
        };
        let (dense, with_gaps) = ([2, 1], [4, 1]);
        assert_eq!([decide(with_gaps), decide(with_gaps)], [(1, 1), (0, 1)]);
        // A result without gaps is still measured, once.
        let (enumerations, runs) = decide(dense);
        assert!(enumerations == 1 && runs > 2, "{enumerations} {runs}");
        assert_eq!([decide(dense), decide(with_gaps)], [(0, 1); 2]);
    }
}
