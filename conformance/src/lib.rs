//! The conformance suite: every operation, dtype and configuration against a reference of its own, on any backend.
//! `tile check` and the tests run it; benchmarks and the demo use its data and its checks.
#![warn(missing_docs)]

mod catalog;
pub mod data;
pub mod edge_values;
mod families;
mod guarded;
mod memory;
mod nearest;
mod operation;
mod pattern;
mod problem;
mod problems;
pub mod reference;
mod sizes;
pub mod verdict;

pub use catalog::{OPERATIONS, UnknownOperation};
pub use guarded::Guarded;
pub use operation::Operation;
pub use pattern::{Output, Pattern};
pub use problem::{Gaps, Problem, Setup, Work};
pub use sizes::Scope;
pub use verdict::Verdict;

use serde::Serialize;
use std::collections::BTreeSet;
use tilewright_core::{ConfigDesc, DType, KernelDesc, VariantDesc};
use tilewright_ops::ExecOptions;
use tilewright_runtime::{BackendKind, Runtime};
use tilewright_runtime::{Error, Result};

/// The choice of checks.
#[derive(Clone, Debug)]
pub struct Options {
    /// One operation, or all.
    pub operation: Option<String>,
    /// The seed of inputs.
    pub seed: u64,
    /// The sizes and the inputs that are checked.
    pub scope: Scope,
}

/// One result. `cases` of the same operation, dtype and configuration are one row, for the worst of its sizes.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The name of the operation.
    pub op: &'static str,
    /// The name of the element type.
    pub dtype: &'static str,
    /// `auto` for the operation as users call it, else the kernel and its configuration.
    pub config: String,
    /// Problems that were checked.
    pub cases: usize,
    /// The cases whose inputs are rows of the table of edge values.
    pub edge_cases: usize,
    /// The size with the largest error relative to its tolerance.
    pub size: Vec<u64>,
    /// The largest error of that size, in the measure of `tolerance`.
    pub max_error: f64,
    /// The largest error that passes.
    pub tolerance: f64,
    /// Whether every case passed.
    pub pass: bool,
    /// Why it failed; empty when it passed.
    pub note: String,
    /// [Features](tilewright_core::VariantDesc::features) of the code that ran; empty on a backend that is not the
    /// emulated SM.
    #[serde(skip)]
    pub features: BTreeSet<&'static str>,
}

/// The subject of a row: an operation in one dtype, as users call it or with one configuration.
#[derive(Clone, Copy)]
pub struct Subject {
    /// The operation.
    pub operation: &'static Operation,
    /// Its element type.
    pub dtype: DType,
    /// None for the operation as users call it.
    pub config: Option<(&'static KernelDesc, &'static ConfigDesc)>,
}

impl Subject {
    fn sizes(&self, scope: Scope) -> Vec<Vec<u64>> {
        let mut sizes = self.operation.sizes(scope);
        if scope == Scope::Usual && self.config.is_some_and(|(kernel, _)| kernel.name.starts_with("matmul_row_")) {
            sizes.retain(|size| size[0] <= ROWS_OF_GEMV);
        }
        if self.config.is_some_and(|(kernel, _)| kernel.name.starts_with("matmul_outer")) {
            sizes.retain(|size| size[2] <= MAX_DEPTH_OF_OUTER_PRODUCTS);
        }
        sizes
    }

    /// The features of the emulated code of its configuration. Of the operation as users call it nothing is known
    /// before it runs.
    pub fn features(&self) -> BTreeSet<&'static str> {
        self.emulated().flat_map(|v| v.features.lines()).collect()
    }

    /// Grows with the time that it takes on the emulated SM.
    pub fn cost(&self) -> u64 {
        self.emulated().filter_map(|v| v.emulated).map(|e| u64::from(e.threads * e.ctas + e.shared_bytes / 16)).sum()
    }

    fn emulated(&self) -> impl Iterator<Item = &'static VariantDesc> {
        self.config.into_iter().flat_map(|(_, c)| c.variants).filter(|v| v.emulated.is_some())
    }
}

/// The rows that there are on a runtime. Errors: an operation that does not exist.
pub fn subjects(rt: &Runtime, operation: Option<&str>) -> Result<Vec<Subject>, UnknownOperation> {
    let chosen: Vec<&'static Operation> = match operation {
        Some(name) => vec![Operation::find(name)?],
        None => OPERATIONS.iter().collect(),
    };
    let mut all = Vec::new();
    for operation in chosen {
        for &dtype in operation.dtypes {
            let descs = operation.descs(dtype);
            let pinned = descs.iter().flat_map(|d| d.configs.iter().map(|c| (*d, c))).filter(|(_, c)| rt_has(rt, c));
            let configs = std::iter::once(None).chain(pinned.map(Some));
            all.extend(configs.map(|config| Subject { operation, dtype, config }));
        }
    }
    Ok(all)
}

/// Runs the suite; `seen` gets every row as it is made. Errors: an operation that does not exist. A case that fails,
/// by a wrong result or by an error, is a row.
pub fn run(rt: &Runtime, options: &Options, mut seen: impl FnMut(&Row)) -> Result<Vec<Row>, UnknownOperation> {
    let mut rows = Vec::new();
    for subject in subjects(rt, options.operation.as_deref())? {
        if let Some(row) = check(rt, &subject, options.seed, options.scope) {
            seen(&row);
            rows.push(row);
        }
    }
    Ok(rows)
}

/// The emulator has the configurations that were compiled for it.
fn rt_has(rt: &Runtime, config: &ConfigDesc) -> bool {
    match rt.kind() {
        BackendKind::Cpu => true,
        BackendKind::Cuda => config.variants.iter().any(|v| v.built),
        BackendKind::Emulator => config.variants.iter().any(|v| v.emulated.is_some()),
    }
}

/// Checks one row; none where its configuration takes none of the sizes.
pub fn check(rt: &Runtime, subject: &Subject, seed: u64, scope: Scope) -> Option<Row> {
    let &Subject { operation: op, dtype, config } = subject;
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
        features: BTreeSet::new(),
    };
    #[cfg(feature = "emulator")]
    let launched = tilewright_runtime::Launched::start();
    let mut worst = -1.0;
    for setup in setups(subject, seed, scope) {
        let on = ExecOptions::new(rt).pin(config);
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
    #[cfg(feature = "emulator")]
    {
        row.features = launched.variants().into_iter().flat_map(|v| v.features.lines()).collect();
    }
    (row.cases > 0).then_some(row)
}

/// The most rows of a usual size of a product by a kernel of matrices of one row, which multiplies whole tiles for each
/// row.
const ROWS_OF_GEMV: u64 = 33;

/// The largest K that kernels of outer products take.
const MAX_DEPTH_OF_OUTER_PRODUCTS: u64 = 16;

/// The gaps of one more case of a size, for sizes in turn: rows that begin at no vector.
const NARROW: [Option<Gaps>; 3] = [Some(Gaps::Words), Some(Gaps::DoubleWords), None];

/// The cases of one row: every size, and every row of the table of edge values.
fn setups(subject: &Subject, first: u64, scope: Scope) -> Vec<Setup> {
    let &Subject { operation: op, dtype, config } = subject;
    let pinned = config.is_some();
    // At an odd address rows are packed, else those of every other seed.
    let setup = |size: &[u64], seed: u64, odd| Setup {
        odd,
        gaps: if odd || seed.is_multiple_of(2) { Gaps::None } else { Gaps::Vectors },
        ..Setup::plain(dtype, size, seed)
    };
    let mut all = Vec::new();
    for (i, size) in subject.sizes(scope).iter().enumerate() {
        let seed = first.wrapping_add(i as u64);
        // Aligned with plain data, then at an odd address with data that has every special value.
        all.extend([false, true].map(|odd| Setup { awkward: odd, ..setup(size, seed, odd) }));
        all.extend(NARROW[i % NARROW.len()].map(|gaps| Setup { gaps, ..setup(size, seed, false) }));
    }
    for (i, row) in edge_values::rows(op.name, dtype, pinned).enumerate() {
        let seed = first.wrapping_add(i as u64);
        let both = [false, true].map(|odd| Setup { given: Some(row), ..setup(&row.size, seed, odd) });
        // Of chosen configurations there are many: one address each.
        all.extend(both.into_iter().filter(|s| !pinned || s.odd == seed.is_multiple_of(2)));
    }
    all
}

/// The verdict, and the defect if it did not pass.
fn one(rt: &Runtime, op: &Operation, setup: &Setup, on: &ExecOptions) -> Result<(Verdict, Option<String>)> {
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
