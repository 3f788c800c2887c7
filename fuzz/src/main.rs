//! `cargo run -p tile-fuzz`: makes random kernels and a crate around them, whose tests run each kernel on the CPU and, thread by
//! thread, on the emulated SM, and on the GPU if there is one. All numbers are whole and small, so that sums are exact in
//! every order and results have to be the same to the last bit.
//!
//! A kernel is a matter of its seed: `--seed 1207 --kernels 1` makes that of `k1207` again.

mod chains;
mod driver;
mod expr;
mod products;
mod source;
mod tiles;
mod value;

use anyhow::{Result, bail};
use clap::Parser;
use driver::{Kernel, Said};
use std::collections::BTreeMap;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Kernels of a file.
const PER_FILE: usize = 16;

#[derive(Parser)]
struct Args {
    /// The first kernel's seed.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// How many.
    #[arg(long, default_value_t = 24)]
    kernels: u64,
    /// One kind of kernels alone.
    #[arg(long)]
    only: Option<Only>,
    /// Compile them for GPUs, too.
    #[arg(long)]
    device: bool,
    /// The crate's folder.
    #[arg(long, default_value = "target/fuzz")]
    dir: PathBuf,
    /// Make the crate, and do not run its tests.
    #[arg(long)]
    no_run: bool,
}

#[derive(Clone, Copy, PartialEq, clap::ValueEnum)]
enum Only {
    /// Expressions, loops, branches, stores, atomics.
    Tiles,
    /// Products of two matrices, with every kind of operand and epilogue.
    Products,
    /// Products of what products gave.
    Chains,
    /// Products of batches.
    Batches,
}

fn main() -> Result<()> {
    let args = Args::parse();
    let (mut kernels, mut refused, mut panicked) = (vec![], BTreeMap::<String, Vec<String>>::new(), 0);
    for seed in args.seed..args.seed + args.kernels {
        let kinds = [Only::Tiles, Only::Products, Only::Tiles, Only::Products, Only::Chains, Only::Batches];
        let name = format!("k{seed}");
        let kernel = match args.only.unwrap_or(kinds[seed as usize % kinds.len()]) {
            Only::Tiles => tiles::kernel(&name, seed),
            Only::Products => products::kernel(&name, seed),
            Only::Chains => chains::chain(&name, seed),
            Only::Batches => chains::batch(&name, seed),
        };
        match kernel.check() {
            Said::Compiled => kernels.push(kernel),
            Said::Refused(why) => refused.entry(why).or_default().push(kernel.name),
            Said::Panicked(why) => {
                println!("{}: the compiler panicked: {why}\n{}", kernel.name, kernel.text);
                panicked += 1;
            }
        }
    }
    // To be read: each must be right to refuse.
    refused.iter().for_each(|(why, names)| println!("refused: {why} ({})", names.join(", ")));
    println!(
        "{} kernels in {}, {} refused, {panicked} panics",
        kernels.len(),
        args.dir.display(),
        refused.values().map(Vec::len).sum::<usize>()
    );
    write_crate(&args, &kernels)?;
    if !args.no_run {
        let ran = Command::new(std::env::var_os("CARGO").unwrap_or("cargo".into()))
            .args(["test", "--quiet", "--no-fail-fast"])
            .current_dir(&args.dir)
            .status()?;
        if !ran.success() {
            bail!("some kernels differ: see above, and {}", args.dir.display());
        }
    }
    if panicked > 0 { bail!("the compiler panicked") } else { Ok(()) }
}

fn write_crate(args: &Args, kernels: &[Kernel]) -> Result<()> {
    let (src, tests) = (args.dir.join("src"), args.dir.join("tests"));
    std::fs::create_dir_all(&src)?;
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the workspace");
    let path = |of: &str| root.join(of).display().to_string();
    let build = if args.device {
        format!(
            "\n[build-dependencies]\nkernel-build = {{ path = {:?}, package = \"tile-kernel-build\" }}\n",
            path("kernel-build")
        )
    } else {
        String::new()
    };
    let manifest = format!(
        "[package]\nname = \"kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\npublish = false\n\n[dependencies]\nkernel-core = {{ path = {:?}, package = \"tile-kernel-core\" }}\n\
         kernel-macros = {{ path = {:?}, package = \"tile-kernel-macros\" }}\ntile-host = {{ path = {:?}, default-features = false }}\n{build}\n\
         [profile.dev]\nopt-level = 1\ndebug = 0\nlto = \"off\"\n[profile.dev.build-override]\nopt-level = 1\n\n[workspace]\n",
        path("kernel-core"),
        path("kernel-macros"),
        path("host"),
    );
    std::fs::write(args.dir.join("Cargo.toml"), manifest)?;
    std::fs::copy(root.join("Cargo.lock"), args.dir.join("Cargo.lock"))?;
    let gone = |removed: std::io::Result<()>| {
        removed.or_else(|e| if e.kind() == ErrorKind::NotFound { Ok(()) } else { Err(e) })
    };
    match args.device {
        true => std::fs::write(
            args.dir.join("build.rs"),
            "fn main() {\n    kernel_build::Settings::from_env().dirs(&[\"tests\"]).compile()\n}\n",
        )?,
        false => gone(std::fs::remove_file(args.dir.join("build.rs")))?,
    }
    std::fs::write(src.join("lib.rs"), include_str!("../support.rs"))?;
    gone(std::fs::remove_dir_all(&tests))?;
    std::fs::create_dir_all(&tests)?;
    // Some at a time: they are compiled side by side, in little memory.
    for (i, some) in kernels.chunks(PER_FILE).enumerate() {
        let all: Vec<String> = some.iter().map(|k| format!("{}\n{}", k.text, k.test())).collect();
        let head = "#![allow(warnings)]\n\nuse kernel_core::{AsSlice, AsSliceMut, bf16, f8e4m3, f8e5m2, f16};\nuse kernel_macros::tile_kernel;\nuse kernels::*;";
        std::fs::write(tests.join(format!("some{i}.rs")), format!("{head}\n\n{}", all.join("\n")))?;
    }
    Ok(())
}
