//! Measures sweeps: checks each line, then times all lines of a point in turn.

use crate::card::DeviceFacts;
use crate::case::{Case, Failure, Skip, Verdict, Work};
use crate::error::{Error, Result};
use crate::gauges::Sampler;
use crate::nvml::Nvml;
use crate::report::{FORMAT, LineFacts, Outcome, Point, Report, SweepReport, Times, VERSION, Value};
use crate::stats::{CONFIDENCE, MIN_TIMES};
use crate::sweep::{COPY, Metric, Sweep};
use crate::timer::Timer;
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};
use tilewright_runtime::{BackendKind, Runtime};

/// How to measure. [`Report`](crate::Report) has an example.
#[derive(Clone, Copy, Debug)]
pub struct Settings<'a> {
    /// Rounds that are not counted, before each point.
    pub warmup: usize,
    /// Rounds that are counted: each line runs once in a round. At least 1.
    pub rounds: usize,
    /// A point that would take longer than this has fewer rounds, but at least six.
    pub limit: Duration,
    /// Ends the measurement where it becomes true: points that are done are kept.
    pub stop: Option<&'a AtomicBool>,
}

impl Default for Settings<'_> {
    /// 3 rounds of warm-up, 25 that count, 10 seconds a point.
    fn default() -> Self {
        Settings { warmup: 3, rounds: 25, limit: Duration::from_secs(10), stop: None }
    }
}

/// How far a measurement has come: the point that begins. [`Report`](crate::Report) has an example.
#[derive(Clone, Copy, Debug)]
pub struct Progress<'a> {
    /// The name of the sweep.
    pub sweep: &'a str,
    /// The size at the point.
    pub point: &'a str,
    /// Points that are done, of all sweeps.
    pub done: usize,
    /// Points of all sweeps.
    pub of: usize,
}

/// Measures sweeps one after the other, and each one point by point. A line whose result is wrong, or that fails, is
/// shown as such and not timed.
///
/// Errors: [`Error::Sweep`] for a declaration that cannot be measured, before anything is; [`Error::Emulator`]; those
/// of the runtime outside of the lines. [`Report`](crate::Report) has an example.
pub fn measure(
    rt: &Runtime,
    title: &str,
    sweeps: &[Sweep],
    settings: &Settings,
    progress: &mut dyn FnMut(Progress),
) -> Result<Report> {
    check(rt, sweeps)?;
    let mut bench = Bench { rt, timer: Timer::new(rt)?, settings, sampler: Sampler::new(gauges(rt)) };
    let mut report = Report {
        format: FORMAT.into(),
        version: VERSION,
        title: title.into(),
        started: SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).map_or(0, |d| d.as_secs()),
        complete: true,
        device: DeviceFacts::of(rt.device()),
        rules: rules(rt, settings),
        sweeps: vec![],
    };
    let of = sweeps.iter().map(|s| s.axis.values.len()).sum();
    let mut done = 0;
    'all: for sweep in sweeps {
        report.sweeps.push(begun(sweep));
        for &x in &sweep.axis.values {
            let extents = sweep.extents_at(x);
            let label = Point::label_of(x, &extents);
            progress(Progress { sweep: &sweep.name, point: &label, done, of });
            let point = if settings.stopped() { None } else { bench.point(sweep, x, extents)? };
            let (Some(point), Some(into)) = (point, report.sweeps.last_mut()) else {
                report.complete = false;
                break 'all;
            };
            into.points.push(point);
            done += 1;
        }
    }
    report.sweeps.retain(|s| !s.points.is_empty());
    Ok(report)
}

/// Finds the mistakes that can be seen before the measurement. Errors: [`Error::Emulator`], [`Error::Sweep`].
pub(crate) fn check(rt: &Runtime, sweeps: &[Sweep]) -> Result<()> {
    if rt.kind() == BackendKind::Emulator {
        return Err(Error::Emulator);
    }
    declared_well(sweeps)
}

/// Errors: [`Error::Sweep`].
pub(crate) fn declared_well(sweeps: &[Sweep]) -> Result<()> {
    let mut names = BTreeSet::new();
    for sweep in sweeps {
        sweep.check()?;
        if !names.insert(&sweep.name) {
            return Err(sweep.error("is declared twice".into()));
        }
    }
    Ok(())
}

impl Settings<'_> {
    fn stopped(&self) -> bool {
        self.stop.is_some_and(|s| s.load(Ordering::Relaxed))
    }
}

fn begun(sweep: &Sweep) -> SweepReport {
    let facts = |name: &str| LineFacts { name: name.into(), copy: sweep.copy && name == COPY, recorded: None };
    SweepReport {
        name: sweep.name.clone(),
        axis: sweep.axis.name.clone(),
        scale: sweep.axis.scale,
        y: sweep.y,
        tags: sweep.tags.clone(),
        lines: sweep.line_names().map(facts).collect(),
        points: vec![],
    }
}

/// The method, as sentences for the reader of a report.
fn rules(rt: &Runtime, settings: &Settings) -> Vec<String> {
    let on_gpu = rt.device().compute_capability.is_some();
    let clock = match on_gpu {
        true => "The L2 cache is flushed before every launch. A time is that between two CUDA events around it.",
        false => "A time is wall time on the CPU. Its caches are not flushed.",
    };
    vec![
        "Each result is compared with a reference before it is timed, and after unless the work is in place. A wrong \
         result is not timed."
            .into(),
        format!(
            "The lines of a point run in one process and in turn: {} rounds of warm-up, then {}, each of which \
             begins with another line. A point that would take longer than {:.0} s has fewer rounds, but no fewer than \
             {MIN_TIMES}.",
            settings.warmup + 1,
            settings.rounds,
            settings.limit.as_secs_f64()
        ),
        clock.into(),
        format!(
            "A number is a median. Its bounds are order statistics that enclose it with a probability of {:.0} %; of \
             fewer than {MIN_TIMES} times they are the smallest and the largest one. They do not contain differences \
             from run to run.",
            100.0 * CONFIDENCE
        ),
        "A ratio is the time of a line divided by that of the first line in the same round: above 1 the first line is \
         faster."
            .into(),
    ]
}

/// The gauges of a GPU whose driver tells.
fn gauges(rt: &Runtime) -> Option<Nvml> {
    let device = rt.device();
    device.compute_capability.and_then(|_| Nvml::open(&device.pci_bus_id))
}

struct Bench<'a> {
    rt: &'a Runtime,
    timer: Timer,
    settings: &'a Settings<'a>,
    sampler: Sampler,
}

/// A line at a point.
enum Slot<'a> {
    Ready(Case<'a>),
    Over(Outcome),
}

impl Bench<'_> {
    /// None where it is stopped before the point is done.
    fn point(&mut self, sweep: &Sweep, x: u64, extents: Vec<u64>) -> Result<Option<Point>> {
        let mut slots: Vec<Slot> = sweep.lines.iter().map(|l| ready((l.prepare)(self.rt, x))).collect();
        let of_case = slots.iter().find_map(|s| if let Slot::Ready(case) = s { case.work } else { None });
        let work = of_case.unwrap_or_else(|| sweep.work(x));
        if sweep.copy {
            let nothing = || Err(Skip("the bytes of the work are not known".into()).into());
            slots.push(ready(if work.bytes < 2 { nothing() } else { Case::copy(self.rt, work.bytes) }));
        }
        self.drawable(sweep, x, work, &slots)?;
        for slot in &mut slots {
            if self.settings.stopped() {
                return Ok(None);
            }
            let Slot::Ready(case) = slot else { continue };
            if let Some(over) = self.first_launch(case) {
                *slot = Slot::Over(over);
            }
        }
        let sampling = self.sampler.start();
        let times = self.rounds(&mut slots)?;
        let gauges = sampling.finish();
        let Some(times) = times else { return Ok(None) };
        let values = sweep.line_names().zip(slots).zip(times).map(|((line, slot), times)| {
            let outcome = match slot {
                Slot::Over(outcome) => outcome,
                Slot::Ready(mut case) => self
                    .last_check(&mut case)
                    .unwrap_or_else(|| Outcome::Measured(Times::new(times.iter().map(milliseconds).collect()))),
            };
            Value { line: line.into(), outcome }
        });
        let values = values.collect();
        Ok(Some(Point { x, extents, bytes: work.bytes, flops: work.flops, gauges, values }))
    }

    /// Errors: [`Error::Sweep`] if the y axis needs bytes or operations that are not known.
    fn drawable(&self, sweep: &Sweep, x: u64, work: Work, slots: &[Slot]) -> Result<()> {
        if sweep.y.of(1.0, work).is_some() || slots.iter().all(|s| matches!(s, Slot::Over(_))) {
            return Ok(());
        }
        let (count, missing) =
            if sweep.y == Metric::Bandwidth { ("bytes", "`bytes`") } else { ("operations", "`flops`") };
        let (axis, unit) = (&sweep.axis.name, sweep.y.unit());
        Err(sweep.error(format!("shows {unit}, and has no {count} at {axis} = {x}: declare {missing}, or another y")))
    }

    /// Launches once and checks; gives the outcome of a line that is not to be timed.
    fn first_launch(&self, case: &mut Case) -> Option<Outcome> {
        let launched = case.launch(self.rt).and_then(|()| Ok(self.rt.synchronize()?));
        match launched.and_then(|()| case.check()) {
            Ok(Verdict::Right) => None,
            Ok(Verdict::Wrong(why)) => Some(Outcome::Wrong { why }),
            Err(e) => Some(over(e)),
        }
    }

    fn last_check(&self, case: &mut Case) -> Option<Outcome> {
        if !case.repeatable {
            return None;
        }
        match case.check() {
            Ok(Verdict::Right) => None,
            Ok(Verdict::Wrong(why)) => Some(Outcome::Wrong { why: format!("after the timed launches: {why}") }),
            Err(e) => Some(over(e)),
        }
    }

    /// The times of each slot, without the slots that are over; `None` if it was stopped.
    fn rounds(&mut self, slots: &mut [Slot]) -> Result<Option<Vec<Vec<Duration>>>> {
        let mut times = vec![vec![]; slots.len()];
        // One round more than asked for says how long a round takes.
        let begun = Instant::now();
        for i in 0..=self.settings.warmup {
            if !self.round(i, slots, None)? {
                return Ok(None);
            }
        }
        let each = begun.elapsed() / (self.settings.warmup as u32 + 1);
        let most = self.settings.rounds.max(1);
        let fitting = self.settings.limit.as_nanos() / each.as_nanos().max(1);
        let rounds = (fitting.min(most as u128) as usize).max(MIN_TIMES.min(most));
        for i in 0..rounds {
            if !self.round(i, slots, Some(&mut times))? {
                return Ok(None);
            }
        }
        Ok(Some(times))
    }

    /// Runs each line once, beginning with line `first`. False where it was stopped.
    fn round(&mut self, first: usize, slots: &mut [Slot], mut times: Option<&mut Vec<Vec<Duration>>>) -> Result<bool> {
        let count = slots.len();
        for i in (0..count).map(|i| (first + i) % count) {
            if self.settings.stopped() {
                return Ok(false);
            }
            let Slot::Ready(case) = &mut slots[i] else { continue };
            match (self.timer.time(|| case.launch(self.rt)), &mut times) {
                (Ok(t), Some(times)) => times[i].push(t),
                (Ok(_), None) => {}
                (Err(e), _) => slots[i] = Slot::Over(over(e)),
            }
        }
        Ok(true)
    }
}

/// To the nanosecond, of which there is one at least: a clock may not see less.
fn milliseconds(t: &Duration) -> f64 {
    t.as_nanos().max(1) as f64 / 1e6
}

fn ready(made: std::result::Result<Case<'_>, Failure>) -> Slot<'_> {
    made.map_or_else(|e| Slot::Over(over(e)), Slot::Ready)
}

fn over(e: Failure) -> Outcome {
    match e.downcast::<Skip>() {
        Ok(skip) => Outcome::Skipped { why: skip.0 },
        Err(e) => Outcome::Failed { why: e.to_string() },
    }
}
