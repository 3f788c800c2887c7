//! The figure of a sweep.

use super::figure::{Direction, Dot, Figure, Series, color};
use crate::axis::Scale;
use crate::error::Result;
use crate::format;
use crate::report::{Outcome, Report, SweepReport};
use crate::rows::{Ratio, Row, line_label};
use crate::sweep::Metric;

/// Y over x, a series for each line. Errors: [`Error::Drawing`](crate::Error::Drawing).
pub(super) fn sweep(report: &Report, sweep: &SweepReport) -> Result<String> {
    let rows: Vec<Row> = sweep.rows(report).collect();
    let series = sweep.lines.iter().enumerate().map(|(i, line)| {
        let of_line = rows.iter().filter(|r| r.line.name == line.name);
        let dots = of_line.filter_map(|r| dot(sweep, r)).collect();
        let name = line_label(line, report);
        Series { name, color: color(i), dashed: line.recorded.is_some(), joined: true, dots }
    });
    let unit = sweep.y.unit();
    // Times of sizes that differ by factors do so, too.
    let y_scale = if sweep.y == Metric::Time && sweep.scale == Scale::Log { Scale::Log } else { Scale::Linear };
    let names = sweep.points.iter().map(|p| p.label()).collect();
    let figure = Figure {
        title: format!("{} on {}", sweep.name, report.device.name),
        x: Direction { name: sweep.axis.clone(), scale: sweep.scale, names },
        y: Direction { name: unit.into(), scale: y_scale, names: vec![] },
        series: series.collect(),
    };
    figure.svg()
}

/// None for a size that a line does not take, which is not shown.
fn dot(sweep: &SweepReport, row: &Row) -> Option<Dot> {
    let at = format!("{} at {} = {}", row.line.name, sweep.axis, row.point.label());
    // An ordinal axis has a place for each measured point, without regard to its number.
    let x = match sweep.scale {
        Scale::Ordinal => sweep.points.iter().position(|p| p.x == row.point.x)? as f64,
        _ => row.point.x as f64,
    };
    match row.outcome {
        Outcome::Measured(_) => {
            let y = row.bounds(sweep.y)?;
            Some(Dot { x, y: Some(y.value), low: y.low, high: y.high, text: numbers(&at, row) })
        }
        Outcome::Wrong { .. } | Outcome::Failed { .. } => {
            Some(Dot { x, y: None, low: f64::NAN, high: f64::NAN, text: format!("{at}: {}", row.note()) })
        }
        Outcome::Skipped { .. } => None,
    }
}

/// The text of a point.
pub(super) fn numbers(at: &str, row: &Row) -> String {
    let mut text = at.to_string();
    if let Some(ms) = row.ms {
        let [value, low, high] = [ms.value, ms.low, ms.high].map(format::ms);
        text += &format!(": {value} ms ({low} to {high}, {} rounds)", row.rounds);
    }
    for m in [Metric::Bandwidth, Metric::Throughput] {
        if let Some(v) = row.metric(m) {
            text += &format!(", {} {}", format::rate(v), m.unit());
        }
    }
    match row.ratio {
        Some(Ratio::Paired(e)) => {
            let [value, low, high] = [e.value, e.low, e.high].map(format::ratio);
            text += &format!(", {value} of the first line's time ({low} to {high})");
        }
        Some(Ratio::OfMedians(r)) => text += &format!(", {} of the first line's time", format::ratio(r)),
        None => {}
    }
    text
}
