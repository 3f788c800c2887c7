//! The counters of a launch by the lines of the kernel, as text.

use std::collections::BTreeMap;

use super::report::{GlobalSite, Report, SharedSite};

/// The accesses to memory and the barriers of each line, with the line itself. `source` is the file of the kernel.
///
/// # Examples
/// ```
/// use tilewright_core::emulator::{GlobalSite, Report, by_line};
///
/// let site = GlobalSite { site: 2, instructions: 4, bytes: 512, sectors: 64, ideal: 16, ..GlobalSite::default() };
/// let report = Report { global_sites: vec![site], ..Report::default() };
/// let text = by_line(&report, "fn kernel() {\n    let v = load(x, 8 * i);\n}");
/// assert_eq!(
///     text,
///     "line 2: let v = load(x, 8 * i);\n  global load: 4 instructions, 64 sectors (ideal 16), 25 % of their bytes used\n"
/// );
/// ```
pub fn by_line(report: &Report, source: &str) -> String {
    let mut lines: BTreeMap<u32, Vec<String>> = BTreeMap::new();
    for s in &report.global_sites {
        lines.entry(s.site).or_default().push(of_global(s));
    }
    for s in &report.shared_sites {
        lines.entry(s.site).or_default().push(of_shared(s));
    }
    for s in &report.barrier_sites {
        let counts = [(s.barriers, "barriers"), (s.mbarrier_waits, "waits of threads for an mbarrier")];
        let said = counts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}"));
        lines.entry(s.site).or_default().extend(said);
    }
    let text = |line: u32| (line as usize).checked_sub(1).and_then(|i| source.lines().nth(i)).unwrap_or_default();
    let each = lines.into_iter().map(|(line, said)| {
        let said: String = said.iter().map(|s| format!("  {s}\n")).collect();
        format!("line {line}: {}\n{said}", text(line).trim())
    });
    each.collect()
}

fn of_global(s: &GlobalSite) -> String {
    let (name, n) = (if s.write { "store" } else { "load" }, s.instructions);
    let used = 100 * s.bytes / (32 * s.sectors).max(1);
    let left_out = match s.left_out {
        0 => String::new(),
        n => format!("; {n} more accesses of lanes are not counted: profile a smaller size"),
    };
    let sectors = format!("{} sectors (ideal {}), {used} % of their bytes used", s.sectors, s.ideal);
    format!("global {name}: {n} instructions, {sectors}{left_out}")
}

fn of_shared(s: &SharedSite) -> String {
    let (name, n) = (if s.write { "store" } else { "load" }, s.instructions);
    let conflicts = match s.wavefronts > s.ideal {
        false => "no bank conflicts".to_string(),
        true => format!("{} without bank conflicts; {} conflict, the worst {}-way", s.ideal, s.conflicting, s.worst),
    };
    format!("shared {name}: {n} instructions, {} wavefronts, {conflicts}", s.wavefronts)
}
