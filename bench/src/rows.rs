//! A report as rows: the numbers of tables, figures and CSV files, each computed here.

use crate::case::Work;
use crate::report::{LineFacts, Outcome, Point, Report, SweepReport};
use crate::stats::Estimate;
use crate::sweep::Metric;

/// One line at one point.
pub(crate) struct Row<'a> {
    pub point: &'a Point,
    pub line: &'a LineFacts,
    pub outcome: &'a Outcome,
    /// Milliseconds; none if nothing was measured.
    pub ms: Option<Estimate>,
    pub rounds: usize,
    /// The time divided by that of the first line: 1 where they are equally fast, more where the first line is faster.
    /// None of the first line itself, and of peers of another device.
    pub ratio: Option<Ratio>,
}

/// A ratio of times.
#[derive(Clone, Copy)]
pub(crate) enum Ratio {
    /// Of lines that ran in turn.
    Paired(Estimate),
    /// To a peer of another run, for which there are no pairs of rounds.
    OfMedians(f64),
}

impl Ratio {
    pub fn value(self) -> f64 {
        match self {
            Ratio::Paired(e) => e.value,
            Ratio::OfMedians(v) => v,
        }
    }
}

impl Row<'_> {
    /// The work of the line: a copy computes nothing.
    fn work(&self) -> Work {
        let work = self.point.work();
        if self.line.copy { Work { flops: 0, ..work } } else { work }
    }

    /// The value of a metric; none if nothing was measured, or the work is not known.
    pub fn metric(&self, metric: Metric) -> Option<f64> {
        self.ms.and_then(|ms| metric.of(ms.value, self.work()))
    }

    /// The value with its bounds, the lower one first.
    pub fn bounds(&self, metric: Metric) -> Option<Estimate> {
        let work = self.work();
        let ms = self.ms?;
        let (a, b) = (metric.of(ms.low, work)?, metric.of(ms.high, work)?);
        // A rate is low where the time is high.
        Some(Estimate { low: a.min(b), value: metric.of(ms.value, work)?, high: a.max(b) })
    }

    /// The text in place of numbers; empty for a measurement.
    pub fn note(&self) -> String {
        match self.outcome {
            Outcome::Measured(_) => String::new(),
            Outcome::Wrong { why } => format!("WRONG: {why}"),
            Outcome::Failed { why } => format!("failed: {why}"),
            Outcome::Skipped { why } => format!("skipped: {why}"),
        }
    }
}

impl SweepReport {
    /// Its rows, point by point, the lines of a point in their order.
    pub(crate) fn rows<'a>(&'a self, of: &'a Report) -> impl Iterator<Item = Row<'a>> + 'a {
        let first = &self.lines[0];
        self.points.iter().flat_map(move |point| {
            let ours = point.times(&first.name);
            self.lines.iter().filter_map(move |line| {
                let outcome = point.value(&line.name)?;
                let times = point.times(&line.name);
                let comparable = |_: &_| line.name != first.name;
                let ratio = times.zip(ours).filter(comparable).and_then(|(theirs, ours)| match &line.recorded {
                    None => Some(Ratio::Paired(Estimate::of_paired_ratio(theirs.samples(), ours.samples()))),
                    Some(r) if r.device == of.device.name => {
                        Some(Ratio::OfMedians(theirs.estimate().value / ours.estimate().value))
                    }
                    Some(_) => None,
                });
                let rounds = times.map_or(0, |t| t.samples().len());
                Some(Row { point, line, outcome, ms: times.map(|t| t.estimate()), rounds, ratio })
            })
        })
    }

    /// Which metrics some row has, the time first.
    pub(crate) fn metrics(&self) -> Vec<Metric> {
        let has = |m: &Metric| self.points.iter().any(|p| m.of(1.0, p.work()).is_some());
        [Metric::Time, Metric::Bandwidth, Metric::Throughput].into_iter().filter(has).collect()
    }
}

/// A line's name, and where it is from if that is another run.
pub(crate) fn line_label(line: &LineFacts, of: &Report) -> String {
    match &line.recorded {
        None => line.name.clone(),
        Some(r) if r.device == of.device.name => format!("{} (recorded)", line.name),
        Some(r) => format!("{} (recorded on {})", line.name, r.device),
    }
}
