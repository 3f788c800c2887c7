//! `tile show OP`

use crate::{choose, disassembler, out};
use anyhow::{Context, Result, bail};
use std::process::Command;
use tilewright_compiler::{MmaPath, Variant};
use tilewright_conformance::Operation;
use tilewright_core::bundle::Bundle;
use tilewright_core::{ConfigDesc, KernelDesc};

#[derive(clap::Args)]
pub struct Args {
    /// The operation, or one of its kernels (see `tile list --json`)
    op: String,
    /// Where the compiler stops: ast, ir, the IR after a pass (induction, copy_prop, dce, block_pointers, cluster,
    /// pipeline_dots, tf32x3), axis_info, layout, plan, rust, cpu, ptx or sass
    #[arg(long, default_value = "rust")]
    stage: Stage,
    #[arg(long)]
    dtype: Option<String>,
    /// A configuration; the first by default
    #[arg(long)]
    config: Option<String>,
    /// A variant by the end of its entry's name, as in tma, tma_nt, groups, aligned, general; by default the one that asks most
    /// of its arguments (ptx and sass show all)
    #[arg(long, conflicts_with = "general")]
    variant: Option<String>,
    /// The variant that asks least of its arguments
    #[arg(long)]
    general: bool,
    /// For ptx and sass; by default the newest that was built
    #[arg(long)]
    target: Option<String>,
    /// Instead: what the compiler could not do well, at the kernel's own lines, and what would change that
    #[arg(long, conflicts_with_all = ["stage", "variant", "general", "target"])]
    why: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Compiler(tilewright_compiler::Stage),
    /// What rustc made of the thread-level Rust.
    Ptx,
    /// What ptxas made of that.
    Sass,
}

impl std::str::FromStr for Stage {
    type Err = String;

    fn from_str(name: &str) -> Result<Stage, String> {
        let all = tilewright_compiler::Stage::ALL;
        let names = || all.iter().map(|s| s.name()).chain(["ptx", "sass"]).collect::<Vec<_>>().join(", ");
        match (name, all.iter().find(|s| s.name() == name)) {
            ("ptx", _) => Ok(Stage::Ptx),
            ("sass", _) => Ok(Stage::Sass),
            (_, Some(&s)) => Ok(Stage::Compiler(s)),
            _ => Err(format!("the stages are {}", names())),
        }
    }
}

pub fn main(args: Args) -> Result<bool> {
    let (desc, config) = find(&args)?;
    if args.why {
        let all = args.config.is_none();
        why(desc, (!all).then_some(config))?;
        return Ok(true);
    }
    let text = match args.stage {
        Stage::Ptx => ptx(desc, config, args.target.as_deref())?,
        Stage::Sass => sass(desc, config, args.target.as_deref())?,
        Stage::Compiler(stage) => compiled(desc, config, variant(config, &args)?, stage)?,
    };
    out::write(format_args!("{text}"));
    Ok(true)
}

fn find(args: &Args) -> Result<(&'static KernelDesc, &'static ConfigDesc)> {
    let op = match Operation::find(&args.op) {
        Ok(op) => op,
        Err(e) => {
            let by_kernel = |o: &&Operation| o.kernels.contains(&args.op.as_str());
            tilewright_conformance::OPERATIONS.iter().find(by_kernel).ok_or(e)?
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

/// The remarks on a kernel: of one configuration, or of all.
fn why(desc: &KernelDesc, config: Option<&ConfigDesc>) -> Result<()> {
    let types = (!desc.types.is_empty()).then_some(desc.types);
    let config = config.map(|c| c.id);
    let found = tilewright_compiler::remarks::of_kernel(source(desc)?, &libraries(), desc.name, types, config);
    let found = found.map_err(anyhow::Error::msg)?;
    let spills = desc.bundle.map(|_| slow(desc)).transpose()?.unwrap_or_default();
    for r in &found {
        println!("{}", r.in_file(desc.file));
    }
    spills.iter().for_each(|s| println!("{s}"));
    if found.is_empty() && spills.is_empty() {
        println!("nothing was missed");
    }
    Ok(())
}

/// The entries that ptxas spills.
fn slow(desc: &KernelDesc) -> Result<Vec<String>> {
    let bundle = bundle(desc)?;
    let mut out = vec![];
    for entry in bundle.entries() {
        for target in entry.targets() {
            let usage = bundle.image_of(entry, target)?.and_then(|i| i.usage);
            if let Some(u) = usage.filter(|u| u.spill_bytes > 0) {
                out.push(format!(
                    "{}: kernel `{}`, not in registers: {} spills {} bytes for {target}: use smaller tiles or more warps",
                    desc.file, desc.name, entry.name, u.spill_bytes
                ));
            }
        }
    }
    Ok(out)
}

fn libraries() -> tilewright_compiler::Libraries {
    let mut libraries = tilewright_compiler::Libraries::default();
    tilewright_kernels::SOURCES.iter().for_each(|(name, text)| {
        libraries.add(tilewright_compiler::Source { file: &std::path::Path::new("src").join(name), text })
    });
    libraries
}

fn compiled(
    desc: &KernelDesc,
    config: &ConfigDesc,
    variant: Variant,
    stage: tilewright_compiler::Stage,
) -> Result<String> {
    let types = (!desc.types.is_empty()).then_some(desc.types);
    tilewright_compiler::show(source(desc)?, &libraries(), desc.name, types, Some(config.id), variant, stage)
        .map_err(anyhow::Error::msg)
}

/// By the end of the entry's name.
fn variant(config: &ConfigDesc, args: &Args) -> Result<Variant> {
    if let Some(name) = &args.variant {
        let all = || Variant::all().map(Variant::name).collect::<Vec<_>>().join(", ");
        return Variant::all()
            .find(|v| v.name() == *name)
            .with_context(|| format!("no variant `{name}`: there are {}", all()));
    }
    let chosen = if args.general { config.variants.last() } else { config.variants.first() };
    let of_entry = chosen.and_then(|v| Variant::of_entry(v.entry));
    Ok(of_entry.unwrap_or(Variant { aligned: false, mma: MmaPath::MmaSync }))
}

fn source(desc: &KernelDesc) -> Result<&'static str> {
    let file = std::path::Path::new(desc.file).file_name().and_then(|f| f.to_str()).unwrap_or(desc.file);
    let found = tilewright_kernels::SOURCES.iter().find(|(name, _)| *name == file);
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
    let Some(ptxas) = tilewright_build::ptxas::find() else { bail!("no ptxas: `tile doctor` says how to get it") };
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
