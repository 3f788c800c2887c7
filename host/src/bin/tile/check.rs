//! `tile check`

use crate::choose::{Backend, size_text};
use crate::out::outln;
use anyhow::Result;
use serde::Serialize;
use tile_host::conformance::{self, Options, Row, Scope};
use tile_host::{BackendKind, Runtime};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    backend: Backend,
    /// One operation (see `tile list`); all by default
    #[arg(long)]
    op: Option<String>,
    /// Of the data and, unless the backend has a seed of its own, of the emulator's order of threads
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Every size there is; by default the usual ones, and a covering subset on the emulator
    #[arg(long)]
    all: bool,
    /// Machine-readable; an error without bound is null
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct Report<'a> {
    backend: String,
    device: &'a str,
    seed: u64,
    passed: usize,
    failed: usize,
    /// Commands that run what failed again.
    again: Vec<String>,
    rows: &'a [Row],
}

pub fn main(args: Args) -> Result<bool> {
    let rt = args.backend.open_seeded(args.seed)?;
    let scope = match (args.all, rt.kind() == BackendKind::Emulator) {
        (true, _) => Scope::All,
        (false, true) => Scope::Few,
        (false, false) => Scope::Usual,
    };
    let options = Options { operation: args.op, seed: args.seed, scope };
    let rows = conformance::run(&rt, &options, |row| {
        if !args.json {
            print(row);
        }
    })?;
    let failed = rows.iter().filter(|r| !r.pass).count();
    let passed = rows.len() - failed;
    let mut again: Vec<String> =
        rows.iter().filter(|r| !r.pass).map(|r| repeat(&rt, r.op, args.seed, args.all)).collect();
    again.dedup();
    if args.json {
        let report = Report {
            backend: rt.name(),
            device: &rt.device().name,
            seed: args.seed,
            passed,
            failed,
            again,
            rows: &rows,
        };
        outln!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        let cases: usize = rows.iter().map(|r| r.cases).sum();
        outln!("{passed} passed, {failed} failed ({cases} cases) on {}, seed {}", rt.device().name, args.seed);
        again.iter().for_each(|command| outln!("again: {command}"));
    }
    Ok(failed == 0)
}

fn repeat(rt: &Runtime, op: &str, seed: u64, all: bool) -> String {
    format!("tile check --op {op} --backend {} --seed {seed}{}", rt.name(), if all { " --all" } else { "" })
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
