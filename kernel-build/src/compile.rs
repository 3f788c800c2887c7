//! From a crate's sources to a folder of bundles.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tilewright_compiler::{DeviceUnit, EntryMeta};
use tilewright_core::bundle::Compression;

use crate::archive::{self, Archive, BuiltUnit, Tools};
use crate::assemble::{self, AssembleError, BuiltEntry};
use crate::bundle;
use crate::cache::{Cache, Key};
use crate::pool::Pool;
use crate::prebuilt::{self, Prebuilt, PrebuiltError};
use crate::ptx::{self, Bounds, EntryPtx, PtxError};
use crate::ptxas::Ptxas;
use crate::report::{EntryReport, Report};
use crate::rustc::{self, Failure, Rustc};
use crate::sources::Sources;
use crate::target::{BadTarget, Target};
use crate::toolchain::{Missing, Toolchain};
use crate::units::{self, Lower};

/// The error of a build in which no kernel was compiled. The build script prints it.
///
/// # Examples
/// ```
/// use tilewright_build::{BuildError, Target};
///
/// let e = BuildError::from(Target::parse("volta").unwrap_err());
/// assert!(e.to_string().contains("`volta` is no target"));
/// ```
#[derive(Debug, thiserror::Error)]
pub enum BuildError {
    /// No device toolchain was found, and no archive has a kernel.
    #[error("{}{missing}", archives.iter().map(|a| format!("{a}; ")).collect::<String>())]
    Toolchain {
        /// The places that were looked in.
        missing: Missing,
        /// Archives that are not used, and why.
        archives: Vec<String>,
    },
    /// `TILE_TARGETS`, or [`Settings::targets`](crate::Settings::targets), has a name that is no target.
    #[error("TILE_TARGETS: {0}")]
    Target(#[from] BadTarget),
    /// `core` or the device library does not compile for the device.
    #[error(transparent)]
    Prebuilt(#[from] PrebuiltError),
    /// A file cannot be read or written, or a program cannot be started.
    #[error("cannot compile kernels: {0}")]
    Io(#[from] io::Error),
}

/// Lowered code that could not be compiled: a defect of the tile compiler, never of the kernel.
#[derive(Debug)]
pub struct KernelFailure {
    pub kernel: String,
    pub target: String,
    pub why: Why,
    /// The lowered code and the messages about it.
    pub kept: PathBuf,
}

#[derive(Debug, thiserror::Error)]
pub enum Why {
    #[error(transparent)]
    Rustc(#[from] Failure),
    #[error(transparent)]
    Ptx(#[from] PtxError),
    #[error(transparent)]
    Assemble(#[from] AssembleError),
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// The units to compile, and the tools and options of the build.
pub struct Build<'a> {
    pub sources: &'a Sources,
    pub targets: &'a [Target],
    pub lower: &'a Lower,
    pub toolchain: fn() -> Result<Toolchain, Missing>,
    pub ptxas: fn() -> Option<Ptxas>,
    /// The `lib.rs` of `tilewright_core`.
    pub tilewright_core: &'a Path,
    pub cache: &'a Cache,
    /// Files with compiled units of earlier builds. A unit is looked for in this order.
    pub prebuilt: &'a [PathBuf],
    /// The file for the units that this build has compiled, or found.
    pub archive: Option<&'a Path>,
    /// The folder of bundles and logs.
    pub out: &'a Path,
    pub compression: Compression,
    pub pool: &'a Pool,
}

#[derive(Debug, Default)]
pub struct Outcome {
    pub report: Report,
    pub failures: Vec<KernelFailure>,
    pub warnings: Vec<String>,
    /// How long each step took, for `cargo build -vv`.
    pub times: Vec<(&'static str, Duration)>,
}

impl Outcome {
    fn took(&mut self, step: &'static str, since: &mut Instant) {
        self.times.push((step, since.elapsed()));
        *since = Instant::now();
    }
}

/// A unit to compile for one of the targets.
#[derive(Clone, Copy)]
struct Job<'a> {
    unit: &'a DeviceUnit,
    target: usize,
}

/// One entry for one target.
pub struct Compiled<'a> {
    pub unit: &'a DeviceUnit,
    pub entry: &'a EntryMeta,
    pub target: usize,
    pub built: BuiltEntry,
}

pub fn run(b: &Build) -> Result<Outcome, BuildError> {
    let (mut outcome, mut since) = (Outcome::default(), Instant::now());
    let (units, warnings) = units::collect(b.sources, b.lower, b.pool);
    outcome.warnings.extend(warnings);
    outcome.took("lowering", &mut since);
    run_units(b, units, outcome)
}

/// The same for given units, without those of the sources.
pub fn run_units(b: &Build, mut units: Vec<DeviceUnit>, mut outcome: Outcome) -> Result<Outcome, BuildError> {
    let mut since = Instant::now();
    fs::create_dir_all(b.out)?;
    outcome.report.targets = b.targets.iter().map(Target::name).collect();
    if units.is_empty() {
        bundle::write_all(&[], b)?;
        return Ok(outcome);
    }
    // The longest first, so that none is left alone at the end.
    units.sort_by_key(|u| std::cmp::Reverse(u.source.len()));
    let jobs: Vec<Job> = units
        .iter()
        .flat_map(|unit| {
            (0..b.targets.len())
                .filter(|&t| unit.only.is_none_or(|o| o == b.targets[t].name()))
                .map(move |target| Job { unit, target })
        })
        .collect();
    let keys = if b.prebuilt.is_empty() && b.archive.is_none() { vec![] } else { archive_keys(b, &jobs)? };
    let (mut compiled, rest) = from_archives(b, &jobs, &keys, &mut outcome);
    outcome.took("archives", &mut since);
    let scratch = Scratch::new(b.out)?;
    if !rest.is_empty() {
        match (b.toolchain)() {
            Ok(toolchain) => compiled.extend(compile_all(b, &toolchain, &scratch.0, &rest, &mut outcome)?),
            Err(missing) if compiled.is_empty() => {
                return Err(BuildError::Toolchain { missing, archives: outcome.warnings });
            }
            Err(missing) => outcome.warnings.push(format!(
                "{} units of code are in no archive, and their kernels run on the CPU: {missing}",
                rest.len()
            )),
        }
    }
    outcome.took("rustc", &mut since);
    // Entries of an archive that was made without ptxas are assembled, too.
    if compiled.iter().any(|c| c.built.assembled.is_none())
        && let Some(ptxas) = (b.ptxas)()
    {
        outcome.report.ptxas = Some(ptxas.version.clone());
        assemble_all(b, &ptxas, &scratch.0, &mut compiled, &mut outcome);
    }
    outcome.took("ptxas", &mut since);
    bundle::write_all(&compiled, b)?;
    outcome.took("packing", &mut since);
    if let Some(to) = b.archive {
        // One that is there already may have all of them.
        match built_units(&jobs, keys, &compiled).filter(|_| outcome.failures.is_empty()) {
            Some(units) if units.is_empty() => {
                outcome.warnings.push(format!("{} is not written: TILE_TARGETS names no target", to.display()));
            }
            Some(units) => write_archive(b, to, units, &outcome.report)?,
            None => outcome.warnings.push(format!("{} is not written: some kernels were not compiled", to.display())),
        }
        outcome.took("archive", &mut since);
    }
    outcome.report.entries = compiled.iter().map(|c| entry_report(c, b.targets)).collect();
    outcome.report.entries.sort_by(|x, y| (&x.kernel, &x.entry, &x.target).cmp(&(&y.kernel, &y.entry, &y.target)));
    outcome.report.remarks = outcome.report.slow();
    outcome.failures.sort_by(|x, y| (&x.kernel, &x.target).cmp(&(&y.kernel, &y.target)));
    outcome.warnings.extend(b.cache.take_warnings());
    b.cache.prune();
    Ok(outcome)
}

/// The sources that make entries of rustc's PTX: an archive of other ones has other entries.
const OWN_WORK: [&str; 6] = [
    env!("CARGO_PKG_VERSION"),
    include_str!("compile.rs"),
    include_str!("ptx.rs"),
    include_str!("ptx/module.rs"),
    include_str!("assemble.rs"),
    include_str!("target.rs"),
];

/// The keys of jobs' units in archives: a hash of all inputs of their entries, but the versions of `rustc` and `ptxas`.
fn archive_keys(b: &Build, jobs: &[Job]) -> io::Result<Vec<Key>> {
    let library = prebuilt::source_key(b.tilewright_core)?;
    Ok(b.pool.map(jobs, |Job { unit, target }| {
        let target = &b.targets[*target];
        let (name, entries) = (target.name(), format!("{:?}", unit.entries));
        let mut parts = rustc::flags();
        // This crate processes rustc's PTX.
        parts.extend(OWN_WORK.map(str::as_bytes));
        // Such a unit has the device library of its own target, another one that of the oldest of its generation.
        parts.push(if unit.by_target { b"by target" } else { b"by generation" });
        parts.extend([library.as_bytes(), name.as_bytes(), target.isa().as_bytes()]);
        parts.extend([unit.source.as_bytes(), entries.as_bytes()]);
        Key::of(parts)
    }))
}

/// The entries of jobs that archives have, and the other jobs. An archive that cannot be read is a warning.
fn from_archives<'a>(
    b: &Build,
    jobs: &[Job<'a>],
    keys: &[Key],
    outcome: &mut Outcome,
) -> (Vec<Compiled<'a>>, Vec<Job<'a>>) {
    if b.prebuilt.is_empty() {
        return (vec![], jobs.to_vec());
    }
    let (mut compiled, mut rest) = (Vec::new(), jobs.iter().copied().zip(keys).collect::<Vec<_>>());
    for file in b.prebuilt {
        let wanted: HashSet<Key> = rest.iter().map(|(_, key)| (*key).clone()).collect();
        let read = Archive::read(file).and_then(|a| Ok((a.units(&wanted, b.pool)?, a.tools)));
        let (found, tools) = match read {
            Ok(read) => read,
            Err(e) => {
                outcome.warnings.push(format!("{} is not used: {e}", file.display()));
                continue;
            }
        };
        // Two units may have one key.
        rest.retain(|(job, key)| match found.get(key).filter(|entries| entries.len() == job.unit.entries.len()) {
            Some(entries) => {
                compiled.extend(job.entries(entries.iter().cloned()));
                false
            }
            None => true,
        });
        if !compiled.is_empty() {
            outcome.report.rustc = outcome.report.rustc.take().or(tools.rustc);
            outcome.report.ptxas = outcome.report.ptxas.take().or(tools.ptxas);
        }
    }
    (compiled, rest.into_iter().map(|(job, _)| job).collect())
}

/// The contents of an archive of all jobs; none if an entry of one was not made.
fn built_units<'a>(jobs: &[Job<'a>], keys: Vec<Key>, compiled: &'a [Compiled<'a>]) -> Option<Vec<BuiltUnit<'a>>> {
    let mut entries: HashMap<_, HashMap<&str, &BuiltEntry>> = HashMap::new();
    for c in compiled {
        let of_job = entries.entry((core::ptr::from_ref(c.unit), c.target)).or_default();
        of_job.insert(&c.entry.name, &c.built);
    }
    let unit = |(job, key): (&Job<'a>, Key)| {
        let of_job = entries.get(&(core::ptr::from_ref(job.unit), job.target))?;
        let entries = job.unit.entries.iter().map(|e| of_job.get(e.name.as_str()).copied());
        Some(BuiltUnit { key, kernel: &job.unit.kernel, entries: entries.collect::<Option<_>>()? })
    };
    jobs.iter().zip(keys).map(unit).collect()
}

fn write_archive(b: &Build, to: &Path, units: Vec<BuiltUnit>, report: &Report) -> io::Result<()> {
    let tools = Tools { rustc: report.rustc.clone(), ptxas: report.ptxas.clone() };
    let bytes = archive::pack(&tools, units, b.pool)?;
    let written = fs::create_dir_all(to.parent().unwrap_or(Path::new("/")))
        .and_then(|()| tilewright_cache_dir::replace(to, |file| file.write_all(&bytes)));
    written.map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", to.display())))
}

/// The PTX of all jobs.
fn compile_all<'a>(
    b: &Build,
    toolchain: &Toolchain,
    scratch: &Path,
    jobs: &[Job<'a>],
    outcome: &mut Outcome,
) -> Result<Vec<Compiled<'a>>, BuildError> {
    outcome.report.rustc = toolchain.version.lines().next().map(str::to_owned);
    let rustc = Rustc { toolchain };
    let prebuilt = prebuilt::make(&rustc, b.cache, b.targets, b.tilewright_core)?;
    let groups = by_code(b.targets, jobs);
    let texts = b.pool.map(&groups, |group| unit_ptx(b, &rustc, &prebuilt, group[0], scratch));
    let mut compiled = Vec::new();
    for (group, result) in groups.iter().zip(texts) {
        match result {
            Ok(list) => compiled.extend(group.iter().flat_map(|job| {
                let for_target = |e: &EntryPtx| {
                    let directives = b.targets[job.target].directives(&e.text);
                    BuiltEntry { ptx: e.with_directives(&directives), assembled: None }
                };
                job.entries(list.iter().map(for_target).collect::<Vec<_>>())
            })),
            Err(why) => {
                let targets: Vec<String> = group.iter().map(|job| b.targets[job.target].name()).collect();
                let failed = failure(b, group[0], why, None);
                outcome.failures.push(KernelFailure { target: targets.join(", "), ..failed });
            }
        }
    }
    Ok(compiled)
}

/// The jobs that have one code but for directives of their targets, the oldest target first: rustc compiles a unit once
/// for the targets of a generation, unless the unit calls functions that differ between them.
fn by_code<'a>(targets: &[Target], jobs: &[Job<'a>]) -> Vec<Vec<Job<'a>>> {
    let mut groups: Vec<Vec<Job>> = Vec::new();
    let mut places = HashMap::new();
    for &job in jobs {
        let alone = job.unit.by_target.then_some(job.target);
        let code = (core::ptr::from_ref(job.unit), targets[job.target].generation(), alone);
        let place = *places.entry(code).or_insert(groups.len());
        match groups.get_mut(place) {
            Some(group) => group.push(job),
            None => groups.push(vec![job]),
        }
    }
    groups.iter_mut().for_each(|group| group.sort_by_key(|job| &targets[job.target]));
    groups
}

impl<'a> Job<'a> {
    /// Its entries, from their build products, in their order.
    fn entries(self, built: impl IntoIterator<Item = BuiltEntry>) -> impl Iterator<Item = Compiled<'a>> {
        let Job { unit, target } = self;
        unit.entries.iter().zip(built).map(move |(entry, built)| Compiled { unit, entry, target, built })
    }
}

/// The PTX of every entry of a unit, in the entries' order.
fn unit_ptx(
    b: &Build,
    rustc: &Rustc,
    prebuilt: &Prebuilt,
    Job { unit, target }: Job,
    scratch: &Path,
) -> Result<Vec<EntryPtx>, Why> {
    let (target, library) = (&b.targets[target], &prebuilt.tilewright_core[target]);
    let bounds: Vec<_> = unit
        .entries
        .iter()
        .map(|e| (e.name.as_str(), Bounds { threads: e.threads, min_blocks: e.min_blocks, ctas: e.ctas, maps: e.maps }))
        .collect();
    let name = target.name();
    let mut parts = rustc::flags();
    parts.extend([library.key.as_bytes(), name.as_bytes(), unit.source.as_bytes()]);
    let key = Key::of(parts);
    let known = b.cache.get("ptx", &key).and_then(|t| String::from_utf8(t).ok());
    if let Some(Ok(list)) = known.map(|t| ptx::split(&t, &bounds)) {
        return Ok(list);
    }
    let stem = scratch.join(format!("{}-{name}-{}-{}", unit.kernel, unit.fingerprint, unit.only.unwrap_or("any")));
    let (source, out) = (stem.with_extension("rs"), stem.with_extension("s"));
    fs::write(&source, &unit.source)?;
    rustc.unit(&source, &prebuilt.sysroot, target, &[("tilewright_core", library.path.clone())], &out)?;
    let text = fs::read_to_string(&out)?;
    let list = ptx::split(&text, &bounds)?;
    let _ = (b.cache.put("ptx", &key, text.as_bytes()), fs::remove_file(source), fs::remove_file(out));
    Ok(list)
}

/// Adds machine code to every entry; an entry that ptxas rejects is a failure, and keeps its PTX.
fn assemble_all(b: &Build, ptxas: &Ptxas, scratch: &Path, compiled: &mut [Compiled], outcome: &mut Outcome) {
    let mut jobs: Vec<usize> = (0..compiled.len()).filter(|&i| compiled[i].built.assembled.is_none()).collect();
    // A ptxas may know a target, and not the version of the PTX of some entries.
    let of = |i: usize| (compiled[i].target, compiled[i].built.ptx.version());
    let mut usable: BTreeMap<(usize, &str), bool> = jobs.iter().map(|&i| (of(i), true)).collect();
    for (&(t, version), ok) in &mut usable {
        let target = &b.targets[t];
        if let Err(e) = assemble::supports(ptxas, target, version, scratch) {
            *ok = false;
            outcome.warnings.push(format!(
                "no machine code for {target} of entries with `{version}`, the driver compiles their PTX instead: {} \
                 says: {e}",
                ptxas.path.display()
            ));
        }
    }
    jobs.retain(|&i| usable[&of(i)]);
    jobs.sort_by_key(|&i| std::cmp::Reverse(compiled[i].built.ptx.text.len()));
    let list = &*compiled;
    let results = b.pool.map(&jobs, |&i| {
        let (c, stem) = (&list[i], scratch.join(format!("entry-{i}")));
        assemble::with_fewest_spills(ptxas, b.cache, &b.targets[c.target], &c.built.ptx.text, &stem)
    });
    for (&i, result) in jobs.iter().zip(results) {
        match result {
            Ok((assembled, text)) => {
                let built = &mut compiled[i].built;
                built.assembled = Some(assembled);
                if let Some(text) = text {
                    built.ptx.text = text;
                }
            }
            Err(e) => {
                let c = &compiled[i];
                outcome.failures.push(failure(
                    b,
                    Job { unit: c.unit, target: c.target },
                    e.into(),
                    Some(&c.built.ptx.text),
                ));
            }
        }
    }
}

/// Keeps the files for an analysis of the failure.
fn failure(b: &Build, Job { unit, target }: Job, why: Why, ptx: Option<&str>) -> KernelFailure {
    let target = b.targets[target].name();
    let kept = b.out.join(format!("{}-{target}.failed.rs", unit.kernel));
    let _ = fs::write(&kept, &unit.source);
    if let Some(text) = ptx {
        let _ = fs::write(kept.with_extension("ptx"), text);
    }
    let log = if let Why::Rustc(f) = &why { f.log.clone() } else { why.to_string() };
    let _ = fs::write(kept.with_extension("log"), log);
    KernelFailure { kernel: unit.kernel.clone(), target, why, kept }
}

fn entry_report(c: &Compiled, targets: &[Target]) -> EntryReport {
    let BuiltEntry { ptx, assembled } = &c.built;
    EntryReport {
        kernel: c.unit.kernel.clone(),
        fingerprint: c.unit.fingerprint.clone(),
        file: c.unit.file.clone(),
        place: c.unit.place,
        entry: c.entry.name.clone(),
        target: targets[c.target].name(),
        threads: c.entry.threads,
        shared_bytes: c.entry.shared_bytes,
        min_blocks: c.entry.min_blocks,
        ctas: c.entry.ctas,
        local_bytes: ptx.local_bytes,
        usage: assembled.as_ref().map(|a| a.usage).unwrap_or_default(),
        serialized: assembled.as_ref().is_some_and(|a| a.serialized),
        ptx_bytes: ptx.text.len(),
        cubin_bytes: assembled.as_ref().and_then(|a| a.code.as_ref()).map_or(0, Vec::len),
    }
}

/// Temporary files, removed in every case.
struct Scratch(PathBuf);

impl Scratch {
    fn new(out: &Path) -> io::Result<Scratch> {
        let dir = out.join(format!("scratch-{}", std::process::id()));
        fs::create_dir_all(&dir)?;
        Ok(Scratch(dir))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests;
