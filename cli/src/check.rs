//! `tile check`, `tile check --crate FOLDER`

use crate::benches::{Package, Verb};
use crate::choose::{Backend, size_text};
use crate::out::outln;
use anyhow::{Result, bail};
use serde::Serialize;
use std::ffi::OsString;
use std::ops::RangeInclusive;
use std::path::Path;
use tilewright_conformance::{self as conformance, Options, Row, Scope};
use tilewright_runtime::{BackendKind, Runtime};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    backend: Backend,
    /// One operation (see `tile list`); all by default; with --crate only the sweeps whose names contain this
    #[arg(long)]
    op: Option<String>,
    #[command(flatten)]
    package: Package,
    /// Of the data and, unless the backend has a seed of its own, of the order of threads on the emulated SM: 7, or
    /// several as in 1..51 or 1..=50
    #[arg(long, default_value = "1")]
    seed: Seeds,
    /// Every size there is; by default the usual ones, and a covering subset on the emulated SM
    #[arg(long, conflicts_with = "package")]
    all: bool,
    /// The table of edge values alone: NaN, infinities, signed zeros, subnormals, empty inputs
    #[arg(long, conflicts_with_all = ["all", "package"])]
    edge_values: bool,
    /// Machine-readable; an error without bound is null
    #[arg(long, conflicts_with = "package")]
    json: bool,
}

/// A seed, or a range of them.
#[derive(Clone)]
struct Seeds(RangeInclusive<u64>);

impl std::str::FromStr for Seeds {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let number = |part: &str| {
            let wrong = || format!("`{part}` is not a seed: one seed is as in 7, several as in 1..51 or 1..=50");
            part.parse::<u64>().map_err(|_| wrong())
        };
        let range = match text.split_once("..") {
            None => number(text).map(|n| n..=n)?,
            Some((first, last)) => match last.strip_prefix('=') {
                Some(last) => number(first)?..=number(last)?,
                // An exclusive end of 0 leaves nothing, as do all that are no greater than the first seed.
                None => match number(last)?.checked_sub(1) {
                    Some(last) => number(first)?..=last,
                    None => return Err(format!("`{text}` has no seed")),
                },
            },
        };
        if range.is_empty() { Err(format!("`{text}` has no seed")) } else { Ok(Seeds(range)) }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    backend: String,
    device: &'a str,
    /// The first one and the last one.
    seed: u64,
    last_seed: u64,
    passed: usize,
    failed: usize,
    /// Commands that run the failed checks again.
    again: Vec<String>,
    rows: &'a [Seeded],
}

#[derive(Serialize)]
struct Seeded {
    seed: u64,
    #[serde(flatten)]
    row: Row,
}

pub fn main(args: Args) -> Result<bool> {
    if let Some(folder) = &args.package.package {
        return of_package(&args, folder);
    }
    let (first, last) = (*args.seed.0.start(), *args.seed.0.end());
    let mut rows: Vec<Seeded> = Vec::new();
    let mut again = Vec::new();
    let mut rt = args.backend.open_seeded(first)?;
    for seed in args.seed.0.clone() {
        if seed != first {
            rt = args.backend.open_seeded(seed)?;
        }
        let of_seed = run(&rt, &args, seed)?;
        again.extend(of_seed.iter().filter(|r| !r.pass).map(|r| repeat(&rt, r.op, seed, &args)));
        if !args.json {
            outln!("{}", summary(&of_seed, &rt.device().name, &format!("seed {seed}")));
        }
        rows.extend(of_seed.into_iter().map(|row| Seeded { seed, row }));
    }
    again.dedup();
    let failed = rows.iter().filter(|r| !r.row.pass).count();
    let passed = rows.len() - failed;
    if args.json {
        let report = Report {
            backend: rt.name(),
            device: &rt.device().name,
            seed: first,
            last_seed: last,
            passed,
            failed,
            again,
            rows: &rows,
        };
        outln!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        if first != last {
            let all: Vec<Row> = rows.into_iter().map(|r| r.row).collect();
            outln!("{}", summary(&all, &rt.device().name, &format!("seeds {first} to {last}")));
        }
        again.iter().for_each(|command| outln!("again: {command}"));
    }
    Ok(failed == 0)
}

/// The checks of the benchmarks of a package. A seed is that of the emulated SM: data is the package's own.
fn of_package(args: &Args, folder: &Path) -> Result<bool> {
    let mut arguments: Vec<OsString> = vec!["--check".into()];
    arguments.extend(args.op.as_ref().map(Into::into));
    let run = |backend: &str| args.package.run(folder, Verb::Check, &arguments, backend);
    if args.backend.name() != "emulator" {
        if args.seed.0.start() != args.seed.0.end() {
            bail!("several seeds are for `--backend emulator`: the data of a package is its own");
        }
        return run(args.backend.name());
    }
    args.seed.0.clone().try_fold(true, |good, seed| Ok(run(&format!("emulator:{seed}"))? && good))
}

/// The suite with one seed. Of several seeds the rows that passed are not printed.
fn run(rt: &Runtime, args: &Args, seed: u64) -> Result<Vec<Row>> {
    let scope = match (args.all, args.edge_values, rt.kind() == BackendKind::Emulator) {
        (true, ..) => Scope::All,
        (_, true, _) => Scope::EdgeValues,
        (.., true) => Scope::Few,
        (.., false) => Scope::Usual,
    };
    let one = args.seed.0.start() == args.seed.0.end();
    let options = Options { operation: args.op.clone(), seed, scope };
    let rows = conformance::run(rt, &options, |row| {
        if !args.json && (one || !row.pass) {
            print(row);
        }
    })?;
    Ok(rows)
}

fn summary(rows: &[Row], device: &str, seeds: &str) -> String {
    let failed = rows.iter().filter(|r| !r.pass).count();
    let cases: usize = rows.iter().map(|r| r.cases).sum();
    let edge: usize = rows.iter().map(|r| r.edge_cases).sum();
    let passed = rows.len() - failed;
    format!("{passed} passed, {failed} failed ({cases} cases, {edge} of edge values) on {device}, {seeds}")
}

fn repeat(rt: &Runtime, op: &str, seed: u64, args: &Args) -> String {
    let scope = match (args.all, args.edge_values) {
        (true, _) => " --all",
        (_, true) => " --edge-values",
        _ => "",
    };
    format!("tile check --op {op} --backend {} --seed {seed}{scope}", rt.name())
}

fn print(row: &Row) {
    let verdict = if row.pass { "ok    " } else { "FAILED" };
    outln!(
        "{verdict} {:22} {:5} {:58} worst {:.1e} of {:.1e} at {}",
        row.op,
        row.dtype,
        row.config,
        row.max_error,
        row.tolerance,
        size_text(&row.size)
    );
    if !row.pass {
        outln!("       {}", row.note);
    }
}
