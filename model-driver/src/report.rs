//! The model's findings, by severity.

use crate::state::State;

/// The kind of a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Memory is used before its allocation, after its free, in no order with either, or past its end. No program in
    /// safe Rust may reach this.
    Memory,
    /// Two operations in no order touch the same bytes, and one of them writes. A program that orders its streams
    /// does not reach this.
    Race,
    /// A call that no program should make: a handle that does not exist, or a launch whose words are not those of the
    /// kernel.
    Call,
    /// A handle or a block that is left when its context ends.
    Leak,
}

/// One defect.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    pub kind: Kind,
    pub text: String,
}

impl State {
    pub fn report(&mut self, kind: Kind, text: impl Into<String>) {
        let found = Report { kind, text: text.into() };
        // A loop finds the same over and over.
        if !self.reports.contains(&found) {
            self.reports.push(found);
        }
    }

    /// Reports all that still exists on a device as its primary context ends.
    pub fn report_leaks(&mut self, device: usize) {
        // Variables are their library's, which may stay.
        let of_library = |base: &u64| self.variables.values().any(|v| v == base);
        let live = |b: &crate::memory::Block| b.freed.is_none() && b.alive && b.device == device;
        let mut left: Vec<String> = self
            .blocks
            .iter()
            .filter(|(base, b)| live(b) && !of_library(base))
            .map(|(_, b)| {
                format!(
                    "{} bytes that {} allocated{} are not freed",
                    b.end - b.memory.base,
                    b.made_by,
                    if b.graph { " in a graph" } else { "" }
                )
            })
            .collect();
        let primary = self.devices.primary(device);
        let streams = self.streams.iter().filter(|(h, s)| !crate::state::is_default(**h) && Some(s.context) == primary);
        let here = |handle: &&usize| self.device_made_on(**handle) == device;
        let counts = [
            ("streams", streams.count()),
            ("events", self.events.keys().filter(here).count()),
            ("graphs", if self.devices.retained() == 0 { self.graphs.len() } else { 0 }),
            ("instantiated graphs", self.executables.keys().filter(here).count()),
            ("memory pools", self.pools.values().filter(|of| **of == device).count()),
        ];
        left.extend(
            counts.into_iter().filter(|(_, n)| *n > 0).map(|(what, n)| format!("{n} {what} are not destroyed")),
        );
        left.into_iter().for_each(|text| self.report(Kind::Leak, format!("the context ends, and {text}")));
    }
}
