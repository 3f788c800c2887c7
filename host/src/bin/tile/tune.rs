//! `tile tune OP`

use crate::choose::{self, Backend, Size};
use crate::measure::ms;
use crate::table::Table;
use anyhow::{Context, Result, bail};
use std::cell::RefCell;
use std::path::PathBuf;
use tile_host::conformance::{Operation, Setup};
use tile_host::ops::On;
use tile_host::{Autotune, BackendKind, Outcome, Runtime};

#[derive(clap::Args)]
pub struct Args {
    /// The operation (see `tile list`)
    op: String,
    /// As in 25000000 or 4096x781; by default the operation's benchmark sizes
    #[arg(long)]
    size: Option<Size>,
    /// By default every one the operation has
    #[arg(long)]
    dtype: Option<String>,
    /// Also write all that is known of this operation on this device, as a file for `host/defaults`
    #[arg(long)]
    export: Option<PathBuf>,
    #[command(flatten)]
    backend: Backend,
}

/// Results are kept in the cache (see `tile doctor`); launches use them from then on.
pub fn main(args: Args) -> Result<bool> {
    let op = Operation::find(&args.op)?;
    let rt = args.backend.open()?;
    if rt.kind() == BackendKind::Emulator {
        bail!("the emulator's time says nothing about a GPU's: use --backend cuda or cpu");
    }
    rt.set_autotune(Autotune::Force);
    let dtypes = match &args.dtype {
        Some(_) => vec![choose::dtype(op, args.dtype.as_deref())?],
        None => op.dtypes.to_vec(),
    };
    let sizes = args.size.map_or_else(|| op.bench.iter().map(|s| s.to_vec()).collect(), |s| vec![s.0]);
    let mut table = Table::new(&["kernel", "size", "configuration", "ms", ""]);
    for &dtype in &dtypes {
        for size in &sizes {
            tune(&rt, op, &Setup { dtype, size: size.clone(), seed: 1, odd: false, awkward: false }, &mut table)?;
        }
    }
    table.print();
    if let Some(path) = args.export {
        let descs: Vec<_> = dtypes.iter().flat_map(|&d| op.descs(d)).collect();
        std::fs::write(&path, rt.export_defaults(&descs)).with_context(|| format!("writing {}", path.display()))?;
    }
    Ok(true)
}

fn tune(rt: &Runtime, op: &'static Operation, setup: &Setup, table: &mut Table) -> Result<()> {
    let reports = RefCell::new(Vec::new());
    let mut problem = op.prepare(rt, setup)?;
    problem.launch(&On::new(rt).tuning(&reports))?;
    rt.synchronize()?;
    let size = choose::size_text(&setup.size);
    for (kernel, report) in reports.into_inner() {
        for (i, c) in report.candidates.iter().enumerate() {
            let time = match &c.outcome {
                Outcome::Ran(t) => ms(t.as_secs_f64() * 1e3),
                other => format!("{other:?}"),
            };
            let name = if kernel.types.is_empty() { kernel.name.into() } else { format!("{}<{}>", kernel.name, kernel.types) };
            let note = if i == report.winner { "chosen" } else { "" };
            table.row([name, size.clone(), c.id.clone(), time, note.into()]);
        }
    }
    Ok(())
}
