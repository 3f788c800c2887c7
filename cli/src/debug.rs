//! `tile debug OP`, `tile debug --crate FOLDER KERNEL`: a kernel on the emulated SM, with breakpoints.

use crate::cargo;
use crate::choose::{self, Size};
use crate::debug_library::{self, Built};
use crate::kernel_code::KernelCode;
use crate::out::outln;
use anyhow::{Context, Result, bail, ensure};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use tilewright_compiler::{Breakpoint, Variant};
use tilewright_conformance::{Operation, Setup};
use tilewright_core::KernelDesc;
use tilewright_core::emulator::{WatchOptions, explain};
use tilewright_ops::ExecOptions;
use tilewright_runtime::private::{DebugLibrary, set_debugger};
use tilewright_runtime::{EmulatedLaunch, Launched, Runtime};

#[derive(clap::Args)]
pub struct Args {
    /// The operation (see `tile list`); with --crate a kernel of that package
    op: String,
    /// The folder of a package with kernels, in place of our own
    #[arg(long = "crate", value_name = "FOLDER", conflicts_with_all = ["size", "kernel"])]
    package: Option<PathBuf>,
    /// Show variables after this line of the kernel's file (several: repeat it)
    #[arg(long = "break", value_name = "LINE")]
    at: Vec<usize>,
    /// The variables, as in x,acc; by default the ones that the line defines, or else mentions
    #[arg(long, value_delimiter = ',', requires = "at")]
    print: Vec<String>,
    /// The program whose variables are shown, as in 2 or 2,0,1
    #[arg(long, default_value = "0", value_parser = program)]
    program: [u64; 3],
    /// How often a breakpoint in a loop shows its variables
    #[arg(long, default_value_t = 8, value_parser = clap::value_parser!(u32).range(1..))]
    passes: u32,
    /// Show all elements of a tile
    #[arg(long)]
    whole: bool,
    /// The kernel that has the lines, where an operation launches several
    #[arg(long)]
    kernel: Option<String>,
    /// As in 1000 or 64x781
    #[arg(long)]
    size: Option<Size>,
    /// The element type, as in f16; of a kernel with several type parameters of another package, as in f16,f32
    #[arg(long)]
    dtype: Option<String>,
    /// A configuration, as `tile list --json` gives them
    #[arg(long)]
    config: Option<String>,
    /// Of the data and of the order of programs and threads
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// With --crate: the command for Cargo, as in `run --release` or `test name_of_a_test`; by default `test`
    #[arg(last = true, requires = "package")]
    cargo: Vec<String>,
}

fn program(text: &str) -> Result<[u64; 3], String> {
    let parts: Option<Vec<u64>> = text.split(',').map(|p| p.trim().parse().ok()).collect();
    let parts = parts.filter(|p| (1..=3).contains(&p.len()));
    let parts = parts.ok_or_else(|| format!("`{text}` is no program: one is as in 2 or 2,0,1"))?;
    Ok(std::array::from_fn(|i| parts.get(i).copied().unwrap_or(0)))
}

impl Args {
    fn watch(&self) -> WatchOptions {
        WatchOptions { program: self.program, passes: self.passes, whole: self.whole, lines: false }
    }

    fn breakpoints(&self) -> Vec<Breakpoint> {
        self.at.iter().map(|&line| Breakpoint { line, names: self.print.clone() }).collect()
    }
}

pub fn main(args: Args) -> Result<bool> {
    match &args.package {
        Some(folder) => of_package(&args, folder),
        None => own(&args),
    }
}

/// A kernel of a package: its tests, or another command of Cargo, with the code of a library in place of their own.
fn of_package(args: &Args, folder: &Path) -> Result<bool> {
    let code = KernelCode::of_package(folder, &args.op, args.dtype.as_deref(), args.config.as_deref())?;
    let (mut at, mut missing) = (vec![], BTreeSet::new());
    for b in args.breakpoints() {
        // A line without a statement is a mistake that the compiler tells.
        let line = statement_line(&code, b.line)?.unwrap_or(b.line);
        if missing.insert(line) {
            at.push(Breakpoint { line, ..b });
        }
    }
    let (built, left_out) = library(&code, None, &at, &args.watch())?;
    let good = run_cargo(folder, &args.cargo, args.seed, &built, &mut |line| {
        // The name of a test may come first.
        missing.retain(|n| !line.contains(&format!("line {n}, program (")));
    })?;
    // The failure is reported already.
    if good {
        not_reached(args, &missing, &left_out)?;
    }
    Ok(good)
}

/// The first line of the statement that a kernel has on a line.
fn statement_line(code: &KernelCode, line: usize) -> Result<Option<usize>> {
    let found = tilewright_compiler::debug::statement_line(code.source(), &code.libraries, &code.name, line);
    found.map_err(anyhow::Error::msg)
}

/// The counters, by the lines of the kernel, of the launches under Cargo's command.
pub fn count_lines(code: &KernelCode, folder: &Path, cargo: &[String]) -> Result<bool> {
    let watch = WatchOptions { lines: true, ..WatchOptions::default() };
    let (built, _) = library(code, None, &[], &watch)?;
    let mut counted = false;
    let start = format!("{}__", code.name);
    let good = run_cargo(folder, cargo, 1, &built, &mut |line| counted |= line.contains(&start))?;
    ensure!(counted || !good, "nothing launched {} in this configuration on the emulated SM", code.name);
    Ok(good)
}

/// Runs Cargo with a library, shows its output, and hands every line on. Gives whether it succeeded.
fn run_cargo(folder: &Path, asked: &[String], seed: u64, built: &Built, see: &mut dyn FnMut(&str)) -> Result<bool> {
    let default = ["test".to_string()];
    let mut child = cargo::command()
        .args(if asked.is_empty() { &default } else { asked })
        .current_dir(folder)
        .env("TILE_BACKEND", format!("emulator:{seed}"))
        .env("TILE_DEBUG", &built.path)
        .stdout(Stdio::piped())
        .spawn()
        .context("cannot run cargo")?;
    let output = child.stdout.take().context("the output of cargo")?;
    for line in BufReader::new(output).split(b'\n') {
        let line = line.context("the output of cargo")?;
        let line = String::from_utf8_lossy(&line);
        see(&line);
        outln!("{line}");
    }
    Ok(child.wait().context("waiting for cargo")?.success())
}

/// That every breakpoint has shown something. Variants that are left out have no breakpoints.
fn not_reached(args: &Args, missing: &BTreeSet<usize>, left_out: &[String]) -> Result<()> {
    let Some(line) = missing.first() else { return Ok(()) };
    let [x, y, z] = args.program;
    let without = match left_out {
        [] => String::new(),
        _ => format!(
            "; the variants `{}` have no breakpoints, because they copy a tile that is shown by TMA",
            left_out.join("`, `")
        ),
    };
    bail!(
        "line {line} was not reached by program ({x}, {y}, {z}) of a launch of {} with breakpoints{without}",
        args.op
    );
}

/// The library of an instance, in one variant or in all, and the names of variants that cannot have the breakpoints.
fn library(
    code: &KernelCode,
    variant: Option<Variant>,
    at: &[Breakpoint],
    watch: &WatchOptions,
) -> Result<(Built, Vec<String>)> {
    let (types, config) = (code.types.as_deref(), Some(code.config.as_str()));
    let (source, libraries) = (code.source(), &code.libraries);
    let made = tilewright_compiler::debug::code(source, libraries, &code.name, types, config, variant, at);
    let made = made.map_err(anyhow::Error::msg)?;
    Ok((debug_library::build(&made.text, &code.text, watch)?, made.left_out))
}

/// An operation of ours.
fn own(args: &Args) -> Result<bool> {
    let op = Operation::find(&args.op)?;
    let dtype = choose::dtype(op, args.dtype.as_deref())?;
    let pin = args.config.as_deref().map(|c| choose::config(op, dtype, c)).transpose()?;
    if let Some(name) = &args.kernel {
        ensure!(op.kernels.contains(&name.as_str()), "{} has the kernels {}", op.name, op.kernels.join(", "));
    }
    let size = args.size.clone().map_or_else(|| small(op), |s| s.0);
    let rt = Runtime::emulator(args.seed);
    let mut problem = op.prepare(&rt, &Setup::plain(dtype, &size, args.seed))?;
    let session = Arc::new(Session {
        kernels: op.descs(dtype),
        kernel: args.kernel.clone(),
        at: args.breakpoints(),
        watch: args.watch(),
        state: Mutex::default(),
    });
    let of_session = session.clone();
    set_debugger(Some(Arc::new(move |entry: &str| of_session.library(entry).map_err(|e| format!("{e:#}")))));
    let launched = Launched::start();
    let done = problem.launch(&ExecOptions::new(&rt).pin(pin)).and_then(|()| rt.synchronize());
    set_debugger(None);
    let launches = launched.launches();
    launches.iter().try_for_each(report)?;
    if let Err(e) = done {
        // A defect that the emulated SM has found is explained already.
        ensure!(launches.last().is_some_and(|l| l.outcome.is_err()), "{e}");
        outln!("again: {}", again(args, op, &size));
        return Ok(false);
    }
    session.has_lines()?;
    let reports = launches.iter().filter_map(|l| l.outcome.as_ref().ok());
    let shown: BTreeSet<usize> = reports.flat_map(|r| r.watched_lines.iter().map(|&l| l as usize)).collect();
    not_reached(args, &session.lines().into_iter().filter(|l| !shown.contains(l)).collect(), &[])?;
    let verdict = problem.check()?;
    match verdict.first {
        None => outln!("the result is right: largest error {:.2e}, allowed {:.2e}", verdict.error, verdict.tolerance),
        Some((i, found, wanted)) => {
            outln!("WRONG: element {i} is {found:?}, wanted {wanted:?}");
            outln!("again: {}", again(args, op, &size));
        }
    }
    Ok(verdict.passed())
}

fn again(args: &Args, op: &Operation, size: &[u64]) -> String {
    let dtype = args.dtype.as_ref().map_or(String::new(), |d| format!(" --dtype {d}"));
    let config = args.config.as_ref().map_or(String::new(), |c| format!(" --config '{c}'"));
    format!("tile debug {} --size {}{dtype}{config} --seed {}", op.name, choose::size_text(size), args.seed)
}

/// A size that takes the emulated SM about a second: the largest extents of the benchmark's are halved.
pub fn small(op: &Operation) -> Vec<u64> {
    let mut size = op.large.to_vec();
    while size.iter().product::<u64>() > 1 << 18 {
        if let Some(n) = size.iter_mut().max() {
            *n = n.div_ceil(2);
        }
    }
    size
}

/// The results of a launch, or its defects.
fn report(launch: &EmulatedLaunch) -> Result<()> {
    let (name, config, entry) = (launch.kernel.name, launch.config.id, launch.variant.entry);
    let variant = Variant::of_entry(entry).map_or(String::new(), |v| format!(" `{}`", v.name()));
    match &launch.outcome {
        Ok(r) => {
            outln!("{name}[{config}]{variant}: {} programs, {} barriers, nothing is wrong", r.programs, r.barriers)
        }
        Err(failure) => {
            let code = KernelCode::own(launch.kernel, launch.config)?;
            let text = explain(failure, &code.text);
            outln!("{name}[{config}]{variant}, {}:", code.place.display());
            // A library has explained it.
            if !failure.printed.contains(&text) {
                outln!("{text}");
            }
        }
    }
    Ok(())
}

/// The kernels of an operation that breakpoints are looked for in.
struct Session {
    kernels: Vec<&'static KernelDesc>,
    /// The only one that has them.
    kernel: Option<String>,
    at: Vec<Breakpoint>,
    watch: WatchOptions,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// By entry.
    libraries: HashMap<String, Option<Arc<DebugLibrary>>>,
    /// Of the lines that a launched kernel has a statement on, the first line of that statement.
    found: BTreeMap<usize, usize>,
    /// The kernels that were launched, each with the lines of its statements.
    launched: BTreeMap<String, Vec<usize>>,
}

impl Session {
    /// The library of an entry with the breakpoints that are in its kernel; none where no breakpoint is, and the build
    /// has code for the emulated SM.
    fn library(&self, entry: &str) -> Result<Option<Arc<DebugLibrary>>> {
        let mut state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        if let Some(known) = state.libraries.get(entry) {
            return Ok(known.clone());
        }
        let library = self.build(entry, &mut state)?;
        state.libraries.insert(entry.to_string(), library.clone());
        Ok(library)
    }

    fn build(&self, entry: &str, state: &mut State) -> Result<Option<Arc<DebugLibrary>>> {
        let all = self.kernels.iter().flat_map(|d| d.configs.iter().map(move |c| (*d, c)));
        let mut of_entry = all.filter(|(_, c)| c.variants.iter().any(|v| v.entry == entry));
        let Some((desc, config)) = of_entry.next() else { return Ok(None) };
        let is_emulated = config.variants.iter().any(|v| v.entry == entry && v.emulated.is_some());
        let is_chosen = self.kernel.as_ref().is_none_or(|k| k == desc.name);
        let code = KernelCode::own(desc, config)?;
        let lines = tilewright_compiler::debug::statement_lines(code.source(), &code.libraries, &code.name);
        let lines = lines.map_err(anyhow::Error::msg)?;
        let mut at = vec![];
        for b in self.at.iter().filter(|_| is_chosen) {
            let Some(line) = statement_line(&code, b.line)? else { continue };
            state.found.insert(b.line, line);
            if !at.iter().any(|other: &Breakpoint| other.line == line) {
                at.push(Breakpoint { line, names: b.names.clone() });
            }
        }
        if is_chosen {
            state.launched.insert(desc.name.into(), lines);
        }
        if at.is_empty() && is_emulated {
            return Ok(None);
        }
        let (built, _) = library(&code, Variant::of_entry(entry), &at, &self.watch)?;
        // SAFETY: this command has just built it.
        let library = unsafe { DebugLibrary::load(&built.path) }.map_err(anyhow::Error::msg)?;
        Ok(Some(Arc::new(library)))
    }

    /// The lines that breakpoints are at.
    fn lines(&self) -> BTreeSet<usize> {
        self.state.lock().unwrap_or_else(|e| e.into_inner()).found.values().copied().collect()
    }

    /// That each breakpoint is in a kernel that was launched.
    fn has_lines(&self) -> Result<()> {
        let state = self.state.lock().unwrap_or_else(|e| e.into_inner());
        let Some(missing) = self.at.iter().find(|b| !state.found.contains_key(&b.line)) else { return Ok(()) };
        let of = |(name, lines): (&String, &Vec<usize>)| {
            let (first, last) = (lines.first().copied().unwrap_or(0), lines.last().copied().unwrap_or(0));
            format!("{name} (lines {first} to {last})")
        };
        let launched: Vec<String> = state.launched.iter().map(of).collect();
        bail!(
            "there is no statement on line {} of the kernels that were launched, and of their helpers: {}",
            missing.line,
            launched.join(", ")
        );
    }
}
