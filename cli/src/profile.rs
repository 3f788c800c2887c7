//! `tile profile OP`

use crate::choose;
use crate::out::{self, outln};
use anyhow::{Context, Result, bail};
use tilewright_bench::Table;
use tilewright_conformance::Operation;
use tilewright_core::bundle::Bundle;
use tilewright_runtime::{BlockResources, Multiprocessor, Occupancy, OccupancyLimit};

#[derive(clap::Args)]
pub struct Args {
    /// The operation (see `tile list`)
    op: String,
    #[arg(long)]
    dtype: Option<String>,
    /// The compute capability of the GPU, as in 9.0
    #[arg(long, default_value = "9.0", value_parser = capability)]
    arch: (u32, u32),
}

fn capability(text: &str) -> Result<(u32, u32), String> {
    let wrong = || format!("`{text}` is no compute capability: one is as in 9.0");
    let (major, minor) = text.split_once('.').ok_or_else(wrong)?;
    major.parse().ok().zip(minor.parse().ok()).ok_or_else(wrong)
}

/// Registers, shared memory and occupancy of each compiled entry of an operation, and what stands in the way of another
/// block. Of the build's own numbers: it needs no GPU.
pub fn main(args: Args) -> Result<bool> {
    let op = Operation::find(&args.op)?;
    let dtype = choose::dtype(op, args.dtype.as_deref())?;
    let (major, minor) = args.arch;
    let Some(sm) = Multiprocessor::of(args.arch) else {
        bail!("the multiprocessor of compute capability {major}.{minor} is not known here");
    };
    let mut table =
        Table::new(&["entry", "threads", "registers", "spilled", "shared", "blocks", "warps", "limit", "for one more"]);
    let mut found = false;
    for desc in op.descs(dtype) {
        let Some(bytes) = desc.bundle else { continue };
        let bundle = Bundle::parse(bytes)?;
        let own = |name: &str| desc.configs.iter().any(|c| c.variants.iter().any(|v| v.entry == name));
        for e in bundle.entries().iter().filter(|e| own(e.name)) {
            let Some(usage) = e.usage_for(args.arch) else { continue };
            found = true;
            let block = BlockResources { threads: e.threads, registers: usage.registers, shared_bytes: e.shared_bytes };
            let occupancy = sm.occupancy(&block);
            let numbers = [block.threads, block.registers, usage.spill_bytes, block.shared_bytes, occupancy.blocks];
            let numbers = numbers.map(|n| n.to_string());
            let warps = format!("{} of {}", occupancy.warps, occupancy.max_warps);
            let limits = occupancy.limits.iter().map(|l| name(*l)).collect::<Vec<_>>().join(", ");
            let row = [e.name.to_string()].into_iter().chain(numbers);
            table.row(row.chain([warps, limits, one_more(&block, &occupancy)]));
        }
    }
    if !found {
        let why = format!("no entry of {} {} has numbers of ptxas for {major}.{minor}", op.name, dtype.name());
        return None.context(why + ": see `tile doctor`");
    }
    outln!("{} {} on a multiprocessor of compute capability {major}.{minor}", op.name, dtype.name());
    out::write(format_args!("{table}"));
    Ok(true)
}

fn name(limit: OccupancyLimit) -> &'static str {
    match limit {
        OccupancyLimit::Registers => "registers",
        OccupancyLimit::SharedMemory => "shared memory",
        OccupancyLimit::Threads => "threads",
        OccupancyLimit::Blocks => "blocks",
    }
}

/// What a block would have to take at most, of what limits it.
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
