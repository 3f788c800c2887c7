//! The roofline of a device: the limits of its memory and its units, and the points of a sweep below them.

use super::figure::{Direction, Dot, Figure, GRAY, Series, color};
use super::svg::numbers;
use crate::axis::Scale;
use crate::error::Result;
use crate::report::{Report, SweepReport};
use crate::rows::{Row, line_label};
use crate::sweep::Metric;

/// Throughput over operations a byte; none where the work of no point is known, or nothing is known of the memory.
/// Errors: [`Error::Drawing`](crate::Error::Drawing).
pub(super) fn roofline(report: &Report, sweep: &SweepReport) -> Result<Option<String>> {
    let rows: Vec<Row> = sweep.rows(report).filter(|r| !r.line.copy).collect();
    let intensity = |r: &Row| r.point.flops as f64 / r.point.bytes as f64;
    let measured = |r: &&Row| r.point.bytes > 0 && r.metric(Metric::Throughput).is_some();
    let found: Vec<f64> = rows.iter().filter(measured).map(intensity).collect();
    let memory = memory(report);
    let (Some(least), Some(most)) = (found.iter().copied().reduce(f64::min), found.iter().copied().reduce(f64::max))
    else {
        return Ok(None);
    };
    let Some(fastest) = memory.iter().map(|m| m.1).reduce(f64::max) else { return Ok(None) };
    let ceilings = &report.device.ceilings;
    // Beyond the ridges on the right, and some way to the left of the first point.
    let ridge = ceilings.iter().map(|c| c.flops / fastest).fold(most, f64::max);
    let (from, to) = (least / 4.0, 4.0 * ridge);
    let top = ceilings.iter().map(|c| c.flops / 1e12).reduce(f64::max);
    let mut series: Vec<Series> = vec![];
    for (name, rate) in &memory {
        let at = |i: f64| i * rate / 1e12;
        let end = top.map_or(to, |top| to.min(top * 1e12 / rate));
        series.push(roof(name.clone(), [(from, at(from)), (end, at(end))]));
    }
    for c in ceilings {
        let tera = c.flops / 1e12;
        let begin = (c.flops / fastest).max(from);
        series.push(roof(format!("{}: {tera:.0} TFLOP/s", c.name), [(begin, tera), (to, tera)]));
    }
    for (i, line) in sweep.lines.iter().enumerate().filter(|(_, l)| !l.copy) {
        let of_line = rows.iter().filter(measured).filter(|r| r.line.name == line.name);
        let dots = of_line.filter_map(|r| {
            let y = r.bounds(Metric::Throughput)?;
            let text = numbers(&format!("{} at {} = {}", line.name, sweep.axis, r.point.label()), r);
            Some(Dot { x: intensity(r), y: Some(y.value), low: y.low, high: y.high, text })
        });
        let dots: Vec<Dot> = dots.collect();
        if !dots.is_empty() {
            series.push(Series { name: line_label(line, report), color: color(i), dashed: false, joined: false, dots });
        }
    }
    let log = |name: &str| Direction { name: name.into(), scale: Scale::Log, names: vec![] };
    let title = format!("Roofline of {}: {}", report.device.name, sweep.name);
    Figure { title, x: log("operations a byte"), y: log("TFLOP/s"), series }.svg().map(Some)
}

/// Limits of memory, in bytes a second: by the driver's numbers, and the fastest copy of the run.
fn memory(report: &Report) -> Vec<(String, f64)> {
    let mut out = vec![];
    if report.device.bandwidth > 0 {
        let rate = report.device.bandwidth as f64;
        out.push((format!("memory: {:.0} GB/s", rate / 1e9), rate));
    }
    let copies = report.sweeps.iter().flat_map(|s| s.rows(report)).filter(|r| r.line.copy);
    if let Some(rate) = copies.filter_map(|r| r.metric(Metric::Bandwidth)).reduce(f64::max) {
        out.push((format!("fastest copy: {rate:.0} GB/s"), rate * 1e9));
    }
    out
}

fn roof(name: String, ends: [(f64, f64); 2]) -> Series {
    let dots = ends.map(|(x, y)| Dot { x, y: Some(y), low: y, high: y, text: String::new() });
    Series { name, color: GRAY, dashed: true, joined: true, dots: dots.into() }
}
