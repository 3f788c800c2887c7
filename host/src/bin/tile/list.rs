//! `tile list`

use crate::table::Table;
use anyhow::Result;
use serde::Serialize;
use tile_host::conformance::OPERATIONS;

#[derive(clap::Args)]
pub struct Args {
    /// Machine-readable, with every configuration
    #[arg(long)]
    json: bool,
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
    let kernel = |d: &&'static kernel_core::KernelDesc| Kernel {
        name: d.name,
        types: d.types,
        file: d.file,
        line: d.line,
        configs: d.configs.iter().map(|c| c.id).collect(),
        compiled: d.bundle.is_some(),
    };
    let all = device_kernels::all();
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
        println!("{}", serde_json::to_string_pretty(&operations)?);
        return Ok(true);
    }
    let mut table = Table::new(&["operation", "size", "dtypes", "configurations", "what it does"]);
    for o in &operations {
        let configs: usize = o.kernels.iter().map(|k| k.configs.len()).sum();
        table.row([o.name.into(), o.axes.join(" x "), o.dtypes.join(" "), configs.to_string(), o.about.into()]);
    }
    table.print();
    Ok(true)
}
