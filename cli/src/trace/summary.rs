//! A timeline as text.

use super::timeline::Timeline;
use crate::out::{self, outln};
use tilewright_bench::Table;
use tilewright_compiler::Variant;

/// Prints where the time of the warps of a launch went.
pub fn print(t: &Timeline) {
    let launch = &t.launch;
    let variant = Variant::of_entry(&launch.entry).map_or(String::new(), |v| format!(" `{}`", v.name()));
    let all: u64 = launch.grid.iter().map(|n| u64::from(*n)).product();
    let (warps, blocks) = (t.recorded.warps.len(), u64::from(t.table.blocks).min(all));
    let (kernel, config, device) = (&launch.kernel, &launch.config, &launch.device);
    outln!(
        "{kernel}[{config}]{variant} on {device}: {blocks} of {all} thread blocks, {warps} warps, {} events",
        t.events()
    );
    if t.dropped() > 0 {
        outln!("{} marks had no place: take more with --marks, or a smaller size", t.dropped());
    }
    let unended = t.recorded.warps.iter().filter(|w| w.run.end.is_none()).count();
    if unended > 0 {
        outln!("{unended} warps have not ended");
    }
    outln!("{:.2} us with marks, from the first begin to the last end", t.length() / 1e3);
    let mut table = Table::new(&["role", "event", "line", "times a warp", "us each", "of its time"]);
    for s in t.shares() {
        let line = if s.line > 0 { s.line.to_string() } else { String::new() };
        let mean = s.mean.map_or(String::new(), |ns| format!("{:.3}", ns / 1e3));
        let part = s.mean.map_or(String::new(), |_| format!("{:.1} %", 100.0 * s.part));
        table.row([s.role, s.label, line, format!("{:.1}", s.times), mean, part]);
    }
    out::write(format_args!("{table}"));
}
