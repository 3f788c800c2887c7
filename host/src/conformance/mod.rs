//! The conformance suite: every operation, dtype and configuration against a reference of its own, on any backend.
//! `tile check` and the tests run it; benchmarks and the demo use its data and its checks.

mod catalog;
pub mod data;
pub mod edge_values;
mod guarded;
mod memory;
mod nearest;
mod pattern;
mod problem;
mod problems;
pub mod reference;
mod sizes;
pub mod verdict;

pub use catalog::{OPERATIONS, Operation};
pub use guarded::Guarded;
pub use pattern::{Output, Pattern};
pub use problem::{Problem, Setup, Work};
pub use sizes::Scope;
pub use verdict::Verdict;

use crate::error::{Error, Result};
use crate::ops::On;
use crate::runtime::{BackendKind, Runtime};
use kernel_core::{ConfigDesc, KernelDesc};
use serde::Serialize;

/// What to check.
#[derive(Clone, Debug)]
pub struct Options {
    /// One operation, or all.
    pub operation: Option<String>,
    pub seed: u64,
    pub scope: Scope,
}

/// One result. `cases` of the same operation, dtype and configuration are one row, for the worst of its sizes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    pub op: &'static str,
    pub dtype: &'static str,
    /// `auto` for the operation as users call it, else the kernel and its configuration.
    pub config: String,
    pub cases: usize,
    /// Those among the cases whose inputs are rows of the table of edge values.
    pub edge_cases: usize,
    /// The size with the largest error relative to its tolerance.
    pub size: Vec<u64>,
    pub max_error: f64,
    pub tolerance: f64,
    pub pass: bool,
    /// Why it failed; empty when it passed.
    pub note: String,
}

/// Runs the suite; `seen` gets every row as it is made. Errors: an operation that does not exist. A case that fails,
/// by a wrong result or by an error, is a row.
pub fn run(rt: &Runtime, options: &Options, mut seen: impl FnMut(&Row)) -> Result<Vec<Row>> {
    let chosen: Vec<&Operation> = match &options.operation {
        Some(name) => vec![Operation::find(name)?],
        None => OPERATIONS.iter().collect(),
    };
    let mut rows = Vec::new();
    for op in chosen {
        for &dtype in op.dtypes {
            let descs = op.descs(dtype);
            let configs = descs.iter().flat_map(|d| d.configs.iter().map(move |c| Some((*d, c))));
            for config in std::iter::once(None).chain(configs) {
                if config.is_some_and(|(_, c)| !rt_has(rt, c)) {
                    continue;
                }
                let row = check(rt, op, dtype, config, options);
                if row.cases > 0 {
                    seen(&row);
                    rows.push(row);
                }
            }
        }
    }
    Ok(rows)
}

/// The emulator has the configurations that were compiled for it.
fn rt_has(rt: &Runtime, config: &ConfigDesc) -> bool {
    rt.kind() != BackendKind::Emulator || config.variants.iter().any(|v| v.emulated.is_some())
}

fn check(
    rt: &Runtime,
    op: &'static Operation,
    dtype: kernel_core::DType,
    config: Option<(&'static KernelDesc, &'static ConfigDesc)>,
    options: &Options,
) -> Row {
    let name = config.map_or("auto".into(), |(k, c)| format!("{}[{}]", k.name, c.id));
    let mut row = Row {
        op: op.name,
        dtype: dtype.name(),
        config: name,
        cases: 0,
        edge_cases: 0,
        size: Vec::new(),
        max_error: 0.0,
        tolerance: 0.0,
        pass: true,
        note: String::new(),
    };
    let mut worst = -1.0;
    for setup in setups(op, dtype, config.is_some(), options) {
        let on = On::new(rt).pin(config);
        let result = one(rt, op, &setup, &on);
        // A configuration that takes some arguments alone (aligned ones, say) is checked on those.
        if config.is_some() && matches!(result, Err(Error::CannotLaunch { .. })) {
            continue;
        }
        row.cases += 1;
        row.edge_cases += usize::from(setup.given.is_some());
        let (error, tolerance, note) = match result {
            Ok((v, note)) => (v.error, v.tolerance, note),
            Err(e) => (f64::INFINITY, 0.0, Some(e.to_string())),
        };
        let badness = if error == 0.0 { 0.0 } else { error / tolerance.max(f64::MIN_POSITIVE) };
        if badness > worst {
            (worst, row.max_error, row.tolerance, row.size) = (badness, error, tolerance, setup.size.clone());
        }
        if let Some(note) = note
            && row.pass
        {
            row.pass = false;
            let given = setup.given.map_or(String::new(), |g| format!(", edge values `{}`", g.name));
            let odd = if setup.odd { ", odd address" } else { "" };
            row.note = format!("size {:?}{given}{odd}: {note}", setup.size);
            row.size = setup.size;
        }
    }
    row
}

/// The cases of one row: every size, and every row of the table of edge values.
fn setups(op: &Operation, dtype: kernel_core::DType, pinned: bool, options: &Options) -> Vec<Setup> {
    // At an odd address rows are packed, else those of every other seed.
    let setup = |size: &[u64], seed: u64, odd| Setup {
        odd,
        gaps: !odd && !seed.is_multiple_of(2),
        ..Setup::plain(dtype, size, seed)
    };
    let mut all = Vec::new();
    for (i, size) in op.sizes(options.scope).iter().enumerate() {
        let seed = options.seed.wrapping_add(i as u64);
        // Aligned with plain data, then at an odd address with data that has every special value.
        all.extend([false, true].map(|odd| Setup { awkward: odd, ..setup(size, seed, odd) }));
    }
    for (i, row) in edge_values::rows(op.name, dtype, pinned).enumerate() {
        let seed = options.seed.wrapping_add(i as u64);
        let both = [false, true].map(|odd| Setup { given: Some(row), ..setup(&row.size, seed, odd) });
        // Of chosen configurations there are many: one address each.
        all.extend(both.into_iter().filter(|s| !pinned || s.odd == seed.is_multiple_of(2)));
    }
    all
}

/// The verdict, and what is wrong where it did not pass.
fn one(rt: &Runtime, op: &Operation, setup: &Setup, on: &On) -> Result<(Verdict, Option<String>)> {
    let mut problem = op.prepare(rt, setup)?;
    problem.launch(on)?;
    rt.synchronize()?;
    match setup.given {
        Some(row) => edge_values::compare(row, &problem.outputs()?),
        None => problem.check().map(|v| {
            let note = (!v.passed()).then(|| explain(&v));
            (v, note)
        }),
    }
}

fn explain(v: &Verdict) -> String {
    match v.first {
        Some((i, found, wanted)) => format!("element {i} is {found:?}, wanted {wanted:?}"),
        None => String::new(),
    }
}
