//! Rows of the conformance suite that tests choose, and how they run.

use std::cmp::Reverse;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

use tilewright_compiler::features::cover;
use tilewright_conformance::{self as conformance, Row, Scope, Subject};
use tilewright_runtime::Runtime;

/// Configurations, by their index, that have every feature of all configurations between them.
pub fn covering(subjects: &[Subject]) -> Vec<usize> {
    let candidates: Vec<_> =
        subjects.iter().map(|s| (s.features().into_iter().collect::<Vec<_>>(), s.cost())).collect();
    cover(&candidates)
}

/// The rows of some subjects, in their order, on all processors, which take the longest first. A subject runs on the
/// runtime that `on` gives it.
pub fn checked<'a>(subjects: &[(Subject, Scope)], seed: u64, on: impl Fn(&Subject) -> &'a Runtime + Sync) -> Vec<Row> {
    let mut longest_first: Vec<usize> = (0..subjects.len()).collect();
    // Rows as users call them have edge values, too.
    longest_first.sort_by_key(|&i| Reverse((subjects[i].0.config.is_none(), subjects[i].0.cost())));
    let next = AtomicUsize::new(0);
    let work = || {
        let mut rows = vec![];
        loop {
            let Some(&i) = longest_first.get(next.fetch_add(1, Ordering::Relaxed)) else { return rows };
            let (subject, scope) = &subjects[i];
            rows.extend(conformance::check(on(subject), subject, seed, *scope).map(|row| (i, row)));
        }
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut rows: Vec<(usize, Row)> = thread::scope(|s| {
        let started: Vec<_> = (0..threads).map(|_| s.spawn(work)).collect();
        started.into_iter().flat_map(|t| t.join().expect("no row panics")).collect()
    });
    rows.sort_by_key(|(i, _)| *i);
    rows.into_iter().map(|(_, row)| row).collect()
}
