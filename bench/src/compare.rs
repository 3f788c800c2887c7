//! Two runs beside each other: points that became slower, and points that became wrong.

use crate::error::{Error, Result};
use crate::format;
use crate::output::Table;
use crate::report::{Outcome, Point, Report};
use crate::stats::{Estimate, MIN_TIMES};

/// A run beside an earlier one of the same device.
///
/// # Examples
/// ```
/// use tilewright_bench::{Axis, Case, Change, Comparison, Settings, Sweep, Verdict, measure};
///
/// let sweep = || Sweep::new("nap", Axis::log("n", [1, 2])).line("sleep", |_, _| {
///     Ok(Case::new((), |_, ()| Ok(std::thread::sleep(std::time::Duration::from_millis(1))), |()| Ok(Verdict::Right)))
/// });
/// let rt = tilewright::Runtime::cpu();
/// let run = || measure(&rt, "example", &[sweep()], &Settings::default(), &mut |_| {});
/// let comparison = Comparison::new(&run()?, &run()?, 0.5)?;
/// assert!(comparison.rows().iter().all(|r| r.change == Change::Same) && !comparison.is_worse());
/// println!("{}", comparison.text());
/// # Ok::<(), tilewright_bench::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Comparison {
    rows: Vec<Compared>,
    tolerance: f64,
    /// Lines at points that only the earlier run has.
    missing: usize,
}

/// A line at a point, in both runs. [`Comparison`] has an example.
#[derive(Clone, Debug)]
pub struct Compared {
    /// The name of the sweep.
    pub sweep: String,
    /// The name of the line.
    pub line: String,
    /// The size at the point.
    pub point: String,
    /// The median of the earlier run, in milliseconds.
    pub before_ms: f64,
    /// The median of the later run, in milliseconds; none where it was not measured.
    pub after_ms: Option<f64>,
    /// The later time divided by the earlier one, with its bounds: above 1 the later run is slower.
    pub ratio: Option<Estimate>,
    /// The meaning of the difference.
    pub change: Change,
}

/// The change of a line at a point. [`Comparison`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The interval of the ratio lies below 1 by more than the tolerance.
    Faster,
    /// Neither faster nor slower.
    Same,
    /// The interval of the ratio lies above 1 by more than the tolerance.
    Slower,
    /// It was measured before, and is wrong or fails now.
    Broken,
}

impl Comparison {
    /// Compares all that the earlier run measured. Of a change smaller than `tolerance`, as 0.05 for 5 %, nothing is
    /// said: intervals do not contain differences from run to run.
    ///
    /// Errors: [`Error::Incomparable`] for runs of different devices, for runs that have nothing in common, and for
    /// fewer than six times.
    pub fn new(after: &Report, before: &Report, tolerance: f64) -> Result<Comparison> {
        if after.device.name != before.device.name {
            let (a, b) = (&after.device.name, &before.device.name);
            return Err(Error::Incomparable(format!("this one is of {a}, the earlier one of {b}")));
        }
        let (mut rows, mut missing) = (vec![], 0);
        for sweep in &before.sweeps {
            let now = after.sweeps.iter().find(|s| s.name == sweep.name);
            for line in sweep.lines.iter().filter(|l| l.recorded.is_none() && !l.copy) {
                for point in &sweep.points {
                    let Some(times) = point.times(&line.name) else { continue };
                    let same = |p: &&Point| (&p.extents, p.x) == (&point.extents, point.x);
                    let value = now.and_then(|s| s.points.iter().find(same)).and_then(|p| p.value(&line.name));
                    let mut row = Compared {
                        sweep: sweep.name.clone(),
                        line: line.name.clone(),
                        point: point.label(),
                        before_ms: times.estimate().value,
                        after_ms: None,
                        ratio: None,
                        change: Change::Broken,
                    };
                    match value {
                        None => {
                            missing += 1;
                            continue;
                        }
                        Some(Outcome::Measured(now)) => {
                            let least = now.samples().len().min(times.samples().len());
                            if least < MIN_TIMES {
                                let why = format!(
                                    "`{}` at {} has {least} times, and {MIN_TIMES} are needed",
                                    row.line, row.point
                                );
                                return Err(Error::Incomparable(why));
                            }
                            let ratio = Estimate::of_ratio(now.samples(), times.samples());
                            row.change = match ratio {
                                r if r.low > 1.0 + tolerance => Change::Slower,
                                r if r.high < 1.0 / (1.0 + tolerance) => Change::Faster,
                                _ => Change::Same,
                            };
                            (row.after_ms, row.ratio) = (Some(now.estimate().value), Some(ratio));
                        }
                        Some(_) => {}
                    }
                    rows.push(row);
                }
            }
        }
        if rows.is_empty() {
            return Err(Error::Incomparable("they have no line in common at any point".into()));
        }
        Ok(Comparison { rows, tolerance, missing })
    }

    /// All that both runs have.
    pub fn rows(&self) -> &[Compared] {
        &self.rows
    }

    /// Whether something is slower or broken.
    pub fn is_worse(&self) -> bool {
        self.rows.iter().any(|r| matches!(r.change, Change::Slower | Change::Broken))
    }

    /// A table of the changes, and a sentence.
    pub fn text(&self) -> String {
        let mut table =
            Table::new(&["", "sweep", "line", "size", "before ms", "now ms", "now / before", "95 % interval"]);
        let mut changed = false;
        for change in [Change::Broken, Change::Slower, Change::Faster] {
            for r in self.rows.iter().filter(|r| r.change == change) {
                changed = true;
                let name = match change {
                    Change::Broken => "BROKEN",
                    Change::Slower => "SLOWER",
                    _ => "faster",
                };
                let of = |f: fn(Estimate) -> String| r.ratio.map_or(String::new(), f);
                table.row([
                    name.into(),
                    r.sweep.clone(),
                    r.line.clone(),
                    r.point.clone(),
                    format::ms(r.before_ms),
                    r.after_ms.map_or(String::new(), format::ms),
                    of(|e| format::ratio(e.value)),
                    of(|e| format!("{}..{}", format::ratio(e.low), format::ratio(e.high))),
                ]);
            }
        }
        let count = |c: Change| self.rows.iter().filter(|r| r.change == c).count();
        let mut text = if changed { table.to_string() } else { String::new() };
        text += &format!(
            "{} compared: {} slower by more than {} %, {} broken, {} faster\n",
            self.rows.len(),
            count(Change::Slower),
            100.0 * self.tolerance,
            count(Change::Broken),
            count(Change::Faster)
        );
        if self.missing > 0 {
            text += &format!("{} more are in the earlier run alone\n", self.missing);
        }
        text
    }
}
