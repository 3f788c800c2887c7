//! `tile show OP`

use crate::{choose, disassembler, out};
use anyhow::{Context, Result, bail};
use clap::ValueEnum;
use kernel_compiler::lower::{Variant, Way};
use kernel_core::bundle::Bundle;
use kernel_core::{ConfigDesc, KernelDesc};
use std::process::Command;
use tile_host::conformance::Operation;

#[derive(clap::Args)]
pub struct Args {
    /// The operation, or one of its kernels (see `tile list --json`)
    op: String,
    #[arg(long, value_enum, default_value_t = Stage::Rust)]
    stage: Stage,
    #[arg(long)]
    dtype: Option<String>,
    /// A configuration; the first by default
    #[arg(long)]
    config: Option<String>,
    /// The variant that asks least of its arguments, instead of the one that asks most (ptx and sass show all)
    #[arg(long)]
    general: bool,
    /// For ptx and sass; by default the newest that was built
    #[arg(long)]
    target: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Stage {
    /// What was parsed
    Ast,
    /// Typed tile operations of one instance
    Ir,
    /// Which thread holds which element
    Layout,
    /// The thread-level Rust that is compiled for the device
    Rust,
    /// The block-level Rust of the CPU backend
    Cpu,
    /// What rustc made of the thread-level Rust
    Ptx,
    /// What ptxas made of that
    Sass,
}

pub fn main(args: Args) -> Result<bool> {
    let (desc, config) = find(&args)?;
    let text = match args.stage {
        Stage::Ptx => ptx(desc, config, args.target.as_deref())?,
        Stage::Sass => sass(desc, config, args.target.as_deref())?,
        Stage::Ast => compiled(desc, config, args.general, kernel_compiler::Stage::Ast)?,
        Stage::Ir => compiled(desc, config, args.general, kernel_compiler::Stage::Ir)?,
        Stage::Layout => compiled(desc, config, args.general, kernel_compiler::Stage::Layout)?,
        Stage::Rust => compiled(desc, config, args.general, kernel_compiler::Stage::Rust)?,
        Stage::Cpu => compiled(desc, config, args.general, kernel_compiler::Stage::Cpu)?,
    };
    out::write(format_args!("{text}"));
    Ok(true)
}

fn find(args: &Args) -> Result<(&'static KernelDesc, &'static ConfigDesc)> {
    let op = match Operation::find(&args.op) {
        Ok(op) => op,
        Err(e) => {
            let by_kernel = |o: &&Operation| o.kernels.contains(&args.op.as_str());
            tile_host::conformance::OPERATIONS.iter().find(by_kernel).ok_or(e)?
        }
    };
    let dtype = choose::dtype(op, args.dtype.as_deref())?;
    if let Some(c) = &args.config {
        return choose::config(op, dtype, c);
    }
    let descs = op.descs(dtype);
    let desc = descs.iter().find(|d| d.name == args.op).or(descs.first()).context("the operation has no kernel")?;
    Ok((desc, desc.configs.first().context("the kernel has no configuration")?))
}

fn compiled(desc: &KernelDesc, config: &ConfigDesc, general: bool, stage: kernel_compiler::Stage) -> Result<String> {
    let types = (!desc.types.is_empty()).then_some(desc.types);
    let mut libraries = kernel_compiler::Libraries::default();
    device_kernels::SOURCES.iter().for_each(|(name, text)| {
        libraries.add(kernel_compiler::Source { file: &std::path::Path::new("src").join(name), text })
    });
    kernel_compiler::show(source(desc)?, &libraries, desc.name, types, Some(config.id), variant(config, general), stage)
        .map_err(anyhow::Error::msg)
}

/// By the end of the entry's name.
fn variant(config: &ConfigDesc, general: bool) -> Variant {
    let chosen = if general { config.variants.last() } else { config.variants.first() };
    chosen.and_then(|v| kernel_compiler::named_variant(v.entry)).unwrap_or(Variant { aligned: false, way: Way::Warps })
}

fn source(desc: &KernelDesc) -> Result<&'static str> {
    let file = std::path::Path::new(desc.file).file_name().and_then(|f| f.to_str()).unwrap_or(desc.file);
    let found = device_kernels::SOURCES.iter().find(|(name, _)| *name == file);
    found.map(|(_, text)| *text).with_context(|| format!("no source for {} ({})", desc.name, desc.file))
}

fn bundle(desc: &KernelDesc) -> Result<Bundle<'static>> {
    match desc.bundle {
        Some(bytes) => Ok(Bundle::parse(bytes)?),
        None => bail!("{} was not compiled for a GPU in this build: `tile doctor` says what is missing", desc.name),
    }
}

/// Every variant's PTX, each under a line that names it.
fn ptx(desc: &KernelDesc, config: &ConfigDesc, target: Option<&str>) -> Result<String> {
    let bundle = bundle(desc)?;
    let target = newest(&bundle, target)?;
    let mut text = String::new();
    for v in config.variants.iter().filter(|v| v.only.is_none_or(|t| t == target)) {
        let entry = bundle.entry(v.entry)?;
        let image =
            bundle.image_of(entry, &target)?.with_context(|| format!("{} was not built for {target}", v.entry))?;
        text += &format!(
            "// {} for {target}, {} threads, {} bytes of shared memory",
            v.entry, entry.threads, entry.shared_bytes
        );
        if let Some(u) = image.usage {
            text += &format!(
                ", {} registers, {} bytes spilled, {} of local memory",
                u.registers, u.spill_bytes, u.stack_bytes
            );
        }
        text += &format!("\n{}\n", image.ptx);
    }
    Ok(text)
}

fn newest(bundle: &Bundle, target: Option<&str>) -> Result<String> {
    let mut built: Vec<String> = bundle.entries().iter().flat_map(|e| e.targets()).map(str::to_string).collect();
    built.sort();
    built.dedup();
    built
        .sort_by_key(|t| t.trim_start_matches("sm_").trim_end_matches(char::is_alphabetic).parse::<u32>().unwrap_or(0));
    match target {
        Some(t) if !built.iter().any(|b| b == t) => bail!("not built for {t}; there are {}", built.join(", ")),
        Some(t) => Ok(t.to_string()),
        None => built.pop().context("the bundle holds no target"),
    }
}

/// By a disassembler of the CUDA toolkit, from the bundle's own cubin where there is one.
fn sass(desc: &KernelDesc, config: &ConfigDesc, target: Option<&str>) -> Result<String> {
    let bundle = bundle(desc)?;
    let target = newest(&bundle, target)?;
    let folder = std::env::temp_dir().join(format!("tile-show-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let done = (|| {
        let mut text = String::new();
        for v in config.variants.iter().filter(|v| v.only.is_none_or(|t| t == target)) {
            let image = bundle
                .image_of(bundle.entry(v.entry)?, &target)?
                .with_context(|| format!("{} was not built for {target}", v.entry))?;
            let cubin = folder.join("kernel.cubin");
            match &image.cubin {
                Some(bytes) => std::fs::write(&cubin, bytes)?,
                None => assemble(&folder.join("kernel.ptx"), &image.ptx, &target, &cubin)?,
            }
            text += &format!("// {} for {target}\n{}\n", v.entry, disassembler::disassemble(&cubin)?);
        }
        Ok(text)
    })();
    let _ = std::fs::remove_dir_all(&folder);
    done
}

fn assemble(ptx_file: &std::path::Path, ptx: &str, target: &str, cubin: &std::path::Path) -> Result<()> {
    let Some(ptxas) = kernel_build::ptxas::find() else { bail!("no ptxas: `tile doctor` says how to get it") };
    std::fs::write(ptx_file, ptx)?;
    let out = Command::new(&ptxas.path)
        .arg("-O3")
        .arg(format!("-arch={target}"))
        .arg(ptx_file)
        .arg("-o")
        .arg(cubin)
        .output()?;
    if !out.status.success() {
        bail!("ptxas: {}", String::from_utf8_lossy(&out.stderr));
    }
    Ok(())
}
