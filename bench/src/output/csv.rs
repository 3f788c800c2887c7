//! CSV: a row for each line at each point.

use crate::report::{Outcome, Report};
use crate::rows::Ratio;
use crate::stats::Estimate;
use crate::sweep::Metric;

const COLUMNS: [&str; 21] = [
    "sweep",
    "axis",
    "x",
    "size",
    "line",
    "recorded_on",
    "outcome",
    "rounds",
    "median_ms",
    "low_ms",
    "high_ms",
    "bytes",
    "flops",
    "gb_s",
    "tflop_s",
    "ratio",
    "ratio_low",
    "ratio_high",
    "clock_mhz",
    "power_w",
    "note",
];

pub(super) fn text(report: &Report) -> String {
    let mut out = csv::Writer::from_writer(vec![]);
    let number = |v: Option<f64>| v.map_or(String::new(), |v| v.to_string());
    let three = |e: Option<Estimate>| [e.map(|e| e.value), e.map(|e| e.low), e.map(|e| e.high)].map(number);
    let known = |n: u64| if n > 0 { n.to_string() } else { String::new() };
    let mut rows: Vec<Vec<String>> = vec![COLUMNS.map(String::from).to_vec()];
    for sweep in &report.sweeps {
        for r in sweep.rows(report) {
            let (outcome, note) = match r.outcome {
                Outcome::Measured(_) => ("measured", ""),
                Outcome::Wrong { why } => ("wrong", why.as_str()),
                Outcome::Failed { why } => ("failed", why.as_str()),
                Outcome::Skipped { why } => ("skipped", why.as_str()),
            };
            let ratio = match r.ratio {
                Some(Ratio::Paired(e)) => three(Some(e)),
                other => [number(other.map(Ratio::value)), String::new(), String::new()],
            };
            let gauges = r.point.gauges.as_ref().filter(|_| r.line.recorded.is_none());
            let mut row: Vec<String> = vec![
                sweep.name.clone(),
                sweep.axis.clone(),
                r.point.x.to_string(),
                r.point.label(),
                r.line.name.clone(),
                r.line.recorded.as_ref().map_or(String::new(), |r| r.device.clone()),
                outcome.into(),
                r.rounds.to_string(),
            ];
            row.extend(three(r.ms));
            row.extend([known(r.point.bytes), known(r.point.flops)]);
            row.extend([r.metric(Metric::Bandwidth), r.metric(Metric::Throughput)].map(number));
            row.extend(ratio);
            row.extend(
                [gauges.and_then(|g| g.clock_mhz), gauges.and_then(|g| g.power_w)].map(|e| number(e.map(|e| e.value))),
            );
            row.push(note.into());
            rows.push(row);
        }
    }
    for row in &rows {
        // Into memory, with as many fields in each row: nothing can fail.
        let _ = out.write_record(row);
    }
    String::from_utf8(out.into_inner().unwrap_or_default()).unwrap_or_default()
}
