//! A traced launch: its marks, and the shares of its warps' time.

use super::clock::Clocks;
use super::records::{Recorded, Run, decode};
use super::table::Table;
use anyhow::Result;
use std::collections::BTreeMap;
use tilewright_runtime::private::TracedLaunch;

/// A launch.
pub struct Timeline {
    pub table: Table,
    pub launch: TracedLaunch,
    pub recorded: Recorded,
    pub clocks: Clocks,
}

/// The time of the warps of a role in an event.
#[derive(Clone, Debug, PartialEq)]
pub struct RoleTime {
    pub role: String,
    pub label: String,
    pub line: u32,
    /// Times that a warp did it, on average.
    pub times: f64,
    /// Mean nanoseconds; none for an event without duration.
    pub mean: Option<f64>,
    /// Of the time of the role's warps.
    pub part: f64,
}

impl Timeline {
    pub fn new(table: Table, launch: TracedLaunch) -> Result<Timeline> {
        let grid = launch.grid.iter().map(|n| u64::from(*n)).product();
        let recorded = decode(&launch.array, &table, grid)?;
        let clocks = Clocks::of(&recorded, launch.clock_khz);
        Ok(Timeline { table, launch, recorded, clocks })
    }

    /// A block by its number in the grid.
    pub fn block(&self, number: u32) -> [u32; 3] {
        let [x, y, _] = self.launch.grid.map(|n| n.max(1));
        [number % x, number / x % y, number / x / y]
    }

    /// Nanoseconds after the first begin, of a run. One that has not ended takes no time.
    pub fn span_of(&self, run: &Run) -> [f64; 2] {
        let at = |clock: u64| self.clocks.ns(run.sm, clock);
        let from = at(run.begin.clock);
        [from, run.end.map_or(from, |end| at(end.clock).max(from))]
    }

    /// Marks that had no place.
    pub fn dropped(&self) -> u64 {
        self.recorded.warps.iter().map(|w| w.dropped).sum()
    }

    /// Events that were recorded.
    pub fn events(&self) -> usize {
        self.recorded.warps.iter().map(|w| w.spans.len()).sum()
    }

    /// From the first begin to the last end, in nanoseconds.
    pub fn length(&self) -> f64 {
        let runs = self.recorded.blocks.iter().map(|(_, run)| run).chain(self.recorded.warps.iter().map(|w| &w.run));
        runs.map(|run| self.span_of(run)[1]).fold(0.0, f64::max)
    }

    /// The shares of each role's time, by role, the longest first. An event with others within it counts as a whole.
    pub fn shares(&self) -> Vec<RoleTime> {
        let mut roles: BTreeMap<String, (usize, f64)> = BTreeMap::new();
        let mut sums: BTreeMap<(String, u32), (usize, f64, bool)> = BTreeMap::new();
        for w in &self.recorded.warps {
            let role = self.table.role(w.warp);
            let [from, to] = self.span_of(&w.run);
            let of_role = roles.entry(role.clone()).or_default();
            *of_role = (of_role.0 + 1, of_role.1 + to - from);
            for s in w.spans.iter().filter(|s| !s.is_cut) {
                let sum = sums.entry((role.clone(), s.event)).or_default();
                let ns = (s.to - s.from) as f64 * self.clocks.period;
                *sum = (sum.0 + 1, sum.1 + ns, s.is_instant);
            }
        }
        let share = |((role, event), (count, ns, is_instant)): ((String, u32), (usize, f64, bool))| {
            let (warps, all) = roles[&role];
            let event = self.table.event(event)?;
            Some(RoleTime {
                label: event.label.clone(),
                line: event.line,
                times: count as f64 / warps as f64,
                mean: (!is_instant).then_some(ns / count as f64),
                part: if all > 0.0 { ns / all } else { 0.0 },
                role,
            })
        };
        let mut shares: Vec<RoleTime> = sums.into_iter().filter_map(share).collect();
        shares.sort_by(|a, b| a.role.cmp(&b.role).then(b.part.total_cmp(&a.part)));
        shares
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::records::tests::{Written, at, table};
    use tilewright_core::TracePhase;

    #[test]
    fn the_time_of_warps_is_shared_out() {
        let table = table();
        let mut array = Written::new(&table);
        // A nanosecond a cycle, and both warps run for 1000.
        for (slot, wait) in [(0, 100), (7, 300)] {
            array.head(slot, 1, [at(0, 7000), at(1000, 8000)], 3);
            array.mark(slot + 3, 10, (2, TracePhase::Begin), 0);
            array.mark(slot + 4, 10 + wait, (2, TracePhase::End), 0);
            array.mark(slot + 5, 900, (3, TracePhase::Instant), 0);
        }
        let launch = TracedLaunch { grid: [4, 2, 1], array: array.0, ..TracedLaunch::default() };
        let t = Timeline::new(table, launch).expect("it is whole");
        assert_eq!((t.block(0), t.block(5), t.length(), t.events(), t.dropped()), ([0, 0, 0], [1, 1, 0], 1000.0, 4, 0));
        let of = |label: &str, mean, part| RoleTime {
            role: "warp".into(),
            label: label.into(),
            line: 5,
            times: 1.0,
            mean,
            part,
        };
        assert_eq!(t.shares(), [of("barrier", Some(200.0), 0.2), of("release 0", None, 0.0)]);
    }
}
