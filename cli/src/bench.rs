//! `tile bench OP`

use crate::choose::{self, Backend, Size};
use crate::measure::{Bench, ms, tflops};
use crate::out::outln;
use crate::table::Table;
use anyhow::{Result, bail};
use serde::Serialize;
use std::num::NonZeroUsize;
use tilewright_conformance::{OPERATIONS, Operation, Setup};
use tilewright_core::DType;
use tilewright_runtime::ops::On;
use tilewright_runtime::{BackendKind, Error, Runtime};

#[derive(clap::Args)]
pub struct Args {
    /// The operation; all by default
    op: Option<String>,
    /// As in 25000000 or 4096x781; by default the operation's benchmark sizes
    #[arg(long, requires = "op")]
    size: Option<Size>,
    #[arg(long, requires = "op")]
    dtype: Option<String>,
    /// Time every configuration beside the chosen one
    #[arg(long)]
    configs: bool,
    /// Timed launches per row
    #[arg(long, default_value = "25")]
    reps: NonZeroUsize,
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    backend: Backend,
}

#[derive(Serialize)]
pub struct Row {
    op: &'static str,
    dtype: &'static str,
    size: Vec<u64>,
    config: String,
    median_ms: f64,
    p10_ms: f64,
    p90_ms: f64,
    gb_s: f64,
    /// Of the bandwidth of a copy of as many bytes, measured in this run.
    copy_share: f64,
    tflop_s: f64,
}

pub fn main(args: Args) -> Result<bool> {
    let rt = args.backend.open()?;
    if rt.kind() == BackendKind::Emulator {
        bail!("the emulator's time says nothing about a GPU's: use --backend cuda or cpu");
    }
    let ops: Vec<&Operation> = match &args.op {
        Some(name) => vec![Operation::find(name)?],
        None => OPERATIONS.iter().collect(),
    };
    let mut bench = Bench::new(&rt, args.reps.get())?;
    let mut rows = Vec::new();
    for op in ops {
        let sizes = match &args.size {
            Some(s) => vec![s.0.clone()],
            None => op.bench.iter().map(|s| s.to_vec()).collect(),
        };
        let dtypes = match &args.dtype {
            Some(_) => vec![choose::dtype(op, args.dtype.as_deref())?],
            None => op.dtypes.to_vec(),
        };
        for dtype in dtypes {
            for size in &sizes {
                rows.extend(time(&rt, &mut bench, op, dtype, size, args.configs)?);
            }
        }
    }
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&rows)?);
        return Ok(true);
    }
    let mut table = Table::new(&[
        "operation",
        "dtype",
        "size",
        "median ms",
        "p10",
        "p90",
        "GB/s",
        "% of copy",
        "TFLOP/s",
        "configuration",
    ]);
    for r in &rows {
        let flops = if r.tflop_s > 0.0 { tflops(r.tflop_s) } else { String::new() };
        table.row([
            r.op.into(),
            r.dtype.into(),
            choose::size_text(&r.size),
            ms(r.median_ms),
            ms(r.p10_ms),
            ms(r.p90_ms),
            format!("{:.0}", r.gb_s),
            format!("{:.1}", 100.0 * r.copy_share),
            flops,
            r.config.clone(),
        ]);
    }
    table.print();
    Ok(true)
}

/// The operation as users call it, checked before it is timed; with `configs`, every configuration too.
pub fn time(
    rt: &Runtime,
    bench: &mut Bench,
    op: &'static Operation,
    dtype: DType,
    size: &[u64],
    configs: bool,
) -> Result<Vec<Row>> {
    let setup = Setup::plain(dtype, size, 1);
    let descs = op.descs(dtype);
    let every = descs.iter().flat_map(|d| d.configs.iter().map(move |c| Some((*d, c)))).filter(|_| configs);
    let mut rows = Vec::new();
    for config in std::iter::once(None).chain(every) {
        let mut problem = op.prepare(rt, &setup)?;
        let on = On::new(rt).pin(config);
        match problem.launch(&on) {
            // A configuration may take some arguments alone.
            Err(Error::CannotLaunch { .. }) if config.is_some() => continue,
            done => done?,
        }
        let verdict = problem.check()?;
        if let Some((i, found, wanted)) = verdict.first {
            bail!("{} {}: element {i} is {found:?}, wanted {wanted:?}: not timed", op.name, choose::size_text(size));
        }
        let times = bench.time(|| Ok(problem.launch(&on)?))?;
        let (work, median) = (problem.work(), times.median());
        let gb_s = work.bytes as f64 / median / 1e6;
        rows.push(Row {
            op: op.name,
            dtype: dtype.name(),
            size: size.to_vec(),
            config: config.map_or("auto".into(), |(k, c)| format!("{}[{}]", k.name, c.id)),
            median_ms: median,
            p10_ms: times.quantile(0.1),
            p90_ms: times.quantile(0.9),
            gb_s,
            copy_share: gb_s / bench.copy_bandwidth(work.bytes)?,
            tflop_s: work.flops as f64 / median / 1e9,
        });
    }
    Ok(rows)
}
