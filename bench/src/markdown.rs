//! A run as a table of a document.

use crate::format::{ms, rate, ratio};
use crate::report::{Point, Report, SweepReport};
use std::fmt::Write;

impl Report {
    /// A Markdown table with a row for each point whose first line was measured: the operation, the size, the time with
    /// its rate, and how many times as long the fastest peer takes. Copies are no peers.
    ///
    /// # Examples
    /// ```
    /// use tilewright_bench::{Axis, Case, Settings, Sweep, Verdict, Work, measure};
    ///
    /// let sweep = Sweep::new("nothing", Axis::log("n", [1, 2])).line("sleep", |_, _| {
    ///     Ok(Case::new((), |_, ()| Ok(()), |()| Ok(Verdict::Right)).work(Work { bytes: 8, flops: 0 }))
    /// });
    /// let report = measure(&tilewright::Runtime::cpu(), "example", &[sweep], &Settings::default(), &mut |_| {})?;
    /// let table = report.markdown();
    /// assert!(table.starts_with("| operation | size | time |"));
    /// assert!(table.lines().nth(2).is_some_and(|row| row.starts_with("| nothing | 1 | 0.0")));
    /// # Ok::<(), tilewright_bench::Error>(())
    /// ```
    pub fn markdown(&self) -> String {
        let mut out =
            "| operation | size | time | speedup over the fastest peer |\n| --- | --- | --- | --- |\n".to_string();
        for sweep in &self.sweeps {
            for row in sweep.points.iter().filter_map(|p| row(sweep, p)) {
                // Writing to a string does not fail.
                let _ = writeln!(out, "{row}");
            }
        }
        out
    }
}

fn row(sweep: &SweepReport, point: &Point) -> Option<String> {
    let (first, others) = sweep.lines.split_first()?;
    let time = point.times(&first.name)?.estimate().value;
    let peers = others.iter().filter(|l| !l.copy);
    let measured = peers.filter_map(|l| Some((point.times(&l.name)?.estimate().value, &l.name)));
    let speedup = match measured.min_by(|a, b| a.0.total_cmp(&b.0)) {
        Some((peer, name)) => format!("{} ({name})", ratio(peer / time)),
        None => "no peer".into(),
    };
    // Arithmetic limits points with many operations for each byte.
    let rate = match point.flops > 20 * point.bytes {
        true => format!("{} TFLOP/s", rate(point.flops as f64 / time / 1e9)),
        false => format!("{} GB/s", rate(point.bytes as f64 / time / 1e6)),
    };
    let size = point.label().replace('x', " × ");
    Some(format!("| {} | {size} | {} ms ({rate}) | {speedup} |", sweep.name, ms(time)))
}
