//! `tile show OP`, `tile show --crate FOLDER KERNEL`

use crate::kernel_code::KernelCode;
use crate::out::outln;
use crate::{choose, disassembler, out, picture};
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::Command;
use tilewright_compiler::{MmaPath, Variant, Width};
use tilewright_conformance::Operation;
use tilewright_core::bundle::{Bundle, Entry};
use tilewright_core::{ConfigDesc, DType, KernelDesc};

#[derive(clap::Args)]
pub struct Args {
    /// The operation, or one of its kernels (see `tile list --json`); with --crate a kernel of that package
    op: String,
    /// The folder of a package with kernels, in place of our own; ptx and sass are those of its last build
    #[arg(long = "crate", value_name = "FOLDER")]
    package: Option<PathBuf>,
    #[arg(long, default_value = "rust", help = format!("Where the compiler stops: {}", stages()))]
    stage: Stage,
    /// The element type, as in f16; of a kernel with several type parameters of another package, as in f16,f32
    #[arg(long)]
    dtype: Option<String>,
    /// A configuration; the first by default
    #[arg(long)]
    config: Option<String>,
    /// A variant by the end of its entry's name, as in tma, tma_nt, wgmma_cp_async, aligned, aligned_4, general; by
    /// default the one with the most launch guards, and for ptx and sass all
    #[arg(long, conflicts_with = "general")]
    variant: Option<String>,
    /// The variant that asks least of its arguments
    #[arg(long)]
    general: bool,
    /// For ptx and sass; by default the newest that was built
    #[arg(long)]
    target: Option<String>,
    /// With --stage layout: draw the layouts, of tiles in registers and in shared memory, to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
    /// Instead: the optimizations that the compiler missed, at the kernel's own lines, and how to change that
    #[arg(long, conflicts_with_all = ["stage", "variant", "general", "target", "svg"])]
    why: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    Compiler(tilewright_compiler::Stage),
    /// The PTX that rustc made of the thread-level Rust.
    Ptx,
    /// The machine code that ptxas made of the PTX.
    Sass,
}

impl std::str::FromStr for Stage {
    type Err = String;

    fn from_str(name: &str) -> Result<Stage, String> {
        match (name, tilewright_compiler::Stage::ALL.iter().find(|s| s.name() == name)) {
            ("ptx", _) => Ok(Stage::Ptx),
            ("sass", _) => Ok(Stage::Sass),
            (_, Some(&s)) => Ok(Stage::Compiler(s)),
            _ => Err(format!("the stages are {}", stages())),
        }
    }
}

/// The names of all stages.
fn stages() -> String {
    let all = tilewright_compiler::Stage::ALL;
    all.iter().map(|s| s.name()).chain(["ptx", "sass"]).collect::<Vec<_>>().join(", ")
}

pub fn main(args: Args) -> Result<bool> {
    let code = match &args.package {
        Some(folder) => KernelCode::of_package(folder, &args.op, args.dtype.as_deref(), args.config.as_deref())?,
        None => find(&args).and_then(|(desc, config)| KernelCode::own(desc, config))?,
    };
    if args.why {
        why(&code, args.config.is_some())?;
        return Ok(true);
    }
    if let Some(file) = &args.svg {
        ensure!(
            args.stage == Stage::Compiler(tilewright_compiler::Stage::Layout),
            "--svg draws the stage `layout` alone: write --stage layout"
        );
        draw(&code, variant(&code, &args)?, file)?;
        return Ok(true);
    }
    let text = match args.stage {
        Stage::Ptx => ptx(&code, &args)?,
        Stage::Sass => sass(&code, &args)?,
        Stage::Compiler(stage) => compiled(&code, variant(&code, &args)?, stage)?,
    };
    out::write(format_args!("{text}"));
    Ok(true)
}

fn find(args: &Args) -> Result<(&'static KernelDesc, &'static ConfigDesc)> {
    let op = match Operation::find(&args.op) {
        Ok(op) => op,
        Err(e) => return of_kernel(args)?.ok_or(e.into()),
    };
    let dtype = choose::dtype(op, args.dtype.as_deref())?;
    if let Some(c) = &args.config {
        return choose::config(op, dtype, c);
    }
    let descs = op.descs(dtype);
    // Some kernels have the name of their operation.
    let desc = descs.iter().find(|d| d.name == args.op).or(descs.first()).context("the operation has no kernel")?;
    Ok((desc, desc.configs.first().context("the kernel has no configuration")?))
}

/// A kernel by its own name, of the first type of its operations that it has; none where no kernel has the name.
fn of_kernel(args: &Args) -> Result<Option<(&'static KernelDesc, &'static ConfigDesc)>> {
    let name = args.op.as_str();
    let operations = || tilewright_conformance::OPERATIONS.iter().filter(|o| o.kernels.contains(&name));
    let Some(first) = operations().next() else { return Ok(None) };
    let of_type = |d: &DType| args.dtype.as_deref().is_none_or(|dtype| d.name() == dtype);
    let descs = operations().flat_map(|o| o.dtypes.iter().filter(|d| of_type(d)).flat_map(|&d| o.descs(d)));
    let Some(desc) = descs.into_iter().find(|d| d.name == name) else {
        bail!("{} has no kernel `{name}` of {}", first.name, args.dtype.as_deref().unwrap_or("any type"));
    };
    let id = args.config.as_deref();
    let config = desc.configs.iter().find(|c| id.is_none_or(|id| id == c.id || id == format!("{name}[{}]", c.id)));
    let all = || desc.configs.iter().map(|c| c.id).collect::<Vec<_>>().join("\n  ");
    let config = config.with_context(|| format!("{name} has no such configuration; it has\n  {}", all()))?;
    Ok(Some((desc, config)))
}

/// The remarks on a kernel: of its configuration, or of all.
fn why(code: &KernelCode, of_config: bool) -> Result<()> {
    let config = of_config.then_some(code.config.as_str());
    let (source, types) = (code.source(), code.types.as_deref());
    let found = tilewright_compiler::remarks::of_kernel(source, &code.libraries, &code.name, types, config);
    let found = found.map_err(anyhow::Error::msg)?;
    let spills = if code.bundle.is_some() { spills(code)? } else { vec![] };
    for r in &found {
        outln!("{}", r.in_file(&code.place.display().to_string()));
    }
    spills.iter().for_each(|s| outln!("{s}"));
    if found.is_empty() && spills.is_empty() {
        outln!("nothing was missed");
    }
    Ok(())
}

/// The entries that ptxas spills.
fn spills(code: &KernelCode) -> Result<Vec<String>> {
    let bundle = bundle(code)?;
    let mut out = vec![];
    for entry in bundle.entries() {
        for target in entry.targets() {
            let usage = bundle.image_of(entry, target).and_then(|i| i.usage);
            if let Some(u) = usage.filter(|u| u.spill_bytes > 0) {
                out.push(format!(
                    "{}: kernel `{}`, not in registers: {} spills {} bytes for {target}: use smaller tiles or more warps",
                    code.place.display(),
                    code.name,
                    entry.name,
                    u.spill_bytes
                ));
            }
        }
    }
    Ok(out)
}

fn compiled(code: &KernelCode, variant: Variant, stage: tilewright_compiler::Stage) -> Result<String> {
    let (types, config) = (code.types.as_deref(), Some(code.config.as_str()));
    tilewright_compiler::show(code.source(), &code.libraries, &code.name, types, config, variant, stage)
        .map_err(anyhow::Error::msg)
}

/// Draws the layouts of an instance.
fn draw(code: &KernelCode, variant: Variant, file: &Path) -> Result<()> {
    let (types, config) = (code.types.as_deref(), Some(code.config.as_str()));
    let found =
        tilewright_compiler::pictures::layouts(code.source(), &code.libraries, &code.name, types, config, variant);
    let layouts = found.map_err(anyhow::Error::msg)?;
    let title = format!("{} {} {} {}", code.name, types.unwrap_or(""), code.config, variant.name());
    std::fs::write(file, picture::svg(&title, &layouts)).with_context(|| format!("writing {}", file.display()))?;
    let (registers, shared) = (layouts.registers.len(), layouts.shared.len());
    outln!("{}: {registers} layouts of tiles in registers, {shared} tiles in shared memory", file.display());
    Ok(())
}

/// By the end of the entry's name.
fn variant(code: &KernelCode, args: &Args) -> Result<Variant> {
    if let Some(name) = &args.variant {
        let all = || Variant::all().map(Variant::name).collect::<Vec<_>>().join(", ");
        return Variant::all()
            .find(|v| v.name() == *name)
            .with_context(|| format!("no variant `{name}`: there are {}", all()));
    }
    let chosen = if args.general { code.entries.last() } else { code.entries.first() };
    Ok(chosen.map_or(Variant { width: Width::Elements, mma: MmaPath::MmaSync }, |(_, v)| *v))
}

fn bundle(code: &KernelCode) -> Result<Bundle<'_>> {
    match &code.bundle {
        Some(bytes) => Ok(Bundle::parse(bytes)?),
        None => bail!("{} was not compiled for a GPU: `tile doctor` says what is missing, then build", code.name),
    }
}

/// The names of the entries that are asked for: that of one variant, or all.
fn asked<'a>(code: &'a KernelCode, args: &Args) -> Result<Vec<&'a str>> {
    if args.variant.is_none() && !args.general {
        return Ok(code.entries.iter().map(|(name, _)| name.as_str()).collect());
    }
    let asked = variant(code, args)?;
    let found = code.entries.iter().find(|(_, v)| *v == asked).map(|(name, _)| vec![name.as_str()]);
    let all = || code.entries.iter().map(|(_, v)| v.name()).collect::<Vec<_>>().join(", ");
    found.with_context(|| {
        format!("{} has no variant `{}` of this configuration: it has {}", code.name, asked.name(), all())
    })
}

/// The entries that are asked for, as they were built for a target.
fn built<'a>(bundle: &'a Bundle<'a>, code: &KernelCode, args: &Args, target: &str) -> Result<Vec<&'a Entry<'a>>> {
    ensure!(
        !code.entries.is_empty(),
        "this configuration of {} is for the CPU alone: it has no code for a GPU",
        code.name
    );
    let asked = asked(code, args)?;
    let named = asked.iter().filter_map(|name| bundle.entries().iter().find(|e| e.name == *name));
    let of_target: Vec<_> = named.filter(|e| e.targets().any(|t| t == target)).collect();
    ensure!(
        !of_target.is_empty(),
        "the build has no code of {} for {target} of this configuration: build the package again, without TILE_CONFIGS",
        code.name
    );
    Ok(of_target)
}

/// The PTX of the variants that are asked for, each under a line that names it.
fn ptx(code: &KernelCode, args: &Args) -> Result<String> {
    let bundle = bundle(code)?;
    let target = newest(&bundle, args.target.as_deref())?;
    let mut text = String::new();
    for entry in built(&bundle, code, args, &target)? {
        let image = bundle.image_of(entry, &target).context("it was built")?;
        text += &format!(
            "// {} for {target}, {} threads, {} bytes of shared memory",
            entry.name, entry.threads, entry.shared_bytes
        );
        if let Some(u) = image.usage {
            text += &format!(
                ", {} registers, {} bytes spilled, {} of local memory",
                u.registers, u.spill_bytes, u.stack_bytes
            );
        }
        text += &format!("\n{}\n", image.ptx()?);
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
fn sass(code: &KernelCode, args: &Args) -> Result<String> {
    let bundle = bundle(code)?;
    let target = newest(&bundle, args.target.as_deref())?;
    let folder = std::env::temp_dir().join(format!("tile-show-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let done = (|| {
        let mut text = String::new();
        for entry in built(&bundle, code, args, &target)? {
            let image = bundle.image_of(entry, &target).context("it was built")?;
            let cubin = folder.join("kernel.cubin");
            match image.cubin()? {
                Some(bytes) => std::fs::write(&cubin, bytes)?,
                None => assemble(&folder.join("kernel.ptx"), &image.ptx()?, &target, &cubin)?,
            }
            text += &format!("// {} for {target}\n{}\n", entry.name, disassembler::disassemble(&cubin)?);
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
