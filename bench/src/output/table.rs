//! Tables for a terminal.

use crate::format;
use crate::report::Report;
use crate::rows::{Ratio, line_label};
use crate::stats::Estimate;
use crate::sweep::Metric;
use std::fmt;

/// A plain table: columns as wide as their widest cell, numbers to the right.
///
/// # Examples
/// ```
/// let mut table = tilewright_bench::Table::new(&["line", "ms"]);
/// table.row(["ours".into(), "1.25".into()]);
/// table.row(["theirs".into(), "12.5".into()]);
/// assert_eq!(table.to_string(), "line      ms\nours    1.25\ntheirs  12.5\n");
/// ```
pub struct Table {
    rows: Vec<Vec<String>>,
}

impl Table {
    /// A table without rows.
    pub fn new(header: &[&str]) -> Self {
        Table { rows: vec![header.iter().map(|h| h.to_string()).collect()] }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.rows.push(cells.into_iter().collect());
    }
}

impl fmt::Display for Table {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |c: usize| self.rows.iter().filter_map(|r| r.get(c)).map(|s| s.chars().count()).max().unwrap_or(0);
        let numeric = |c: usize| {
            let cells = || self.rows[1..].iter().filter_map(|r| r.get(c)).filter(|s| !s.is_empty());
            cells().next().is_some()
                && cells().all(|s| s.starts_with(|ch: char| ch.is_ascii_digit() || ch == '-' || ch == '<'))
        };
        let shape: Vec<_> = (0..columns).map(|c| (width(c), numeric(c))).collect();
        for row in &self.rows {
            let cells = row
                .iter()
                .zip(&shape)
                .map(|(s, &(w, right))| if right { format!("{s:>w$}") } else { format!("{s:<w$}") });
            writeln!(f, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
}

/// The headings and cells of a sweep, which the page shows as well.
pub(super) fn cells(report: &Report, index: usize) -> (Vec<String>, Vec<Vec<String>>) {
    let sweep = &report.sweeps[index];
    let metrics = sweep.metrics();
    let several = sweep.lines.len() > 1;
    let mut head = vec![sweep.axis.clone(), "line".into(), "median ms".into(), "95 % interval".into()];
    head.extend(metrics.iter().filter(|m| **m != Metric::Time).map(|m| m.unit().to_string()));
    if several {
        head.extend([format!("time / {}", sweep.lines[0].name), "95 % interval".into()]);
    }
    let gauges = sweep.points.iter().any(|p| p.gauges.is_some());
    if gauges {
        head.extend(["MHz".into(), "W".into()]);
    }
    head.push("".into());
    let interval = |e: Estimate, text: fn(f64) -> String| format!("{}..{}", text(e.low), text(e.high));
    let rows = sweep.rows(report).map(|r| {
        let mut row = vec![r.point.label(), line_label(r.line, report)];
        row.push(r.ms.map_or(String::new(), |e| format::ms(e.value)));
        row.push(r.ms.map_or(String::new(), |e| interval(e, format::ms)));
        for &m in metrics.iter().filter(|m| **m != Metric::Time) {
            row.push(r.metric(m).map_or(String::new(), format::rate));
        }
        if several {
            row.push(r.ratio.map_or(String::new(), |x| format::ratio(x.value())));
            row.push(match r.ratio {
                Some(Ratio::Paired(e)) => interval(e, format::ratio),
                _ => String::new(),
            });
        }
        if gauges {
            let of = r.point.gauges.as_ref().filter(|_| r.line.recorded.is_none());
            let text = |e: Option<Estimate>| e.map_or(String::new(), |e| format!("{:.0}", e.value));
            row.extend([text(of.and_then(|g| g.clock_mhz)), text(of.and_then(|g| g.power_w))]);
        }
        row.push(r.note());
        row
    });
    let rows = rows.collect();
    (head, rows)
}

pub(super) fn text(report: &Report) -> String {
    let mut out = String::new();
    for (i, sweep) in report.sweeps.iter().enumerate() {
        let (head, rows) = cells(report, i);
        let mut table = Table::new(&head.iter().map(String::as_str).collect::<Vec<_>>());
        rows.into_iter().for_each(|r| table.row(r));
        let gap = if i > 0 { "\n" } else { "" };
        out += &format!("{gap}{} on {}\n{table}", sweep.name, report.device.name);
    }
    if !report.complete {
        out += "\nincomplete: it was stopped before all points were measured\n";
    }
    out
}
