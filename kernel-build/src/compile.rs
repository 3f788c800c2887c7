//! From a crate's sources to a folder of bundles.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tilewright_compiler::{DeviceUnit, EntryMeta};

use crate::assemble::{self, AssembleError, Cubin};
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
    /// No device toolchain was found.
    #[error(transparent)]
    Toolchain(#[from] Missing),
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
    /// The lowered code and what was said of it.
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

/// What to compile, and with what.
pub struct Build<'a> {
    pub sources: &'a Sources,
    pub targets: &'a [Target],
    pub lower: &'a Lower,
    pub toolchain: fn() -> Result<Toolchain, Missing>,
    pub ptxas: fn() -> Option<Ptxas>,
    /// The `lib.rs` of `tilewright_core`.
    pub tilewright_core: &'a Path,
    pub cache: &'a Cache,
    /// Where bundles and logs go.
    pub out: &'a Path,
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
    pub ptx: EntryPtx,
    pub cubin: Option<Cubin>,
}

pub fn run(b: &Build) -> Result<Outcome, BuildError> {
    let (mut outcome, mut since) = (Outcome::default(), Instant::now());
    fs::create_dir_all(b.out)?;
    let (mut units, warnings) = units::collect(b.sources, b.lower, b.pool);
    outcome.warnings.extend(warnings);
    outcome.took("lowering", &mut since);
    outcome.report.targets = b.targets.iter().map(Target::name).collect();
    if units.is_empty() {
        bundle::write_all(&[], b)?;
        return Ok(outcome);
    }
    // The longest first, so that none is left alone at the end.
    units.sort_by_key(|u| std::cmp::Reverse(u.source.len()));
    let toolchain = (b.toolchain)()?;
    outcome.report.rustc = toolchain.version.lines().next().map(str::to_owned);
    let rustc = Rustc { toolchain: &toolchain };
    let prebuilt = prebuilt::make(&rustc, b.cache, b.targets, b.tilewright_core)?;
    let scratch = Scratch::new(b.out)?;
    outcome.took("core", &mut since);

    let jobs: Vec<Job> = units
        .iter()
        .flat_map(|unit| {
            (0..b.targets.len())
                .filter(|&t| unit.only.is_none_or(|o| o == b.targets[t].name()))
                .map(move |target| Job { unit, target })
        })
        .collect();
    let texts = b.pool.map(&jobs, |&job| unit_ptx(b, &rustc, &prebuilt, job, &scratch.0));
    let mut compiled = Vec::new();
    for (&Job { unit, target }, result) in jobs.iter().zip(texts) {
        match result {
            Ok(list) => compiled.extend(unit.entries.iter().zip(list).map(|(entry, ptx)| Compiled {
                unit,
                entry,
                target,
                ptx,
                cubin: None,
            })),
            Err(why) => outcome.failures.push(failure(b, Job { unit, target }, why, None)),
        }
    }
    outcome.took("rustc", &mut since);
    if let Some(ptxas) = (b.ptxas)() {
        outcome.report.ptxas = Some(ptxas.version.clone());
        assemble_all(b, &ptxas, &scratch.0, &mut compiled, &mut outcome);
    }
    outcome.took("ptxas", &mut since);
    bundle::write_all(&compiled, b)?;
    outcome.took("packing", &mut since);
    outcome.report.entries = compiled.iter().map(|c| entry_report(c, b.targets)).collect();
    outcome.report.entries.sort_by(|x, y| (&x.kernel, &x.entry, &x.target).cmp(&(&y.kernel, &y.entry, &y.target)));
    outcome.warnings.extend(outcome.report.slow());
    outcome.failures.sort_by(|x, y| (&x.kernel, &x.target).cmp(&(&y.kernel, &y.target)));
    outcome.warnings.extend(b.cache.take_warnings());
    b.cache.prune();
    Ok(outcome)
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
    let mut usable = vec![true; b.targets.len()];
    for (t, ok) in b.targets.iter().zip(&mut usable) {
        if let Err(e) = assemble::supports(ptxas, t, scratch) {
            *ok = false;
            outcome.warnings.push(format!(
                "no machine code for {t}, its PTX is compiled by the driver instead: {} says: {e}",
                ptxas.path.display()
            ));
        }
    }
    let mut jobs: Vec<usize> = (0..compiled.len()).filter(|&i| usable[compiled[i].target]).collect();
    jobs.sort_by_key(|&i| std::cmp::Reverse(compiled[i].ptx.text.len()));
    let list = &*compiled;
    let results = b.pool.map(&jobs, |&i| {
        let (c, stem) = (&list[i], scratch.join(format!("entry-{i}")));
        assemble::with_fewest_spills(ptxas, b.cache, &b.targets[c.target], &c.ptx.text, &stem)
    });
    for (&i, result) in jobs.iter().zip(results) {
        match result {
            Ok((cubin, text)) => {
                compiled[i].cubin = Some(cubin);
                if let Some(text) = text {
                    compiled[i].ptx.text = text;
                }
            }
            Err(e) => {
                let c = &compiled[i];
                outcome.failures.push(failure(b, Job { unit: c.unit, target: c.target }, e.into(), Some(&c.ptx.text)));
            }
        }
    }
}

/// Keeps what is needed to look into it.
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
    EntryReport {
        kernel: c.unit.kernel.clone(),
        fingerprint: c.unit.fingerprint.clone(),
        entry: c.entry.name.clone(),
        target: targets[c.target].name(),
        threads: c.entry.threads,
        shared_bytes: c.entry.shared_bytes,
        min_blocks: c.entry.min_blocks,
        ctas: c.entry.ctas,
        local_bytes: c.ptx.local_bytes,
        usage: c.cubin.as_ref().map(|c| c.usage).unwrap_or_default(),
        serialized: c.cubin.as_ref().is_some_and(|c| c.serialized),
        ptx_bytes: c.ptx.text.len(),
        cubin_bytes: c.cubin.as_ref().map_or(0, |c| c.code.len()),
    }
}

/// Temporary files, gone whatever happens.
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
