//! One time for all multiprocessors. Each has a clock of its own, which counts cycles. The timer that they share counts
//! in steps, of up to a microsecond. A block and a warp read both as they begin and as they end.

use super::records::{Recorded, Run};
use std::collections::BTreeMap;

/// Converts clocks of multiprocessors to nanoseconds after the first block's begin.
#[derive(Debug)]
pub struct Clocks {
    /// Nanoseconds of a cycle.
    pub period: f64,
    /// By multiprocessor: a cycle, and the nanoseconds at it.
    origins: BTreeMap<u32, (u64, f64)>,
    /// The begin of the first block or warp.
    start: f64,
}

/// A reading of the clock of a multiprocessor and of the timer, after its first one and the first of all.
struct Reading {
    cycles: f64,
    ns: f64,
}

impl Clocks {
    /// Of all that was recorded. `clock_khz` counts where nothing was read twice; 0 is not known.
    pub fn of(recorded: &Recorded, clock_khz: u32) -> Clocks {
        let runs = || recorded.blocks.iter().map(|(_, run)| run).chain(recorded.warps.iter().map(|w| &w.run));
        let moments = |run: &Run| [Some(run.begin), run.end].into_iter().flatten().collect::<Vec<_>>();
        let mut by_sm: BTreeMap<u32, Vec<(u64, u64)>> = BTreeMap::new();
        for run in runs() {
            by_sm.entry(run.sm).or_default().extend(moments(run).iter().map(|s| (s.clock, s.time)));
        }
        let first = by_sm.values().flatten().map(|(_, time)| *time).min().unwrap_or(0);
        let readings: BTreeMap<u32, (u64, Vec<Reading>)> =
            by_sm.into_iter().map(|(sm, all)| (sm, relative(all, first))).collect();
        let period = period(readings.values().map(|(_, r)| r.as_slice())).unwrap_or(match clock_khz {
            0 => 1.0,
            khz => 1e6 / f64::from(khz),
        });
        let step = step(readings.values().flat_map(|(_, r)| r));
        let origin = |(sm, (cycle, r)): (u32, (u64, Vec<Reading>))| (sm, (cycle, offset(&r, period, step)));
        let mut clocks = Clocks { period, origins: readings.into_iter().map(origin).collect(), start: 0.0 };
        clocks.start = runs().map(|r| clocks.ns(r.sm, r.begin.clock)).fold(f64::INFINITY, f64::min);
        clocks
    }

    /// Nanoseconds after the first begin.
    pub fn ns(&self, sm: u32, clock: u64) -> f64 {
        let (cycle, ns) = self.origins.get(&sm).copied().unwrap_or_default();
        clock.wrapping_sub(cycle) as i64 as f64 * self.period + ns - self.start
    }
}

/// Readings of a multiprocessor after its first cycle.
fn relative(all: Vec<(u64, u64)>, first: u64) -> (u64, Vec<Reading>) {
    let cycle = all.iter().map(|(clock, _)| *clock).min().unwrap_or(0);
    let of = |(clock, time): (u64, u64)| Reading { cycles: (clock - cycle) as f64, ns: (time - first) as f64 };
    (cycle, all.into_iter().map(of).collect())
}

/// The slope of a line through the readings of each multiprocessor, one for all; none where no clock was read twice.
fn period<'r>(all: impl Iterator<Item = &'r [Reading]>) -> Option<f64> {
    let (mut products, mut squares) = (0.0, 0.0);
    for readings in all {
        let n = readings.len() as f64;
        let mean = |of: fn(&Reading) -> f64| readings.iter().map(of).sum::<f64>() / n;
        let (cycles, ns) = (mean(|r| r.cycles), mean(|r| r.ns));
        products += readings.iter().map(|r| (r.cycles - cycles) * (r.ns - ns)).sum::<f64>();
        squares += readings.iter().map(|r| (r.cycles - cycles).powi(2)).sum::<f64>();
    }
    // A multiprocessor has between 0.2 and 5 cycles a nanosecond.
    Some(products / squares).filter(|p| (0.2..5.0).contains(p))
}

/// The step in which the timer counts: the least difference of two readings.
fn step<'r>(all: impl Iterator<Item = &'r Reading>) -> f64 {
    let mut times: Vec<u64> = all.map(|r| r.ns as u64).collect();
    times.sort_unstable();
    let steps = times.windows(2).map(|w| w[1] - w[0]).filter(|d| *d > 0);
    steps.min().unwrap_or(0).min(1100) as f64
}

/// The time at the first cycle of a multiprocessor. The timer shows a time up to a step late: no reading is later than
/// the time at its cycle, and none is a step earlier.
fn offset(readings: &[Reading], period: f64, step: f64) -> f64 {
    let late = readings.iter().map(|r| r.ns - r.cycles * period);
    let (least, most) = late.fold((f64::INFINITY, f64::NEG_INFINITY), |(a, b), x| (a.min(x), b.max(x)));
    (least + most + step) / 2.0
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::records::{Moment, Warp};

    /// Multiprocessors whose clocks are apart, and a timer that counts in steps: blocks that begin at the same time are
    /// shown so.
    #[test]
    fn clocks_are_aligned_within_a_part_of_a_step() {
        const PERIOD: f64 = 0.57;
        for step in [1u64, 32, 1000] {
            let mut rng = fastrand::Rng::with_seed(step);
            let skew: Vec<u64> = (0..8).map(|_| rng.u64(1_000_000_000..2_000_000_000)).collect();
            let epoch = 1_700_000_000_123_456_789u64;
            let moment = |sm: usize, ns: f64| Moment {
                clock: skew[sm] + (ns / PERIOD) as u64,
                time: (epoch + ns as u64) / step * step,
            };
            let mut recorded = Recorded::default();
            for sm in 0..8 {
                for warp in 0..12u32 {
                    let (from, to) = (warp as f64 * 37.0, 150_000.0 + warp as f64 * 411.0);
                    let run = Run { sm: sm as u32, begin: moment(sm, from), end: Some(moment(sm, to)) };
                    recorded.warps.push(Warp { block: sm as u32, warp, run, spans: vec![], dropped: 0 });
                }
            }
            let clocks = Clocks::of(&recorded, 0);
            assert!((clocks.period / PERIOD - 1.0).abs() < 2e-3, "{step}: {}", clocks.period);
            for w in &recorded.warps {
                let ns = clocks.ns(w.run.sm, w.run.begin.clock);
                let wanted = w.warp as f64 * 37.0;
                assert!((ns - wanted).abs() < 0.35 * step as f64 + 5.0, "{step}: {ns} is {wanted}");
            }
        }
    }

    #[test]
    fn a_clock_that_was_read_once_takes_its_rate_from_the_device() {
        let run = Run { sm: 4, begin: Moment { clock: 1000, time: 50 }, end: None };
        let recorded = Recorded { blocks: vec![(0, run)], warps: vec![] };
        let clocks = Clocks::of(&recorded, 2_000_000);
        assert_eq!((clocks.period, clocks.ns(4, 1000), clocks.ns(4, 1200)), (0.5, 0.0, 100.0));
        assert_eq!(Clocks::of(&Recorded::default(), 0).period, 1.0);
    }
}
