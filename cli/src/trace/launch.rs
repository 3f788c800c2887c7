//! A timeline of an operation of ours.

use super::compile::{Kept, compile};
use super::table::{self, Compiled, Table};
use super::timeline::Timeline;
use super::{chrome, summary};
use crate::choose::{Backend, size_text};
use crate::kernel_code::KernelCode;
use crate::measure::median_ms;
use crate::out::outln;
use crate::profile_launch::are_for;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::collections::{BTreeSet, HashMap};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tilewright_bench::Timer;
use tilewright_compiler::Variant;
use tilewright_conformance::{Operation, Setup};
use tilewright_core::emulator::Options;
use tilewright_core::{ConfigDesc, DType, KernelDesc};
use tilewright_ops::{ExecOptions, PinnedConfig};
use tilewright_runtime::private::{TracedLaunch, Tracer, set_tracer};
use tilewright_runtime::tuning::Autotune;
use tilewright_runtime::{BackendKind, Launched, Runtime};

/// Of the data.
const SEED: u64 = 1;
/// Launches without marks of which the time is the median.
const ROUNDS: usize = 15;

/// The launch to trace.
pub struct Asked<'a> {
    pub op: &'static Operation,
    pub dtype: DType,
    pub size: &'a [u64],
    pub config: Option<PinnedConfig>,
    pub kept: Kept,
    /// The compute capability that is compiled for where there is no GPU.
    pub arch: (u32, u32),
    /// The multiprocessors of the GPU that the launches are listed for where there is none.
    pub sms: u32,
}

impl Asked<'_> {
    fn setup(&self) -> Setup {
        Setup::plain(self.dtype, self.size, SEED)
    }
}

/// Compiles the kernels that the operation would launch on a GPU, without launching them.
pub fn compile_only(asked: &Asked, file: &Path) -> Result<bool> {
    let planned = Runtime::emulator_with(Options { num_sms: asked.sms as usize, ..Options::default() });
    let mut problem = asked.op.prepare(&planned, &asked.setup())?;
    let listed = Launched::list();
    problem.launch(&ExecOptions::new(&planned).pin(asked.config))?;
    let launches = listed.launches();
    drop(listed);
    are_for(&launches, asked.arch)?;
    let (mut entries, mut warnings): (Vec<Compiled>, _) = (vec![], vec![]);
    for launch in &launches {
        let entry = launch.variant.entry;
        if !entries.iter().any(|c| c.table.entry == entry) {
            entries.extend(of_entry(launch.kernel, launch.config, entry, asked.kept, asked.arch, &mut warnings)?);
        }
    }
    table::write(file, &entries)?;
    warnings.iter().for_each(|w| outln!("{w}"));
    for c in &entries {
        outln!("{}: {} events", c.table.entry, c.table.events.len());
    }
    let pinned = asked.config.map_or(String::new(), |(k, c)| format!(" --config '{}[{}]'", k.name, c.id));
    outln!(
        "{}; on the machine with the GPU: tile profile {} --dtype {} --size {}{pinned} --compiled {} --trace out.json",
        file.display(),
        asked.op.name,
        asked.dtype.name(),
        size_text(asked.size),
        file.file_name().unwrap_or_default().display()
    );
    Ok(true)
}

/// The code of an entry with marks.
fn of_entry(
    desc: &'static KernelDesc,
    config: &'static ConfigDesc,
    entry: &str,
    kept: Kept,
    arch: (u32, u32),
    warnings: &mut Vec<String>,
) -> Result<Vec<Compiled>> {
    let variant = Variant::of_entry(entry).with_context(|| format!("{entry} is no entry of a kernel"))?;
    compile(&KernelCode::own(desc, config)?, &[variant], kept, arch, warnings)
}

/// Launches the operation, and writes the timeline of the second launch.
pub fn run(asked: &Asked, backend: &Backend, compiled: Option<&Path>, out: &Path) -> Result<bool> {
    let open = || -> Result<Runtime> {
        let rt = match backend.name() {
            "auto" => Runtime::from_name("cuda"),
            name => Runtime::from_name(name),
        };
        let rt = rt.map_err(|e| anyhow!("{e}: {NO_GPU}"))?;
        ensure!(rt.kind() == BackendKind::Cuda, "the backend `{}` has no time: {NO_GPU}", rt.name());
        // Measured configurations would be compiled with marks first.
        rt.set_autotune(Autotune::Off);
        Ok(rt)
    };
    let rt = open()?;
    let known = compiled.map(table::read).transpose()?;
    let plain = untraced(&rt, asked).ok();
    let arch = rt.device().compute_capability.unwrap_or(asked.arch);
    let session = Arc::new(Session::new(asked, arch, known));
    set_tracer(Some(session.clone()));
    let done = traced(&open()?, asked, &session);
    set_tracer(None);
    let launches = done?;
    session.found().warnings.iter().for_each(|w| outln!("{w}"));
    if launches.is_empty() {
        let taken = session.found().taken.iter().cloned().collect::<Vec<_>>().join(", ");
        let file = compiled.unwrap_or(out).display();
        bail!(
            "this GPU launches other entries than {file} has: {taken}; compile them with --compile-only FILE, the same \
             --size and a --config, and run with that --config"
        );
    }
    let timelines = launches.into_iter().map(|launch| {
        let table = session.table(&launch.entry).context("the code of a launch has a table")?;
        Timeline::new(table, launch)
    });
    let timelines = timelines.collect::<Result<Vec<_>>>()?;
    chrome::write(out, &timelines)?;
    timelines.iter().for_each(summary::print);
    if let Some(us) = plain {
        outln!("{us:.2} us is the time of the operation without marks, with its launches");
    }
    outln!("{}: open it at https://ui.perfetto.dev", out.display());
    Ok(true)
}

const NO_GPU: &str = "--trace takes the times of a GPU; compile here with --compile-only FILE in the place of --trace, and \
                      run on a machine with a GPU with --compiled FILE";

/// Microseconds of the operation without marks.
fn untraced(rt: &Runtime, asked: &Asked) -> Result<f64> {
    let mut problem = asked.op.prepare(rt, &asked.setup())?;
    let on = ExecOptions::new(rt).pin(asked.config);
    let mut timer = Timer::new(rt)?;
    Ok(median_ms(&mut timer, ROUNDS, || Ok(problem.launch(&on)?))? * 1e3)
}

/// Launches the operation twice: once to load its code, and once for the timeline.
fn traced(rt: &Runtime, asked: &Asked, session: &Session) -> Result<Vec<TracedLaunch>> {
    let mut problem = asked.op.prepare(rt, &asked.setup())?;
    let on = ExecOptions::new(rt).pin(asked.config);
    let mut launches = vec![];
    for _ in 0..2 {
        session.found().launches.clear();
        problem.launch(&on)?;
        rt.synchronize()?;
        launches = std::mem::take(&mut session.found().launches);
    }
    Ok(launches)
}

/// The traced code of the entries that are launched.
struct Session {
    /// The kernels of the operation, whose entries are compiled as they are launched; none where a file has all.
    kernels: Vec<&'static KernelDesc>,
    /// Entries of a configuration that was asked for.
    pinned: Vec<&'static str>,
    kept: Kept,
    arch: (u32, u32),
    found: Mutex<Found>,
}

#[derive(Default)]
struct Found {
    /// By entry.
    known: HashMap<String, (Table, &'static [u8])>,
    /// Entries that were launched without marks.
    taken: BTreeSet<String>,
    launches: Vec<TracedLaunch>,
    warnings: Vec<String>,
}

impl Session {
    fn new(asked: &Asked, arch: (u32, u32), known: Option<Vec<Compiled>>) -> Session {
        let compiles = known.is_none();
        let keep = |c: Compiled| (c.table.entry.clone(), (c.table, &*Box::leak(c.bundle.into_boxed_slice())));
        let known = known.into_iter().flatten().map(keep).collect();
        let pinned = asked.config.iter().flat_map(|(_, c)| c.variants).map(|v| v.entry);
        Session {
            kernels: if compiles { asked.op.descs(asked.dtype) } else { vec![] },
            pinned: if compiles { pinned.collect() } else { vec![] },
            kept: asked.kept,
            arch,
            found: Mutex::new(Found { known, ..Found::default() }),
        }
    }

    fn found(&self) -> MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn table(&self, entry: &str) -> Option<Table> {
        self.found().known.get(entry).map(|(table, _)| table.clone())
    }

    /// Compiles an entry, if it is one of the operation's kernels.
    fn compile(&self, entry: &str) -> Result<Option<&'static [u8]>> {
        let mut found = self.found();
        if let Some((_, bundle)) = found.known.get(entry) {
            return Ok(Some(bundle));
        }
        let all = self.kernels.iter().flat_map(|d| d.configs.iter().map(move |c| (*d, c)));
        let of_entry_ = |(_, c): &(_, &'static ConfigDesc)| c.variants.iter().any(|v| v.entry == entry);
        let Some((desc, config)) = all.into_iter().find(of_entry_) else {
            found.taken.insert(entry.into());
            return Ok(None);
        };
        outln!("compiling {entry} with marks");
        let made = of_entry(desc, config, entry, self.kept, self.arch, &mut found.warnings)?;
        let Compiled { table, bundle } = made.into_iter().next().context("the entry was compiled")?;
        let bundle: &'static [u8] = Box::leak(bundle.into_boxed_slice());
        found.known.insert(entry.into(), (table, bundle));
        Ok(Some(bundle))
    }
}

// SAFETY: the code is the compiler's, of the entry's own kernel; marks write to their array alone.
unsafe impl Tracer for Session {
    fn code(&self, entry: &str) -> Result<Option<&'static [u8]>, String> {
        self.compile(entry).map_err(|e| format!("{e:#}"))
    }

    fn has(&self, entry: &str) -> bool {
        self.pinned.contains(&entry) || self.found().known.contains_key(entry)
    }

    fn launched(&self, launch: TracedLaunch) {
        self.found().launches.push(launch);
    }
}
