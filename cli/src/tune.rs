//! `tile tune OP`

use crate::choose::{self, Backend, Size};
use crate::out::outln;
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::RefCell;
use std::path::PathBuf;
use std::time::Duration;
use tilewright_bench::format;
use tilewright_conformance::{Operation, Setup};
use tilewright_core::KernelDesc;
use tilewright_ops::ExecOptions;
use tilewright_runtime::tuning::{Autotune, Outcome, Report};
use tilewright_runtime::{BackendKind, Runtime};

#[derive(clap::Args)]
pub struct Args {
    /// The operation (see `tile list`)
    op: String,
    /// As in 25000000 or 4096x781; by default the operation's benchmark sizes, a smaller one on the CPU
    #[arg(long)]
    size: Option<Size>,
    /// By default every one the operation has
    #[arg(long)]
    dtype: Option<String>,
    /// Also write what is known of all that was launched, on this device, as a file for `host/defaults`
    #[arg(long)]
    export: Option<PathBuf>,
    /// Fail where a shipped configuration takes more than 2 % longer than the fastest
    #[arg(long)]
    check: bool,
    #[command(flatten)]
    backend: Backend,
}

/// The time that shipped configurations may lose to the tuned ones, as a part of it.
const MAX_LOSS: f64 = 0.02;

/// Results are kept in the cache (see `tile doctor`); launches use them from then on.
pub fn main(args: Args) -> Result<bool> {
    let op = Operation::find(&args.op)?;
    let rt = args.backend.open()?;
    if rt.kind() == BackendKind::Emulator {
        bail!("the time of the emulated SM says nothing about a GPU's: use --backend cuda or cpu");
    }
    if rt.kind() == BackendKind::Cuda && (args.export.is_some() || args.check) {
        choose::every_configuration("a shipped result")?;
    }
    rt.set_autotune(Autotune::Force);
    let dtypes = match &args.dtype {
        Some(_) => vec![choose::dtype(op, args.dtype.as_deref())?],
        None => op.dtypes.to_vec(),
    };
    let sizes = match args.size {
        Some(s) => vec![s.0],
        None if rt.kind() == BackendKind::Cuda => op.bench.iter().map(|s| s.to_vec()).collect(),
        None => vec![op.moderate()],
    };
    let lines = Lines::of(dtypes.iter().flat_map(|&d| op.descs(d)), &sizes);
    outln!("{}", lines.line(["kernel", "size", "configuration", "ms", ""]));
    let bar = ProgressBar::new((dtypes.len() * sizes.len()) as u64);
    bar.set_style(
        ProgressStyle::with_template("{pos}/{len} {msg} {elapsed}").unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.enable_steady_tick(Duration::from_secs(1));
    let mut slow = Vec::new();
    for &dtype in &dtypes {
        for size in &sizes {
            bar.set_message(format!("{} {} {}", op.name, dtype.name(), choose::size_text(size)));
            let reports = tune(&rt, op, &Setup::plain(dtype, size, 1))?;
            bar.suspend(|| reports.iter().for_each(|(kernel, report)| print(&lines, kernel, size, report)));
            let loses = |(kernel, report): &(&'static KernelDesc, Report)| {
                Some((label(kernel), report.shipped_loses().filter(|l| *l > MAX_LOSS)?))
            };
            slow.extend(reports.iter().filter_map(loses).map(|(kernel, l)| {
                format!(
                    "{kernel} {}: the shipped configuration takes {:.1} % longer",
                    choose::size_text(size),
                    l * 100.0
                )
            }));
            bar.inc(1);
        }
    }
    bar.finish_and_clear();
    if let Some(path) = args.export {
        std::fs::write(&path, rt.export_defaults()).with_context(|| format!("writing {}", path.display()))?;
    }
    slow.iter().for_each(|s| outln!("{s}"));
    Ok(!args.check || slow.is_empty())
}

fn tune(rt: &Runtime, op: &'static Operation, setup: &Setup) -> Result<Vec<(&'static KernelDesc, Report)>> {
    let reports = RefCell::new(Vec::new());
    let mut problem = op.prepare(rt, setup)?;
    problem.launch(&ExecOptions::new(rt).tuning(&reports))?;
    rt.synchronize()?;
    Ok(reports.into_inner())
}

fn print(lines: &Lines, kernel: &KernelDesc, size: &[u64], report: &Report) {
    for (i, c) in report.candidates.iter().enumerate() {
        let time = match &c.outcome {
            Outcome::Ran(t) => format::ms(t.as_secs_f64() * 1e3),
            other => format!("{other:?}"),
        };
        let notes = [(i == report.winner).then_some("chosen"), (Some(i) == report.shipped).then_some("shipped")];
        let note = notes.into_iter().flatten().collect::<Vec<_>>().join(", ");
        outln!("{}", lines.line([&label(kernel), &choose::size_text(size), &c.id, &time, &note]));
    }
}

fn label(kernel: &KernelDesc) -> String {
    if kernel.types.is_empty() { kernel.name.into() } else { format!("{}<{}>", kernel.name, kernel.types) }
}

/// Rows that are printed one by one: columns as wide as the widest that may come.
struct Lines([usize; 3]);

impl Lines {
    fn of(kernels: impl Iterator<Item = &'static KernelDesc>, sizes: &[Vec<u64>]) -> Lines {
        let mut widths = ["kernel".len(), "size".len(), "configuration".len()];
        for k in kernels {
            let config = k.configs.iter().map(|c| c.id.len()).max().unwrap_or(0);
            widths = [widths[0].max(label(k).len()), widths[1], widths[2].max(config)];
        }
        widths[1] = sizes.iter().map(|s| choose::size_text(s).len()).fold(widths[1], usize::max);
        Lines(widths)
    }

    fn line(&self, [kernel, size, config, time, note]: [&str; 5]) -> String {
        let [a, b, c] = self.0;
        format!("{kernel:<a$}  {size:>b$}  {config:<c$}  {time:>8}  {note}").trim_end().to_string()
    }
}
