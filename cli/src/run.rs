//! `tile run OP`

use crate::choose::{self, Backend, Size};
use crate::out::outln;
use anyhow::{Result, anyhow};
use std::time::{Duration, Instant};
use tilewright_conformance::{Operation, Problem, Setup, Verdict};
use tilewright_ops::{ExecOptions, PinnedConfig};
use tilewright_runtime::Runtime;

#[derive(clap::Args)]
pub struct Args {
    /// The operation (see `tile list`)
    op: String,
    /// As in 25000000 or 4096x781
    #[arg(long)]
    size: Option<Size>,
    #[arg(long)]
    dtype: Option<String>,
    /// A configuration, as `tile list --json` gives them; by default the tuned one
    #[arg(long)]
    config: Option<String>,
    /// Of the data and, unless the backend has a seed of its own, of the order of threads on the emulated SM
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// For `tile profile --ncu`: launch, and compare nothing
    #[arg(long, hide = true)]
    unchecked: bool,
    #[command(flatten)]
    backend: Backend,
}

pub fn main(args: Args) -> Result<bool> {
    let op = Operation::find(&args.op)?;
    let dtype = choose::dtype(op, args.dtype.as_deref())?;
    let config = args.config.as_deref().map(|c| choose::config(op, dtype, c)).transpose()?;
    let rt = args.backend.open_seeded(args.seed)?;
    let size = args.size.map_or_else(|| op.large.to_vec(), |s| s.0);
    let setup = Setup::plain(dtype, &size, args.seed);
    let mut problem = op.prepare(&rt, &setup)?;
    let pinned = config.map_or(String::new(), |(k, c)| format!(" --config '{}[{}]'", k.name, c.id));
    let size = choose::size_text(&setup.size);
    let again = format!(
        "tile run {} --size {size} --dtype {}{pinned} --seed {} --backend {}",
        op.name,
        dtype.name(),
        args.seed,
        rt.name()
    );
    if args.unchecked {
        problem.launch(&ExecOptions::new(&rt).pin(config))?;
        rt.synchronize()?;
        return Ok(true);
    }
    let (took, verdict) = attempt(&rt, problem.as_mut(), config).map_err(|e| anyhow!("{e}\nagain: {again}"))?;
    outln!("{} {} {size} on {}: {:.3} ms", op.name, dtype.name(), rt.device().name, took.as_secs_f64() * 1e3);
    outln!("largest error {:.2e}, allowed {:.2e}", verdict.error, verdict.tolerance);
    if let Some((i, found, wanted)) = verdict.first {
        outln!("WRONG: element {i} is {found:?}, wanted {wanted:?}");
        outln!("again: {again}");
    }
    Ok(verdict.passed())
}

fn attempt(
    rt: &Runtime,
    problem: &mut dyn Problem,
    config: Option<PinnedConfig>,
) -> tilewright_runtime::Result<(Duration, Verdict)> {
    let on = ExecOptions::new(rt).pin(config);
    let start = Instant::now();
    problem.launch(&on)?;
    rt.synchronize()?;
    let took = start.elapsed();
    Ok((took, problem.check()?))
}
