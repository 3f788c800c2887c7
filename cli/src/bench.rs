//! `tile bench OP`, `tile bench --crate FOLDER`

use crate::benches::{Package, Verb};
use crate::choose::{self, Backend, Size};
use crate::out;
use crate::over::{Over, Points};
use anyhow::{Result, bail};
use tilewright_bench::{Case, Failure, Metric, Options, Skip, Sweep, Verdict, Work};
use tilewright_conformance::{OPERATIONS, Operation, Setup};
use tilewright_core::DType;
use tilewright_ops::{ExecOptions, PinnedConfig};
use tilewright_runtime::{Error, Runtime};

#[derive(clap::Args)]
pub struct Args {
    /// The operation (see `tile list`); by default all of them, at the sizes of their benchmarks; with --crate only the
    /// sweeps whose names contain this
    #[arg(conflicts_with = "from")]
    op: Option<String>,
    #[command(flatten)]
    package: Package,
    /// A range of sizes, as in n=2^12..=2^28, cols=256..=12672:+128 or m=n=k=256,512,1000; by default the operation's
    /// own
    #[arg(long, requires = "op", conflicts_with = "package")]
    over: Option<Over>,
    /// As in 25000000 or 4096x781: sizes to measure (several: repeat it), or with --over the other extents
    #[arg(long, requires = "op", conflicts_with = "package")]
    size: Vec<Size>,
    /// Dtypes, each a sweep of its own, as in f32,f16; by default the operation's first, or all of all operations
    #[arg(long, requires = "op", conflicts_with = "package", value_delimiter = ',')]
    dtype: Vec<String>,
    /// Time every configuration beside the chosen one
    #[arg(long, conflicts_with_all = ["from", "package"])]
    configs: bool,
    #[command(flatten)]
    options: Options,
    #[command(flatten)]
    backend: Backend,
}

pub fn main(args: Args) -> Result<bool> {
    if let Some(folder) = &args.package.package {
        let mut arguments = args.options.arguments()?;
        arguments.extend(args.op.as_ref().map(Into::into));
        let o = &args.options;
        let given = [
            ("--out", o.out.is_some()),
            ("--against", o.against.is_some()),
            ("--from", !o.from.is_empty()),
            ("--json", o.json),
            ("--markdown", o.markdown),
        ];
        let verb = Verb::Measure { single: given.into_iter().find_map(|(name, is_given)| is_given.then_some(name)) };
        return args.package.run(folder, verb, &arguments, args.backend.name());
    }
    let finished = args.options.run("tile bench", || {
        let rt = args.backend.open()?;
        let sweeps = declared(&args, rt.device().compute_capability.is_some())?;
        anyhow::Ok((rt, sweeps))
    })?;
    out::write(format_args!("{}", finished.text));
    Ok(finished.good)
}

/// The sweeps that the arguments ask for.
fn declared(args: &Args, on_gpu: bool) -> Result<Vec<Sweep<'static>>> {
    let Some(name) = &args.op else {
        let each = OPERATIONS.iter().flat_map(|op| op.dtypes.iter().map(move |d| (op, *d)));
        return each
            .map(|(op, dtype)| Ok(sweep(op, dtype, Points::list(op, listed(op, on_gpu)), args.configs)))
            .collect();
    };
    let op = Operation::find(name)?;
    let dtypes = match args.dtype.as_slice() {
        [] => vec![op.dtypes[0]],
        names => names.iter().map(|n| choose::dtype(op, Some(n))).collect::<Result<_>>()?,
    };
    let points = || match (&args.over, args.size.as_slice()) {
        (None, []) => Points::of(op, on_gpu),
        (None, sizes) => {
            let sizes = sizes.iter().map(|s| s.0.clone()).collect();
            Ok(Points::list(op, sizes))
        }
        (Some(over), []) => Points::over(op, over, None, on_gpu),
        (Some(over), [size]) => Points::over(op, over, Some(&size.0), on_gpu),
        (Some(_), _) => bail!("--over takes one --size, for the other extents"),
    };
    dtypes.into_iter().map(|dtype| Ok(sweep(op, dtype, points()?, args.configs))).collect()
}

/// Sizes of an operation's benchmarks; one that a CPU can do in milliseconds there.
fn listed(op: &Operation, on_gpu: bool) -> Vec<Vec<u64>> {
    if on_gpu { op.bench.iter().map(|s| s.to_vec()).collect() } else { vec![op.moderate()] }
}

/// One operation in one dtype, as users call it; with `configs`, every configuration too.
fn sweep(op: &'static Operation, dtype: DType, points: Points, configs: bool) -> Sweep<'static> {
    let name = [vec![format!("{} {}", op.name, dtype.name())], points.fixed.clone()].concat().join(", ");
    // Arithmetic limits operations with an axis to sum over, and memory the others.
    let sums = op.axes.iter().any(|a| ["k", "keys", "taps"].contains(a));
    let points = std::rc::Rc::new(points);
    let sizes = points.clone();
    let mut sweep = Sweep::new(name, points.axis.clone())
        .y(if sums { Metric::Throughput } else { Metric::Bandwidth })
        .extents(move |x| sizes.size(x))
        .tag("op", op.name)
        .tag("dtype", dtype.name());
    let every = op.descs(dtype).into_iter().flat_map(|d| d.configs.iter().map(move |c| Some((d, c))));
    for pin in std::iter::once(None).chain(every.filter(|_| configs)) {
        let line = pin.map_or("auto".into(), |(k, c)| format!("{}[{}]", k.name, c.id));
        let points = points.clone();
        sweep = sweep.line(line, move |rt, x| case(rt, op, &Setup::plain(dtype, &points.size(x), 1), pin));
    }
    if sums { sweep } else { sweep.copy_line() }
}

/// An operation of one size.
fn case(
    rt: &Runtime,
    op: &'static Operation,
    setup: &Setup,
    pin: Option<PinnedConfig>,
) -> Result<Case<'static>, Failure> {
    let problem = op.prepare(rt, setup)?;
    let work = problem.work();
    let case = Case::new(
        problem,
        move |rt, problem| match problem.launch(&ExecOptions::new(rt).pin(pin)) {
            // A configuration may take some arguments alone.
            Err(e @ Error::CannotLaunch { .. }) if pin.is_some() => Err(Skip(e.to_string()).into()),
            done => Ok(done?),
        },
        |problem| {
            Ok(match problem.check()?.first {
                None => Verdict::Right,
                Some((i, found, wanted)) => Verdict::Wrong(format!("element {i} is {found:?}, wanted {wanted:?}")),
            })
        },
    );
    let case = case.work(Work { bytes: work.bytes, flops: work.flops });
    Ok(if op.in_place() { case.in_place() } else { case })
}
