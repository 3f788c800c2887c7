//! The build script: its output for cargo.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Instant;

use tilewright_compiler::front::cfg::Features;
use tilewright_compiler::remarks::Remark;
use tilewright_compiler::{Configs, Source};
use tilewright_core::bundle::Compression;

use crate::archive::ENDING;
use crate::cache::Cache;
use crate::compile::{Build, BuildError, Outcome, run};
use crate::dependencies::{self, Dependency};
use crate::pool::Pool;
use crate::report::Report;
use crate::settings::{Settings, VARIABLES};
use crate::sources::Sources;
use crate::{files, host_code, ptxas, registry, toolchain, units, watch};

/// Compiles the kernels of the crate whose build script calls it, with the settings of the environment.
///
/// A kernel that cannot be compiled is an error of the build. A missing device toolchain is a warning.
///
/// # Panics
/// It is not called from a build script.
///
/// # Examples
/// ```no_run
/// // The `main` of build.rs:
/// tilewright_build::compile();
/// ```
pub fn compile() {
    Settings::from_env().compile()
}

impl Settings {
    /// Compiles the kernels of the crate whose build script calls it, with these settings. Errors and panics: as
    /// [`compile`].
    pub fn compile(&self) {
        // SAFETY: a build script has just started and has no threads.
        let pool = unsafe { Pool::from_env() };
        let dir = |name| {
            PathBuf::from(
                std::env::var_os(name).unwrap_or_else(|| panic!("{name} is not set: call this from a build script")),
            )
        };
        let (crate_dir, out) = (dir("CARGO_MANIFEST_DIR"), dir("OUT_DIR").join("tile"));
        let cache = cache_for(&out);
        if let Some(why) = self.wrong_path() {
            println!("cargo::error={}", one_line(&why));
            return;
        }
        let dependencies = dependencies::announced(std::env::vars_os());
        self.watch(&crate_dir, &dependencies, &cache, &out);
        let (outcome, remarks) = match self.sources(&crate_dir, &dependencies) {
            Ok(sources) => {
                let misspellings = sources.misspellings(&crate_dir);
                if !misspellings.is_empty() {
                    misspellings.iter().for_each(|m| println!("cargo::error={}", one_line(m)));
                    return;
                }
                // A package without the key says it to nobody.
                if let (Ok(package), Some(_)) =
                    (std::env::var("CARGO_PKG_NAME"), std::env::var_os("CARGO_MANIFEST_LINKS"))
                {
                    println!("{}", dependencies::announcement(&package, &crate_dir));
                }
                write_host_code(&sources, &out.join("host"), &pool);
                if let Err(e) = registry::write(&crate_dir, &sources, &out) {
                    println!("cargo::error=no list of kernels in {}: {}", out.display(), one_line(&e.to_string()));
                }
                let outcome = self.build(&sources, &crate_dir, &out, &cache, &pool);
                (outcome, self.remarks(&sources))
            }
            Err(e) => (Err(e.into()), vec![]),
        };
        self.tell(outcome, remarks, &crate_dir, &out);
    }

    /// The files that kernels are looked for in, and the libraries of dependencies.
    fn sources(&self, crate_dir: &Path, dependencies: &[Dependency]) -> io::Result<Sources> {
        let found = self.dirs.iter().map(|d| files::rust_files(&crate_dir.join(d)));
        let found = found.collect::<io::Result<Vec<_>>>()?.concat();
        let names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
        Sources::read_with(&found, dependencies::libraries(dependencies)?, Features::of_variables(names))
    }

    /// The defect of the paths of archives. A build script runs in the folder of its package, and not where the build
    /// was started.
    fn wrong_path(&self) -> Option<String> {
        if self.archives.is_some() && self.configs != Configs::All {
            return Some("an archive has all configurations: set TILE_ARCHIVE or TILE_CONFIGS, and not both".into());
        }
        if let Some(folder) = self.archives.iter().find(|f| f.is_relative()) {
            return Some(format!("TILE_ARCHIVE is an absolute path, and not `{}`", folder.display()));
        }
        let wrong = self.prebuilt.iter().find(|f| f.is_relative() || !f.is_file())?;
        Some(format!("TILE_PREBUILT has absolute paths of files, and `{}` is none", wrong.display()))
    }

    /// The package's own archive, if it has one, and those of the settings.
    fn archives_of(&self, crate_dir: &Path) -> Vec<PathBuf> {
        let own = Some(own_archive(crate_dir)).filter(|p| p.is_file());
        own.into_iter().chain(self.prebuilt.iter().cloned()).collect()
    }

    fn build(
        &self,
        sources: &Sources,
        crate_dir: &Path,
        out: &Path,
        cache: &Cache,
        pool: &Pool,
    ) -> Result<Outcome, BuildError> {
        let (targets, configs) = (self.targets.clone()?, self.configs);
        let variable = |name| std::env::var(name).unwrap_or_default();
        let package = format!("{}-{}.{ENDING}", variable("CARGO_PKG_NAME"), variable("CARGO_PKG_VERSION"));
        let archive = self.archives.as_ref().map(|folder| folder.join(package));
        let lower = move |source: Source, libraries: &_| tilewright_compiler::device_units(source, libraries, configs);
        run(&Build {
            sources,
            targets: &targets,
            lower: &lower,
            toolchain: toolchain::find,
            ptxas: ptxas::find,
            tilewright_core: &Path::new(tilewright_core::SOURCE_DIR).join("lib.rs"),
            cache,
            prebuilt: &self.archives_of(crate_dir),
            archive: archive.as_deref(),
            out,
            compression: if variable("PROFILE") == "release" { Compression::Small } else { Compression::Fast },
            pool,
        })
    }

    /// The optimizations that the compiler missed, if `TILE_REMARKS` asks for them.
    fn remarks(&self, sources: &Sources) -> Vec<(PathBuf, Remark)> {
        if self.remarks { units::remarks(sources) } else { vec![] }
    }

    /// When cargo has to run the script again. Cargo itself follows the tile compiler, a dependency of the script, but
    /// not the parts of `tilewright_core` that only the device has.
    fn watch(&self, crate_dir: &Path, dependencies: &[Dependency], cache: &Cache, out: &Path) {
        let tell = |path: &Path| println!("cargo::rerun-if-changed={}", path.display());
        tell(Path::new(tilewright_core::SOURCE_DIR));
        let dirs = self.dirs.iter().map(|d| crate_dir.join(d));
        let others = dependencies.iter().map(|d| d.sources.clone()).chain([own_archive(crate_dir)]);
        match watch::watched(dirs.chain(others).chain(self.prebuilt.clone()), &out.join("watched")) {
            Ok(paths) => paths.iter().for_each(|p| tell(p)),
            Err(e) => println!("cargo::warning=folders of kernels are not watched: {}", one_line(&e.to_string())),
        }
        for v in VARIABLES {
            println!("cargo::rerun-if-env-changed={v}");
        }
        // A path that does not exist would make every build run the script: have the stamp there from the start.
        let stamp = cache.toolchain_stamp();
        if stamp.exists() || cache.stamp_toolchain("").is_ok() {
            tell(&stamp);
        }
        if let Some(list) = std::env::var_os("RUSTC").and_then(|r| toolchain::components(Path::new(&r))) {
            tell(&list);
        }
    }

    fn tell(
        &self,
        outcome: Result<Outcome, BuildError>,
        remarks: Vec<(PathBuf, Remark)>,
        crate_dir: &Path,
        out: &Path,
    ) {
        let mut outcome = match outcome {
            Ok(o) => o,
            Err(e @ BuildError::Toolchain { .. }) => {
                println!("cargo::warning={}", one_line(&e.to_string()));
                let mut remarks = remarks;
                tell_remarks(&mut remarks, crate_dir);
                write_report(out, &Report { remarks, ..Report::default() });
                return;
            }
            Err(e) => {
                println!("cargo::error={}", one_line(&e.to_string()));
                return;
            }
        };
        println!("cargo::rustc-env=TILE_BUNDLE_DIR={}", out.display());
        outcome.report.remarks.splice(0..0, remarks);
        tell_remarks(&mut outcome.report.remarks, crate_dir);
        write_report(out, &outcome.report);
        for (step, time) in &outcome.times {
            println!("{step}: {:.2} s", time.as_secs_f64());
        }
        if outcome.report.ptxas.is_none() {
            outcome.warnings.extend(ptxas::Search::from_env().is_wrong());
        }
        for w in &outcome.warnings {
            println!("cargo::warning={}", one_line(w));
        }
        let level = if self.errors_are_warnings { "warning" } else { "error" };
        for f in &outcome.failures {
            println!(
                "cargo::{level}=internal error of tilewright, please report it: the lowered code of kernel `{}` cannot be compiled for {}: {} (kept: {})",
                f.kernel,
                f.target,
                one_line(&f.why.to_string()),
                f.kept.display()
            );
        }
    }
}

fn own_archive(crate_dir: &Path) -> PathBuf {
    crate_dir.join(format!("kernels.{ENDING}"))
}

/// Writes the code that the macros include. If it cannot be written the macros make it themselves.
fn write_host_code(sources: &Sources, out: &Path, pool: &Pool) {
    let since = Instant::now();
    match host_code::write_all(sources, out, pool) {
        Ok(()) => println!("cargo::rustc-env=TILE_HOST_DIR={}", out.display()),
        Err(e) => println!("cargo::warning=no host code in {}: {}", out.display(), one_line(&e.to_string())),
    }
    println!("host code: {:.2} s", since.elapsed().as_secs_f64());
}

/// The user's cache folder, else one of this build alone: a sandboxed build cannot write to the user's folders.
fn cache_for(out: &Path) -> Cache {
    let own = || Cache::at(out.join("cache"));
    let Some(cache) = Cache::from_env() else { return own() };
    match cache.check() {
        Ok(()) => cache,
        Err(e) => {
            if e.get_ref().is_some_and(|why| why.is::<tilewright_cache_dir::Untrusted>()) {
                println!("cargo::warning=the cache folder is not used: {}", one_line(&e.to_string()));
            }
            own()
        }
    }
}

/// Tells remarks as warnings, with their files as paths in the package.
fn tell_remarks(remarks: &mut [(PathBuf, Remark)], crate_dir: &Path) {
    for (file, r) in remarks {
        if let Ok(inner) = file.strip_prefix(crate_dir) {
            *file = inner.to_path_buf();
        }
        println!("cargo::warning={}", one_line(&r.in_file(&file.display().to_string())));
    }
}

fn write_report(out: &Path, report: &Report) {
    let written = fs::create_dir_all(out).and_then(|()| fs::write(out.join("report.json"), report.to_json()));
    if let Err(e) = written {
        println!("cargo::warning=cannot write {}: {e}", out.join("report.json").display());
    }
}

/// A directive ends with its line.
fn one_line(text: &str) -> String {
    text.lines().map(str::trim).filter(|l| !l.is_empty()).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_of_archives_are_absolute_and_there() {
        let settings = |prebuilt: &[&str], archives: Option<&str>| {
            let prebuilt = prebuilt.iter().map(PathBuf::from).collect();
            let archives = archives.map(PathBuf::from);
            Settings { prebuilt, archives, configs: Configs::All, ..Settings::from_env() }
        };
        let with = |prebuilt: &[&str], archives| settings(prebuilt, archives).wrong_path();
        let with_few = |archives| Settings { configs: Configs::Few, ..settings(&[], archives) }.wrong_path();
        assert!(with_few(Some("/archives")).is_some_and(|why| why.contains("TILE_CONFIGS")));
        assert_eq!(with_few(None), None);
        let here = concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml");
        assert_eq!(with(&[here], Some("/archives")), None);
        assert!(with(&[], Some("archives")).is_some_and(|why| why.contains("TILE_ARCHIVE")));
        assert!(with(&[here, "Cargo.toml"], None).is_some_and(|why| why.contains("`Cargo.toml`")));
        assert!(with(&["/no/such/file"], None).is_some_and(|why| why.contains("/no/such/file")));
    }
}
