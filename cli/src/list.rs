//! `tile list`

use crate::out::{self, outln};
use anyhow::Result;
use serde::Serialize;
use tilewright_bench::Table;
use tilewright_conformance::OPERATIONS;
use tilewright_core::KernelDesc;
use tilewright_core::bundle::Bundle;

#[derive(clap::Args)]
pub struct Args {
    /// Machine-readable, with every configuration
    #[arg(long)]
    json: bool,
    /// Registers, spills and shared memory of every compiled entry
    #[arg(long, conflicts_with = "json")]
    usage: bool,
}

#[derive(Serialize)]
struct Operation {
    name: &'static str,
    about: &'static str,
    axes: &'static [&'static str],
    dtypes: Vec<&'static str>,
    kernels: Vec<Kernel>,
}

#[derive(Serialize)]
struct Kernel {
    name: &'static str,
    types: &'static str,
    file: &'static str,
    line: u32,
    configs: Vec<&'static str>,
    compiled: bool,
}

pub fn main(args: Args) -> Result<bool> {
    let kernel = |d: &&'static KernelDesc| Kernel {
        name: d.name,
        types: d.types,
        file: d.file,
        line: d.line,
        configs: d.configs.iter().map(|c| c.id).collect(),
        compiled: d.bundle.is_some(),
    };
    let all = tilewright_kernels::all();
    if args.usage {
        return usage(&all);
    }
    let operations: Vec<_> = OPERATIONS
        .iter()
        .map(|o| Operation {
            name: o.name,
            about: o.about,
            axes: o.axes,
            dtypes: o.dtypes.iter().map(|d| d.name()).collect(),
            kernels: all.iter().filter(|d| o.kernels.contains(&d.name)).map(kernel).collect(),
        })
        .collect();
    if args.json {
        outln!("{}", serde_json::to_string_pretty(&operations)?);
        return Ok(true);
    }
    let mut table = Table::new(&["operation", "size", "dtypes", "configurations", "what it does"]);
    for o in &operations {
        let configs: usize = o.kernels.iter().map(|k| k.configs.len()).sum();
        table.row([o.name.into(), o.axes.join(" x "), o.dtypes.join(" "), configs.to_string(), o.about.into()]);
    }
    out::write(format_args!("{table}"));
    Ok(true)
}

/// The resources that `ptxas` reports for each entry.
fn usage(all: &[&'static KernelDesc]) -> Result<bool> {
    let mut table = Table::new(&["entry", "target", "threads", "registers", "spilled", "local", "shared"]);
    let mut last = "";
    for bytes in all.iter().filter_map(|d| d.bundle) {
        let bundle = Bundle::parse(bytes)?;
        // The descriptors of one kernel share its bundle.
        if std::mem::replace(&mut last, bundle.kernel()) == bundle.kernel() {
            continue;
        }
        for e in bundle.entries() {
            for target in e.targets() {
                // Without ptxas nothing is known of registers.
                let of_ptxas =
                    e.usage(target).map(|u| [u.registers, u.spill_bytes, u.stack_bytes].map(|n| n.to_string()));
                let [registers, spilled, local] = of_ptxas.unwrap_or(["-"; 3].map(String::from));
                let (threads, shared) = (e.threads.to_string(), e.shared_bytes.to_string());
                table.row([e.name.to_string(), target.to_string(), threads, registers, spilled, local, shared]);
            }
        }
    }
    out::write(format_args!("{table}"));
    Ok(true)
}
