//! The search itself: which candidate is fastest, among those that run and give the right answer. Knows neither kernels
//! nor devices, see [`Bench`].

use crate::error::Result;
use std::time::{Duration, Instant};

/// The answers that a search asks for. Candidates are numbered; 0 is the default.
pub(crate) trait Bench {
    fn count(&self) -> usize;
    fn id(&self, candidate: usize) -> String;
    /// Makes the candidate ready to run. An error that is not fatal means that it cannot.
    fn prepare(&mut self, candidate: usize) -> Result<()>;
    /// Puts the arguments back to what they were before the search.
    fn restore(&mut self) -> Result<()>;
    /// Runs the candidate once and waits for it.
    fn run(&mut self, candidate: usize) -> Result<()>;
    /// Keeps the outputs as they are now as the right answer.
    fn keep_reference(&mut self) -> Result<()>;
    /// The difference of the outputs from the right answer.
    fn compare(&mut self) -> Result<Option<String>>;
    /// Times of single runs, each from a cold cache and the original arguments.
    fn time(&mut self, candidate: usize) -> Result<Vec<Duration>>;
}

/// The result of a search among configurations.
///
/// # Examples
/// ```
/// use tilewright::tuning::Outcome;
/// use tilewright::{Runtime, tile_kernel};
///
/// #[tile_kernel(tune(BLOCK = [64, 128], warps = [1]), grid = [cdiv(y.len(), BLOCK)])]
/// fn ones<const BLOCK: usize>(y: &mut [f32]) {
///     store(y, program_id(0) * BLOCK + arange(BLOCK), 1.0);
/// }
///
/// let rt = Runtime::cpu();
/// rt.set_cache_dir(None);
/// let mut y = [0.0f32; 100];
/// let report = rt.tune(rt.stream(), ones(&mut y))?;
/// for candidate in &report.candidates {
///     match &candidate.outcome {
///         Outcome::Ran(time) => println!("{}: {time:?}", candidate.id),
///         Outcome::Pruned(why) | Outcome::Wrong(why) => println!("{}: {why}", candidate.id),
///     }
/// }
/// assert!(report.time(report.winner).is_some());
/// assert_eq!(report.shipped_loses(), None, "nothing is shipped for this kernel");
/// # Ok::<(), tilewright::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Report {
    /// The chosen candidate, an index into `candidates`.
    pub winner: usize,
    /// Against which the others were measured: the default, or the first that runs.
    pub base: usize,
    /// The configuration without measurements: the one shipped for these sizes, else that of a device like this, else
    /// that for the nearest sizes.
    pub shipped: Option<usize>,
    /// All configurations, the default first.
    pub candidates: Vec<Candidate>,
    /// The time that the search took.
    pub took: Duration,
}

/// A configuration and its outcome. [`Report`] has an example.
#[derive(Clone, Debug)]
pub struct Candidate {
    /// The id of the configuration, as in `BLOCK=64,warps=1`.
    pub id: String,
    /// How its measurement ended.
    pub outcome: Outcome,
}

/// How the measurement of a configuration ended. [`Report`] has an example.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// Median time of one run.
    Ran(Duration),
    /// It cannot run here, or there was no time left, and why.
    Pruned(String),
    /// Its results differ from the default's, and how.
    Wrong(String),
}

impl Report {
    /// Median time of a candidate that ran; `None` for other candidates.
    pub fn time(&self, candidate: usize) -> Option<Duration> {
        match self.candidates.get(candidate)?.outcome {
            Outcome::Ran(t) => Some(t),
            _ => None,
        }
    }

    /// How much longer than the winner the shipped candidate takes, as a share; none where there is none, or it cannot
    /// run.
    pub fn shipped_loses(&self) -> Option<f64> {
        Some(self.time(self.shipped?)?.as_secs_f64() / self.time(self.winner)?.as_secs_f64() - 1.0)
    }
}

/// A winner is faster than the default by more than this, else the default stays.
const MARGIN: f64 = 0.004;
/// Candidates within NEAR of the fastest one after screening are measured again, RIVALS of them at most.
const NEAR: f64 = 0.03;
const RIVALS: usize = 3;
const SCREENING_ROUNDS: usize = 3;
const RUN_OFF_ROUNDS: usize = 7;

/// Searches, and leaves the arguments as they were. Errors: those that make going on pointless, and the first
/// candidate's where none can run. The shipped candidate is timed as often as the best.
///
/// Once the budget is spent, no other candidate is tried and no time is taken again. Two candidates are timed whatever
/// they take.
pub(crate) fn search(bench: &mut dyn Bench, shipped: Option<usize>, budget: Option<Duration>) -> Result<Report> {
    let found = search_inner(bench, shipped, budget);
    let restored = bench.restore();
    let report = found?;
    restored?;
    Ok(report)
}

/// The shares of a budget after which no candidate is tried, and none is timed for the first time or again. The rest is
/// for the best ones, which are timed in turn.
const TRIED_WITHIN: f64 = 0.4;
const TIMED_WITHIN: f64 = 0.7;
const NOT_MEASURED: &str = "not measured: the time for tuning was spent";

fn search_inner(bench: &mut dyn Bench, shipped: Option<usize>, budget: Option<Duration>) -> Result<Report> {
    let start = Instant::now();
    let is_spent = |share: f64| budget.is_some_and(|b| start.elapsed() >= b.mul_f64(share));
    let n = bench.count();
    let mut rejected: Vec<Option<Outcome>> = vec![None; n];
    let mut base = None;
    let mut first_error = None;
    for (i, rejection) in rejected.iter_mut().enumerate() {
        if i >= 2 && base.is_some() && is_spent(TRIED_WITHIN) {
            *rejection = Some(Outcome::Pruned(NOT_MEASURED.into()));
            continue;
        }
        let ran = match bench.prepare(i) {
            Ok(()) => {
                bench.restore()?;
                bench.run(i)
            }
            Err(e) => Err(e),
        };
        match ran {
            Err(e) if e.is_fatal() => return Err(e),
            Err(e) => {
                *rejection = Some(Outcome::Pruned(e.to_string()));
                first_error.get_or_insert(e);
            }
            Ok(()) if base.is_none() => {
                bench.keep_reference()?;
                base = Some(i);
            }
            Ok(()) => *rejection = bench.compare()?.map(Outcome::Wrong),
        }
    }
    let Some(base) = base else {
        return Err(
            first_error.unwrap_or(crate::Error::Tuning { what: "tuning".into(), why: "there is no candidate".into() })
        );
    };

    let mut alive: Vec<usize> = (0..n).filter(|&i| rejected[i].is_none()).collect();
    let mut times: Vec<Vec<Duration>> = vec![Vec::new(); n];
    let rounds = if alive.len() > 1 { SCREENING_ROUNDS } else { 1 };
    for round in 0..rounds {
        let mut timed = 0;
        for &i in &alive {
            let is_needed = round == 0 && timed < 2;
            if !is_needed && is_spent(TIMED_WITHIN) {
                break;
            }
            times[i].extend(bench.time(i)?);
            timed += 1;
        }
        if round == 0 {
            alive.split_off(timed).into_iter().for_each(|i| rejected[i] = Some(Outcome::Pruned(NOT_MEASURED.into())));
        }
    }
    let medians: Vec<f64> = times.iter_mut().map(|t| median(t).as_secs_f64()).collect();
    let fastest = alive.iter().map(|&i| medians[i]).fold(f64::INFINITY, f64::min);
    let worth_it =
        |i: &usize| *i != base && medians[*i] < medians[base] * (1.0 - MARGIN) && medians[*i] <= fastest * (1.0 + NEAR);
    let mut rivals: Vec<usize> = alive.iter().copied().filter(worth_it).collect();
    rivals.sort_by(|&a, &b| medians[a].total_cmp(&medians[b]));
    rivals.truncate(RIVALS);
    rivals.extend(shipped.filter(|s| *s != base && alive.contains(s) && !rivals.contains(s)));
    let winner = if rivals.is_empty() { base } else { run_off(bench, base, &rivals, &mut times, || is_spent(1.0))? };
    let candidates = (0..n)
        .map(|i| Candidate {
            id: bench.id(i),
            outcome: rejected[i].take().unwrap_or_else(|| Outcome::Ran(median(&mut times[i]))),
        })
        .collect();
    Ok(Report { winner, base, shipped, candidates, took: start.elapsed() })
}

/// All in turn, A B C, C B A, so that clocks and temperature favor none; decided by the median of a rival's ratios to
/// the base. The first round is run to its end whatever it takes.
fn run_off(
    bench: &mut dyn Bench,
    base: usize,
    rivals: &[usize],
    times: &mut [Vec<Duration>],
    is_spent: impl Fn() -> bool,
) -> Result<usize> {
    let mut order: Vec<usize> = [&[base], rivals].concat();
    let mut ratios = vec![Vec::new(); times.len()];
    for round in 0..RUN_OFF_ROUNDS {
        if round > 0 && is_spent() {
            break;
        }
        let mut of = vec![0.0; times.len()];
        for &i in &order {
            let mut t = bench.time(i)?;
            of[i] = median(&mut t).as_secs_f64();
            times[i].extend(t);
        }
        for &i in rivals {
            ratios[i].push(of[i] / of[base].max(1e-12));
        }
        order.reverse();
    }
    let mut ratio = |i: usize| {
        ratios[i].sort_by(f64::total_cmp);
        ratios[i][ratios[i].len() / 2]
    };
    let best = rivals.iter().map(|&i| (ratio(i), i)).min_by(|a, b| a.0.total_cmp(&b.0));
    Ok(best.filter(|b| b.0 < 1.0 - MARGIN).map_or(base, |b| b.1))
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or(Duration::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DriverError, Error};

    /// Candidates that write a value into one output and take a given time; a log of what was asked.
    struct Fake {
        candidates: Vec<FakeCandidate>,
        output: i32,
        reference: Option<i32>,
        log: Vec<String>,
        drift: u64,
        /// The increase of the drift by every measurement, in percent.
        drifts: u64,
    }

    #[derive(Clone)]
    struct FakeCandidate {
        us: u64,
        adds: i32,
        prepare: Option<Error>,
        run: Option<Error>,
    }

    fn ok(us: u64) -> FakeCandidate {
        FakeCandidate { us, adds: 1, prepare: None, run: None }
    }

    fn cannot() -> Error {
        Error::CannotLaunch { kernel: "k", config: "c", device: "d".into(), why: "it needs too much".into() }
    }

    fn fake(candidates: Vec<FakeCandidate>) -> Fake {
        Fake { candidates, output: 40, reference: None, log: vec![], drift: 0, drifts: 1 }
    }

    impl Bench for Fake {
        fn count(&self) -> usize {
            self.candidates.len()
        }
        fn id(&self, i: usize) -> String {
            format!("c{i}")
        }
        fn prepare(&mut self, i: usize) -> Result<()> {
            self.candidates[i].prepare.clone().map_or(Ok(()), Err)
        }
        fn restore(&mut self) -> Result<()> {
            self.output = 40;
            Ok(())
        }
        fn run(&mut self, i: usize) -> Result<()> {
            self.output += self.candidates[i].adds; // in place: a second run without a restore is wrong
            self.candidates[i].run.clone().map_or(Ok(()), Err)
        }
        fn keep_reference(&mut self) -> Result<()> {
            self.reference = Some(self.output);
            Ok(())
        }
        fn compare(&mut self) -> Result<Option<String>> {
            Ok((self.reference != Some(self.output))
                .then(|| format!("{} instead of {:?}", self.output, self.reference)))
        }
        fn time(&mut self, i: usize) -> Result<Vec<Duration>> {
            self.log.push(format!("c{i}"));
            self.output += 7;
            self.drift += self.drifts; // a device that gets slower and slower
            let us = self.candidates[i].us * (100 + self.drift);
            Ok(vec![Duration::from_micros(us); 3])
        }
    }

    #[test]
    fn the_fastest_wins_and_arguments_are_restored() {
        let mut f = fake(vec![ok(1000), ok(700), ok(900)]);
        let r = search(&mut f, None, None).unwrap();
        assert_eq!((r.winner, r.base), (1, 0));
        assert_eq!(f.output, 40);
        assert!(r.candidates.iter().all(|c| matches!(c.outcome, Outcome::Ran(_))));
        assert_eq!(r.candidates[2].id, "c2");
        assert!(r.time(1) < r.time(0));
        // Screening takes turns, the run-off alternates.
        assert_eq!(f.log[..6], ["c0", "c1", "c2", "c0", "c1", "c2"]);
        assert_eq!(f.log[9..13], ["c0", "c1", "c1", "c0"]);
    }

    #[test]
    fn the_default_stays_within_the_margin() {
        let steady =
            |us: u64| search(&mut Fake { drifts: 0, ..fake(vec![ok(1000), ok(us)]) }, None, None).unwrap().winner;
        assert_eq!((steady(997), steady(995)), (0, 1));
        assert_eq!(search(&mut fake(vec![ok(1000), ok(950)]), None, None).unwrap().winner, 1);
        assert_eq!(search(&mut fake(vec![ok(1000)]), None, None).unwrap().winner, 0);
    }

    #[test]
    fn who_is_near_the_fastest_runs_off_with_it() {
        let mut f = fake(vec![ok(1000), ok(700), ok(800), ok(702)]);
        assert_eq!(search(&mut f, None, None).unwrap().winner, 1);
        assert_eq!(f.log[12..18], ["c0", "c1", "c3", "c3", "c1", "c0"]);
        assert_eq!(f.log.len(), 4 * SCREENING_ROUNDS + 3 * RUN_OFF_ROUNDS);
        // More than may: the fastest of them do.
        let mut many = fake([10000, 7200, 7100, 6990, 6890, 6800].map(ok).to_vec());
        assert_eq!(search(&mut many, None, None).unwrap().winner, 5);
        assert_eq!(many.log[18..22], ["c0", "c5", "c4", "c3"]);
    }

    #[test]
    fn what_cannot_run_is_data() {
        let late = FakeCandidate { run: Some(cannot()), ..ok(1) };
        let early = FakeCandidate { prepare: Some(cannot()), ..ok(1) };
        let r = search(&mut fake(vec![ok(100), early, late]), None, None).unwrap();
        assert_eq!(r.winner, 0);
        for i in [1, 2] {
            assert!(matches!(&r.candidates[i].outcome, Outcome::Pruned(why) if why.contains("too much")));
        }
    }

    #[test]
    fn a_default_that_cannot_run_is_replaced() {
        let r =
            search(&mut fake(vec![FakeCandidate { prepare: Some(cannot()), ..ok(1) }, ok(200), ok(100)]), None, None)
                .unwrap();
        assert_eq!((r.winner, r.base), (2, 1));
        let none = vec![FakeCandidate { prepare: Some(cannot()), ..ok(1) }];
        assert!(matches!(search(&mut fake(none), None, None), Err(Error::CannotLaunch { .. })));
        assert!(search(&mut fake(vec![]), None, None).is_err());
    }

    #[test]
    fn the_shipped_one_is_timed_as_often_as_the_best() {
        let mut f = Fake { drifts: 0, ..fake(vec![ok(1000), ok(700), ok(800), ok(770)]) };
        let r = search(&mut f, Some(3), None).unwrap();
        assert_eq!((r.winner, r.shipped), (1, Some(3)));
        assert_eq!(f.log[12..18], ["c0", "c1", "c3", "c3", "c1", "c0"]);
        assert!((r.shipped_loses().unwrap() - 0.1).abs() < 1e-3);
        // One that cannot run, or is wrong, has no time.
        let mut f = fake(vec![ok(1000), FakeCandidate { adds: 2, ..ok(1) }]);
        assert_eq!(search(&mut f, Some(1), None).unwrap().shipped_loses(), None);
    }

    #[test]
    fn the_gate_rejects_wrong_answers() {
        let r = search(&mut fake(vec![ok(100), FakeCandidate { adds: 2, ..ok(1) }, ok(50)]), None, None).unwrap();
        assert_eq!(r.winner, 2);
        assert_eq!(r.candidates[1].outcome, Outcome::Wrong("42 instead of Some(41)".into()));
    }

    #[test]
    fn a_budget_that_is_spent_leaves_two_candidates() {
        let mut f = fake(vec![ok(1000), ok(900), ok(100)]);
        let r = search(&mut f, Some(2), Some(Duration::ZERO)).unwrap();
        assert_eq!((r.winner, r.base, r.time(2)), (1, 0, None));
        assert_eq!(r.candidates[2].outcome, Outcome::Pruned(NOT_MEASURED.into()));
        // Each is timed once, and once more in turn.
        assert_eq!(f.log, ["c0", "c1", "c0", "c1"]);
        // One that cannot run does not count.
        let none = FakeCandidate { prepare: Some(cannot()), ..ok(1) };
        let r = search(&mut fake(vec![none.clone(), none, ok(700), ok(1)]), None, Some(Duration::ZERO)).unwrap();
        assert_eq!((r.winner, r.time(3)), (2, None));
        let r = search(&mut fake(vec![ok(1000), ok(900), ok(100)]), None, Some(Duration::from_secs(3600))).unwrap();
        assert_eq!(r.winner, 2);
    }

    #[test]
    fn a_lost_device_ends_the_search() {
        let lost = Error::DeviceLost {
            what: "w".into(),
            source: DriverError { code: 700, name: "n".into(), message: "m".into() },
        };
        let mut f = fake(vec![ok(100), FakeCandidate { run: Some(lost), ..ok(1) }]);
        assert!(search(&mut f, None, None).unwrap_err().is_fatal());
        assert_eq!(f.output, 40);
    }
}
