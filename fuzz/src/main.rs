//! `cargo run -p tilewright-fuzz`: runs random kernels on the CPU, thread by thread on the emulated SM, and on the GPU
//! if there is one. `--seed 1207 --kernels 1` makes the kernel `k1207` again.

use std::process::Command;

use anyhow::{Result, bail};
use clap::Parser;

/// Kernels of one crate.
const AT_A_TIME: usize = 48;

#[derive(Parser)]
struct Args {
    /// The first kernel's seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many.
    #[arg(long, default_value_t = 24)]
    kernels: u64,
    /// One kind of kernels alone: tiles, products, chains, batches or in-place.
    #[arg(long)]
    only: Option<String>,
    /// Compile them for GPUs, too: for the targets of `TILE_TARGETS`.
    #[arg(long)]
    device: bool,
    /// Compile the tests, and do not run them.
    #[arg(long)]
    no_run: bool,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let mut failed = vec![];
    let seeds: Vec<u64> = (args.seed..args.seed + args.kernels).collect();
    // Some at a time: they are one crate, which takes memory to compile.
    for some in seeds.chunks(AT_A_TIME) {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()));
        cargo.args(["test", "--quiet", "--package", "tilewright-fuzz-cases"]);
        cargo.args(if args.no_run { ["--no-run"] } else { ["--no-fail-fast"] });
        cargo.env("TILE_FUZZ_SEED", some[0].to_string()).env("TILE_FUZZ_KERNELS", some.len().to_string());
        cargo.env("TILE_FUZZ_ONLY", args.only.as_deref().unwrap_or_default());
        cargo.env("TILE_FUZZ_DEVICE", if args.device { "1" } else { "" });
        if !cargo.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).status()?.success() {
            failed.push(format!("{} to {}", some[0], some[some.len() - 1]));
        }
    }
    if !failed.is_empty() {
        bail!("some kernels differ, or do not compile, see above: of the seeds {}", failed.join(", "));
    }
    Ok(())
}
