//! A run: its measurements, device and method. Files hold runs.

use crate::axis::Scale;
use crate::card::DeviceFacts;
use crate::case::Work;
use crate::error::{Error, Result};
use crate::gauges::Gauges;
use crate::stats::Estimate;
use crate::sweep::Metric;
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// [`Report::format`].
pub(crate) const FORMAT: &str = "tilewright-bench";
/// The version of the format that is written and read.
pub(crate) const VERSION: u32 = 1;

/// A run of sweeps on one device.
///
/// # Examples
/// A report is saved as JSON and read again:
/// ```
/// use tilewright_bench::{Axis, Case, Report, Settings, Sweep, Verdict, measure};
///
/// let sweep = Sweep::new("nothing", Axis::log("n", [1, 2]))
///     .line("sleep", |_, _| Ok(Case::new((), |_, ()| Ok(()), |()| Ok(Verdict::Right))));
/// let rt = tilewright::Runtime::cpu();
/// let report = measure(&rt, "example", &[sweep], &Settings::default(), &mut |_| {})?;
/// let folder = tempfile::tempdir()?;
/// report.save(folder.path())?;
/// assert_eq!(Report::load(&folder.path().join("bench.json"))?, report);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
/// Its numbers:
/// ```
/// use tilewright_bench::{Axis, Case, MIN_TIMES, Outcome, Settings, Sweep, Verdict, measure};
///
/// let sweep = Sweep::new("nothing", Axis::log("n", [3]))
///     .bytes(|n| 12 * n)
///     .line("mine", |_, _| Ok(Case::new((), |_, ()| Ok(()), |()| Ok(Verdict::Right))));
/// let settings = Settings { rounds: MIN_TIMES, ..Settings::default() };
/// let rt = tilewright::Runtime::cpu();
/// let report = measure(&rt, "example", &[sweep], &settings, &mut |_| {})?;
/// assert!(report.all_right() && report.json().contains("\"mine\""));
///
/// let point = &report.sweeps[0].points[0];
/// assert_eq!((point.label().as_str(), point.work().bytes), ("3", 36));
/// assert!(matches!(point.value("mine"), Some(Outcome::Measured(_))));
/// let times = point.times("mine").expect("it was measured");
/// assert!(times.samples().len() == MIN_TIMES && times.estimate().value >= 0.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// `tilewright-bench`.
    pub format: String,
    /// Of the format.
    pub version: u32,
    /// The title of the run.
    pub title: String,
    /// When it began, in seconds since 1970.
    pub started: u64,
    /// Whether all points were measured: false after Ctrl-C.
    pub complete: bool,
    /// The device that it ran on.
    pub device: DeviceFacts,
    /// How it was measured, as sentences.
    pub rules: Vec<String>,
    /// The measured sweeps.
    pub sweeps: Vec<SweepReport>,
}

/// The points of one sweep. [`Report`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SweepReport {
    /// Its name, by which runs are compared and peers are found.
    pub name: String,
    /// The name of the x axis.
    pub axis: String,
    /// The scale of the x axis.
    pub scale: Scale,
    /// The metric of its figure.
    pub y: Metric,
    /// Facts for programs that read the report.
    pub tags: BTreeMap<String, String>,
    /// Its lines; the others are compared with the first one.
    pub lines: Vec<LineFacts>,
    /// Its points, by ascending x.
    pub points: Vec<Point>,
}

/// A line of a sweep. [`Report`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LineFacts {
    /// Its name.
    pub name: String,
    /// Whether it is a copy of as many bytes, which computes nothing.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
    /// Of a peer that was recorded in another run: where that was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<Recorded>,
}

/// The device and the versions with which a peer was recorded. [`Report`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The device, as its driver names it.
    pub device: String,
    /// Libraries and their versions, and the date.
    pub source: String,
}

/// One value of x. [`Report`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Point {
    /// The value of x; a number in a list where the axis is ordinal.
    pub x: u64,
    /// The whole size.
    pub extents: Vec<u64>,
    /// Bytes that a launch must read and write; 0 where not known.
    pub bytes: u64,
    /// Floating-point operations of a launch; 0 where not known.
    pub flops: u64,
    /// Clocks and power of the GPU meanwhile, where the driver tells.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gauges: Option<Gauges>,
    /// One for each line that was run.
    pub values: Vec<Value>,
}

/// A line at a point. [`Report`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Value {
    /// The name of the line.
    pub line: String,
    /// The result of the line.
    #[serde(flatten)]
    pub outcome: Outcome,
}

/// The result of a line at a point. [`Report`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "outcome", rename_all = "lowercase")]
pub enum Outcome {
    /// Its result is right, and these are its times.
    Measured(Times),
    /// Its result is wrong.
    Wrong {
        /// The first element that is.
        why: String,
    },
    /// It returned an error.
    Failed {
        /// The error.
        why: String,
    },
    /// It does not take this size.
    Skipped {
        /// The reason.
        why: String,
    },
}

/// The times of a line at a point. [`Report`] has an example.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(from = "Samples")]
pub struct Times {
    median_ms: f64,
    low_ms: f64,
    high_ms: f64,
    times_ms: Vec<f64>,
}

/// The part of [`Times`] that is read; the rest follows from it.
#[derive(Deserialize)]
struct Samples {
    times_ms: Vec<f64>,
}

impl From<Samples> for Times {
    fn from(s: Samples) -> Times {
        Times::new(s.times_ms)
    }
}

impl Times {
    /// Of milliseconds, in the order of the rounds.
    pub(crate) fn new(times_ms: Vec<f64>) -> Times {
        let Estimate { low, value, high } = Estimate::of_median(&times_ms);
        Times { median_ms: value, low_ms: low, high_ms: high, times_ms }
    }

    /// The median and its bounds, in milliseconds.
    pub fn estimate(&self) -> Estimate {
        Estimate { low: self.low_ms, value: self.median_ms, high: self.high_ms }
    }

    /// Milliseconds of each round.
    pub fn samples(&self) -> &[f64] {
        &self.times_ms
    }
}

impl Point {
    /// The bytes and operations of a launch.
    pub fn work(&self) -> Work {
        Work { bytes: self.bytes, flops: self.flops }
    }

    /// The size as text, as in `4096x781`.
    pub fn label(&self) -> String {
        Self::label_of(self.x, &self.extents)
    }

    pub(crate) fn label_of(x: u64, extents: &[u64]) -> String {
        if extents.is_empty() {
            return x.to_string();
        }
        extents.iter().map(u64::to_string).collect::<Vec<_>>().join("x")
    }

    /// The result of a line; `None` if the point has no line of this name.
    pub fn value(&self, line: &str) -> Option<&Outcome> {
        self.values.iter().find(|v| v.line == line).map(|v| &v.outcome)
    }

    /// The times of a line that was measured; `None` for other lines.
    pub fn times(&self, line: &str) -> Option<&Times> {
        match self.value(line) {
            Some(Outcome::Measured(times)) => Some(times),
            _ => None,
        }
    }
}

impl Report {
    /// Whether no result is wrong and no line failed.
    pub fn all_right(&self) -> bool {
        let bad = |o: &Outcome| matches!(o, Outcome::Wrong { .. } | Outcome::Failed { .. });
        !self.sweeps.iter().flat_map(|s| &s.points).flat_map(|p| &p.values).any(|v| bad(&v.outcome))
    }

    /// The JSON that files hold.
    pub fn json(&self) -> String {
        // Keys are strings and numbers are finite, so that nothing can fail.
        serde_json::to_string_pretty(self).unwrap_or_default() + "\n"
    }

    /// Reads a run that was saved. Errors: [`Error::File`], and [`Error::Content`] where it is no such run.
    pub fn load(path: &Path) -> Result<Report> {
        let report: Report = crate::files::read_json(path)?;
        if (report.format.as_str(), report.version) != (FORMAT, VERSION) {
            let why = format!("format `{}` {} instead of `{FORMAT}` {VERSION}", report.format, report.version);
            return Err(Error::content(path, why));
        }
        match report.mistake() {
            Some(why) => Err(Error::content(path, why)),
            None => Ok(report),
        }
    }

    /// The sweeps of saved runs of one device as one run. Errors: as of [`Report::load`], [`Error::Option`] for no run,
    /// and [`Error::Content`] for a run of another device, or with a sweep that is there already.
    pub(crate) fn load_all(paths: &[std::path::PathBuf]) -> Result<Report> {
        let (first, others) = paths.split_first().ok_or_else(|| Error::Option("no run is named".into()))?;
        let mut all = Report::load(first)?;
        for path in others {
            let other = Report::load(path)?;
            if other.device != all.device {
                let why = format!("it is of {}, and the first run of {}", other.device.name, all.device.name);
                return Err(Error::content(path, why));
            }
            all.complete &= other.complete;
            all.sweeps.extend(other.sweeps);
            if let Some(why) = all.mistake() {
                return Err(Error::content(path, why));
            }
        }
        Ok(all)
    }

    /// A mistake that a file may have and that no measurement writes.
    fn mistake(&self) -> Option<String> {
        let mut names = BTreeSet::new();
        for s in &self.sweeps {
            let in_sweep = |why: String| Some(format!("the sweep `{}` {why}", s.name));
            if !names.insert(&s.name) {
                return in_sweep("is there twice".into());
            }
            if s.lines.is_empty() {
                return in_sweep("has no lines".into());
            }
            let lines: BTreeSet<&str> = s.lines.iter().map(|l| l.name.as_str()).collect();
            if lines.len() != s.lines.len() {
                return in_sweep("has two lines of one name".into());
            }
            if let Some(pair) = s.points.windows(2).find(|pair| pair[0].x >= pair[1].x) {
                return in_sweep(format!("has {} after {}: points ascend", pair[1].x, pair[0].x));
            }
            if s.scale == Scale::Log && s.points.first().is_some_and(|p| p.x == 0) {
                return in_sweep("has 0 on a logarithmic axis".into());
            }
            for p in &s.points {
                let mut seen = BTreeSet::new();
                for v in &p.values {
                    if !lines.contains(v.line.as_str()) || !seen.insert(&v.line) {
                        return in_sweep(format!("has values of `{}` at {} that belong to no line", v.line, p.label()));
                    }
                    if let Outcome::Measured(t) = &v.outcome
                        && let Some(why) = mistake_of_times(t.samples())
                    {
                        return in_sweep(format!("has {why} for `{}` at {}", v.line, p.label()));
                    }
                }
            }
        }
        None
    }
}

/// The mistake in the times of a file: they are positive, and large enough for finite rates.
pub(crate) fn mistake_of_times(times: &[f64]) -> Option<String> {
    if times.is_empty() {
        return Some("no times".into());
    }
    times.iter().find(|t| !(1e-9..1e12).contains(*t)).map(|t| format!("a time of {t} ms"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn derived_numbers_follow_from_the_times() {
        let text = r#"{"line": "a", "outcome": "measured", "median_ms": 7, "times_ms": [1, 2, 3]}"#;
        let value: Value = serde_json::from_str(text).unwrap();
        let Outcome::Measured(times) = value.outcome else { panic!() };
        assert_eq!(times.estimate(), Estimate { low: 1.0, value: 2.0, high: 3.0 });
    }

    #[test]
    fn times_are_positive_numbers() {
        assert_eq!(mistake_of_times(&[1.0, 0.001]), None);
        for bad in [0.0, -1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert!(mistake_of_times(&[1.0, bad]).is_some(), "{bad}");
        }
        assert!(mistake_of_times(&[]).is_some());
    }
}
