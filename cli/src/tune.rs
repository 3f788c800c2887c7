//! `tile tune OP` and `tile tune --workload FILE`

use crate::choose::{self, Backend, Size};
use crate::out::outln;
use anyhow::{Context, Result, bail};
use indicatif::{ProgressBar, ProgressStyle};
use std::cell::RefCell;
use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tilewright_bench::format;
use tilewright_conformance::{Operation, Setup};
use tilewright_core::{DType, KernelDesc};
use tilewright_ops::ExecOptions;
use tilewright_runtime::tuning::{Autotune, Outcome, Report};
use tilewright_runtime::workload::{Argument, Callee, RecordedCall};
use tilewright_runtime::{BackendKind, Runtime};

#[derive(clap::Args)]
pub struct Args {
    /// The operation (see `tile list`)
    #[arg(required_unless_present = "workload")]
    op: Option<String>,
    /// As in 25000000 or 4096x781; by default the operation's benchmark sizes, a smaller one on the CPU
    #[arg(long)]
    size: Option<Size>,
    /// By default every one the operation has
    #[arg(long)]
    dtype: Option<String>,
    /// Instead of an operation, the calls that a program with TILE_RECORD=FILE has recorded
    #[arg(long, value_name = "FILE", conflicts_with_all = ["op", "size", "dtype"])]
    workload: Option<PathBuf>,
    /// Also write the known results of all launched kernels on this device to a file as in `host/defaults`. The file
    /// keeps its other results
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

type Reports = Vec<(&'static KernelDesc, Report)>;

/// A call that is tuned.
enum Work {
    OfSuite { op: &'static Operation, dtype: DType, size: Vec<u64> },
    Recorded(RecordedCall),
}

/// Results are kept in the cache (see `tile doctor`); launches use them from then on.
pub fn main(args: Args) -> Result<bool> {
    let rt = args.backend.open()?;
    if rt.kind() == BackendKind::Emulator {
        bail!("the time of the emulated SM says nothing about a GPU's: use --backend cuda or cpu");
    }
    if rt.kind() == BackendKind::Cuda && (args.export.is_some() || args.check) {
        choose::every_configuration("a shipped result")?;
    }
    let (work, kernels) = match (&args.op, &args.workload) {
        (_, Some(path)) => (read(path)?, tilewright_kernels::all()),
        (Some(op), None) => of_suite(&rt, Operation::find(op)?, &args)?,
        (None, None) => bail!("there is neither an operation nor a --workload"),
    };
    rt.set_autotune(Autotune::Force);
    let lines = Lines::of(kernels, &work);
    outln!("{}", lines.line(["kernel", "size", "configuration", "ms", ""]));
    let bar = ProgressBar::new(work.len() as u64);
    bar.set_style(
        ProgressStyle::with_template("{pos}/{len} {msg} {elapsed}").unwrap_or_else(|_| ProgressStyle::default_bar()),
    );
    bar.enable_steady_tick(Duration::from_secs(1));
    let (mut slow, mut failed) = (Vec::new(), Vec::new());
    for call in &work {
        bar.set_message(format!("{} {}", call.name(), call.size()));
        let reports = match (tune(&rt, call), call) {
            (Ok(reports), _) => reports,
            // Others of a workload are tuned all the same.
            (Err(e), Work::Recorded(call)) => {
                failed.push(format!("{call}: {e:#}"));
                continue;
            }
            (Err(e), _) => return Err(e),
        };
        bar.suspend(|| reports.iter().for_each(|(kernel, report)| print(&lines, kernel, &call.size(), report)));
        let loses = |(kernel, report): &(&'static KernelDesc, Report)| {
            Some((label(kernel), report.shipped_loses().filter(|l| *l > MAX_LOSS)?))
        };
        slow.extend(reports.iter().filter_map(loses).map(|(kernel, l)| {
            format!("{kernel} {}: the shipped configuration takes {:.1} % longer", call.size(), l * 100.0)
        }));
        bar.inc(1);
    }
    bar.finish_and_clear();
    if let Some(path) = args.export {
        export(&rt, &path)?;
    }
    slow.iter().for_each(|s| outln!("{s}"));
    if !failed.is_empty() {
        outln!("{} of {} calls could not be tuned:", failed.len(), work.len());
        failed.iter().for_each(|f| outln!("  {f}"));
    }
    Ok(failed.is_empty() && (!args.check || slow.is_empty()))
}

/// Writes the known results to a file, beside its results of the same device.
fn export(rt: &Runtime, path: &Path) -> Result<()> {
    let text = if path.exists() {
        let before = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
        rt.export_defaults_beside(&before).with_context(|| format!("reading {}", path.display()))?
    } else {
        rt.export_defaults()
    };
    std::fs::write(path, text).with_context(|| format!("writing {}", path.display()))
}

/// The calls of an operation, and the kernels that it launches.
fn of_suite(rt: &Runtime, op: &'static Operation, args: &Args) -> Result<(Vec<Work>, Vec<&'static KernelDesc>)> {
    let dtypes = match &args.dtype {
        Some(_) => vec![choose::dtype(op, args.dtype.as_deref())?],
        None => op.dtypes.to_vec(),
    };
    let sizes = match &args.size {
        Some(s) => vec![s.0.clone()],
        None if rt.kind() == BackendKind::Cuda => op.bench.iter().map(|s| s.to_vec()).collect(),
        None => vec![op.moderate()],
    };
    let of_dtype = |&dtype: &DType| sizes.iter().map(move |size| Work::OfSuite { op, dtype, size: size.clone() });
    Ok((dtypes.iter().flat_map(of_dtype).collect(), dtypes.iter().flat_map(|&d| op.descs(d)).collect()))
}

/// The calls of a workload, each once.
fn read(path: &Path) -> Result<Vec<Work>> {
    let text = std::fs::read_to_string(path).with_context(|| format!("reading {}", path.display()))?;
    let mut seen = HashSet::new();
    let mut work = Vec::new();
    for (i, line) in text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let call = RecordedCall::parse(line).with_context(|| format!("{}:{}", path.display(), i + 1))?;
        if seen.insert(call.clone()) {
            work.push(Work::Recorded(call));
        }
    }
    Ok(work)
}

impl Work {
    fn name(&self) -> String {
        match self {
            Work::OfSuite { op, dtype, .. } => format!("{} {}", op.name, dtype.name()),
            Work::Recorded(RecordedCall { callee: Callee::Operation(name) | Callee::Kernel(name), types, .. }) => {
                format!("{name} {types}")
            }
        }
    }

    /// The extents of a recorded call's tensors.
    fn size(&self) -> String {
        match self {
            Work::OfSuite { size, .. } => choose::size_text(size),
            Work::Recorded(call) => {
                let argument = |a: &Argument| match a {
                    Argument::Number(n) => n.to_string(),
                    Argument::Tensor(t) => t.dims.iter().map(usize::to_string).collect::<Vec<_>>().join("x"),
                };
                call.arguments.iter().map(argument).collect::<Vec<_>>().join(",")
            }
        }
    }
}

fn tune(rt: &Runtime, work: &Work) -> Result<Reports> {
    match work {
        Work::OfSuite { op, dtype, size } => {
            let reports = RefCell::new(Vec::new());
            let mut problem = op.prepare(rt, &Setup::plain(*dtype, size, 1))?;
            problem.launch(&ExecOptions::new(rt).tuning(&reports))?;
            rt.synchronize()?;
            Ok(reports.into_inner())
        }
        Work::Recorded(call) => Ok(match call.callee {
            Callee::Operation(_) => tilewright_ops::tune_recorded(rt, call)?,
            Callee::Kernel(_) => vec![rt.tune_recorded(&tilewright_kernels::all(), call)?],
        }),
    }
}

fn print(lines: &Lines, kernel: &KernelDesc, size: &str, report: &Report) {
    for (i, c) in report.candidates.iter().enumerate() {
        let time = match &c.outcome {
            Outcome::Ran(t) => format::ms(t.as_secs_f64() * 1e3),
            other => format!("{other:?}"),
        };
        let notes = [(i == report.winner).then_some("chosen"), (Some(i) == report.shipped).then_some("shipped")];
        let note = notes.into_iter().flatten().collect::<Vec<_>>().join(", ");
        outln!("{}", lines.line([&label(kernel), size, &c.id, &time, &note]));
    }
}

fn label(kernel: &KernelDesc) -> String {
    if kernel.types.is_empty() { kernel.name.into() } else { format!("{}<{}>", kernel.name, kernel.types) }
}

/// Rows that are printed one by one: columns as wide as the widest that may come.
struct Lines([usize; 3]);

impl Lines {
    fn of(kernels: Vec<&'static KernelDesc>, work: &[Work]) -> Lines {
        let mut widths = ["kernel".len(), "size".len(), "configuration".len()];
        for k in kernels {
            let config = k.configs.iter().map(|c| c.id.len()).max().unwrap_or(0);
            widths = [widths[0].max(label(k).len()), widths[1], widths[2].max(config)];
        }
        widths[1] = work.iter().map(|w| w.size().len()).fold(widths[1], usize::max);
        Lines(widths)
    }

    fn line(&self, [kernel, size, config, time, note]: [&str; 5]) -> String {
        let [a, b, c] = self.0;
        format!("{kernel:<a$}  {size:>b$}  {config:<c$}  {time:>8}  {note}").trim_end().to_string()
    }
}
