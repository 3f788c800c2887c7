//! `tile check`

use crate::choose::{Backend, size_text};
use anyhow::Result;
use serde::Serialize;
use tile_host::BackendKind;
use tile_host::conformance::{self, Options, Row, Scope};

#[derive(clap::Args)]
pub struct Args {
    #[command(flatten)]
    backend: Backend,
    /// One operation (see `tile list`); all by default
    #[arg(long)]
    op: Option<String>,
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
    backend: &'a str,
    device: &'a str,
    seed: u64,
    passed: usize,
    failed: usize,
    rows: &'a [Row],
}

pub fn main(args: Args) -> Result<bool> {
    let rt = args.backend.open()?;
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
    if args.json {
        let report = Report { backend: &args.backend.backend, device: &rt.device().name, seed: args.seed, passed, failed, rows: &rows };
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        let cases: usize = rows.iter().map(|r| r.cases).sum();
        println!("{passed} passed, {failed} failed ({cases} cases) on {}, seed {}", rt.device().name, args.seed);
    }
    Ok(failed == 0)
}

fn print(row: &Row) {
    let verdict = if row.pass { "ok    " } else { "FAILED" };
    println!(
        "{verdict} {:22} {:5} {:58} worst {:.1e} of {:.1e} at {}",
        row.op,
        row.dtype,
        row.config,
        row.max_error,
        row.tolerance,
        size_text(&row.size)
    );
    if !row.pass {
        println!("       {}", row.note);
    }
}
