//! `tile profile OP`, `tile profile --crate FOLDER KERNEL`: of the build, of a size, by lines, or by Nsight Compute

use crate::choose::{self, Backend, Size};
use crate::kernel_code::KernelCode;
use crate::out::{self, outln};
use crate::{debug, profile_launch, profile_ncu, trace};
use anyhow::{Context, Result, bail, ensure};
use std::path::PathBuf;
use tilewright_bench::Table;
use tilewright_conformance::Operation;
use tilewright_core::bundle::{Bundle, Entry};
use tilewright_core::{ConfigDesc, DType};
use tilewright_ops::PinnedConfig;
use tilewright_runtime::Multiprocessor;
use tilewright_runtime::tuning::{BlockResources, Occupancy, OccupancyLimit};

#[derive(clap::Args)]
pub struct Args {
    /// The operation (see `tile list`); with --crate a kernel of that package
    op: String,
    /// The folder of a package with kernels, in place of our own; numbers are those of its last build
    #[arg(long = "crate", value_name = "FOLDER", conflicts_with = "size")]
    package: Option<PathBuf>,
    #[arg(long)]
    dtype: Option<String>,
    /// The compute capability of the GPU, as in 9.0
    #[arg(long, default_value = "9.0", value_parser = capability, conflicts_with = "ncu")]
    arch: (u32, u32),
    /// Also the launches of this size, as in 25000000 or 4096x781: waves, bytes, operations, and on a GPU the time and
    /// its share of the ceilings
    #[arg(long)]
    size: Option<Size>,
    /// A configuration for the launches, as `tile list --json` gives them, or with --crate for --lines and --ncu
    #[arg(long)]
    config: Option<String>,
    /// Multiprocessors of the GPU whose waves are counted
    #[arg(long, default_value_t = 132, requires = "size", conflicts_with = "ncu",
        value_parser = clap::value_parser!(u32).range(1..))]
    sms: u32,
    /// Instead: run on the emulated SM, and count sectors, bank conflicts and barriers by the kernel's lines; with
    /// --crate the launches under Cargo's command
    #[arg(long, group = "counts")]
    lines: bool,
    /// Instead: run on the GPU under Nsight Compute, and show its counters beside the build's numbers, and why warps
    /// stall; with --crate the launches under Cargo's command
    #[arg(long, group = "counts")]
    ncu: bool,
    /// Instead: launch once with marks in the code, on a GPU, and write a timeline of warps to this file, for
    /// ui.perfetto.dev; with --crate of the last launch under Cargo's command
    #[arg(long, value_name = "FILE", conflicts_with = "counts")]
    trace: Option<PathBuf>,
    /// Compile the code with marks to this file, for --compiled on a machine without Rust
    #[arg(long, value_name = "FILE", conflicts_with_all = ["trace", "counts", "package"])]
    compile_only: Option<PathBuf>,
    /// With --trace: a file that --compile-only has written
    #[arg(long, value_name = "FILE", requires = "trace", conflicts_with_all = ["package", "blocks", "marks"])]
    compiled: Option<PathBuf>,
    #[command(flatten)]
    kept: trace::Kept,
    /// With --crate, and --lines, --ncu or --trace: the command for Cargo, as in `test name_of_a_test`; by default
    /// `test`
    #[arg(last = true, requires = "package", conflicts_with = "size")]
    cargo: Vec<String>,
    #[command(flatten)]
    backend: Backend,
}

fn capability(text: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("`{text}` is no compute capability: one is as in 9.0");
    let (major, minor) = text.split_once('.').ok_or_else(wrong)?;
    major.parse().ok().zip(minor.parse().ok()).ok_or_else(wrong)
}

pub fn main(args: Args) -> Result<bool> {
    let Some(folder) = &args.package else { return own(&args) };
    let runs_cargo = args.lines || args.ncu || args.trace.is_some();
    ensure!(args.cargo.is_empty() || runs_cargo, "what Cargo is to run is for --lines, --ncu and --trace");
    let code = || KernelCode::of_package(folder, &args.op, args.dtype.as_deref(), args.config.as_deref());
    if args.ncu {
        return profile_ncu::of_package(&code, folder, &args.cargo, &args.backend, &|c, entry| {
            is_asked(&args, c, entry)
        });
    }
    if let Some(out) = &args.trace {
        return trace::of_package(&code()?, folder, &args.cargo, args.kept, out);
    }
    if args.lines {
        return debug::count_lines(&code()?, folder, &args.cargo);
    }
    let code = code()?;
    let bytes = code.bundle.as_deref();
    let why = "was not compiled for a GPU: `tile doctor` says what is missing, then build the package";
    let bundle = Bundle::parse(bytes.with_context(|| format!("{} {why}", code.name))?)?;
    let entries = bundle.entries().iter().filter(|e| is_asked(&args, &code, e.name)).collect::<Vec<_>>();
    table(&code.name, &entries, args.arch)
}

/// Whether an entry is of the type and the configuration that are asked for: of all where none is.
fn is_asked(args: &Args, code: &KernelCode, entry: &str) -> bool {
    if args.config.is_some() {
        return code.entries.iter().any(|(name, _)| name == entry);
    }
    // The configuration and the variant are the last two parts of a name.
    let kernel_and_types = |entry: &str| entry.rsplitn(3, "__").nth(2).map(str::to_owned);
    let of_types = code.entries.first().and_then(|(name, _)| kernel_and_types(name));
    args.dtype.is_none() || kernel_and_types(entry) == of_types
}

/// An operation of ours.
fn own(args: &Args) -> Result<bool> {
    let op = Operation::find(&args.op)?;
    let dtype = choose::dtype(op, args.dtype.as_deref())?;
    let config = args.config.as_deref().map(|c| choose::config(op, dtype, c)).transpose()?;
    if args.trace.is_some() || args.compile_only.is_some() {
        return traced(args, op, dtype, config);
    }
    if args.lines {
        let size = args.size.clone().map_or_else(|| debug::small(op), |s| s.0);
        return profile_launch::lines(op, dtype, &size, config);
    }
    if args.ncu {
        let size = args.size.clone().map_or_else(|| op.large.to_vec(), |s| s.0);
        return profile_ncu::own(op, dtype, &size, config, &args.backend);
    }
    if let Some(size) = &args.size {
        let machine = profile_launch::Gpu { compute: args.arch, sms: args.sms };
        return profile_launch::launches(op, dtype, &size.0, config, &machine, &args.backend);
    }
    let descs = op.descs(dtype);
    let bundles = descs.iter().filter_map(|d| Some((d, Bundle::parse(d.bundle?))));
    let bundles = bundles.map(|(d, b)| Ok((d, b?))).collect::<Result<Vec<_>>>()?;
    let own = |d: &tilewright_core::KernelDesc, name: &str| {
        let is_asked = |c: &&ConfigDesc| config.is_none_or(|(_, of)| core::ptr::eq(*c, of));
        d.configs.iter().filter(is_asked).any(|c| c.variants.iter().any(|v| v.entry == name))
    };
    let entries: Vec<&Entry> =
        bundles.iter().flat_map(|(d, b)| b.entries().iter().filter(move |e| own(d, e.name))).collect();
    table(&format!("{} {}", op.name, dtype.name()), &entries, args.arch)
}

/// A timeline of an operation of ours, or the code for one.
fn traced(args: &Args, op: &'static Operation, dtype: DType, config: Option<PinnedConfig>) -> Result<bool> {
    let size = args.size.as_ref().map_or_else(|| op.large.to_vec(), |s| s.0.clone());
    let asked = trace::Asked { op, dtype, size: &size, config, kept: args.kept, arch: args.arch, sms: args.sms };
    match (&args.trace, &args.compile_only) {
        (Some(out), _) => trace::run(&asked, &args.backend, args.compiled.as_deref(), out),
        (None, Some(file)) => trace::compile_only(&asked, file),
        (None, None) => unreachable!("one of them is asked for"),
    }
}

/// Registers, shared memory and occupancy of each compiled entry, and the limit of another block. The numbers are those
/// of the build: it needs no GPU.
fn table(name: &str, entries: &[&Entry], arch: (u32, u32)) -> Result<bool> {
    let (major, minor) = arch;
    let Some(sm) = Multiprocessor::of(arch) else {
        bail!("the multiprocessor of compute capability {major}.{minor} is not known here");
    };
    let mut table =
        Table::new(&["entry", "threads", "registers", "spilled", "shared", "blocks", "warps", "limit", "for one more"]);
    let mut found = false;
    for e in entries {
        let Some(usage) = e.usage_for(arch) else { continue };
        found = true;
        let block = BlockResources { threads: e.threads, registers: usage.registers, shared_bytes: e.shared_bytes };
        let occupancy = sm.occupancy(&block);
        let numbers = [block.threads, block.registers, usage.spill_bytes, block.shared_bytes, occupancy.blocks];
        let numbers = numbers.map(|n| n.to_string());
        let warps = format!("{} of {}", occupancy.warps, occupancy.max_warps);
        let limits = occupancy.limits.iter().map(|l| limit(*l)).collect::<Vec<_>>().join(", ");
        let row = [e.name.to_string()].into_iter().chain(numbers);
        table.row(row.chain([warps, limits, one_more(&block, &occupancy)]));
    }
    ensure!(found, "no entry of {name} has numbers of ptxas for {major}.{minor}: see `tile doctor`");
    outln!("{name} on a multiprocessor of compute capability {major}.{minor}");
    out::write(format_args!("{table}"));
    Ok(true)
}

fn limit(limit: OccupancyLimit) -> &'static str {
    match limit {
        OccupancyLimit::Registers => "registers",
        OccupancyLimit::SharedMemory => "shared memory",
        OccupancyLimit::Threads => "threads",
        OccupancyLimit::Blocks => "blocks",
    }
}

/// The most that a block may take of the limiting resource for one more block to fit.
fn one_more(block: &BlockResources, occupancy: &Occupancy) -> String {
    let Some(most) = occupancy.one_more else { return String::new() };
    let all = [
        ("registers", block.registers, most.registers),
        ("bytes shared", block.shared_bytes, most.shared_bytes),
        ("threads", block.threads, most.threads),
    ];
    let needed = all.iter().filter(|(_, now, most)| now > most).map(|(what, _, most)| format!("{most} {what}"));
    needed.collect::<Vec<_>>().join(", ")
}
