//! The benchmarks of a user's package, which `tile bench --crate` and `tile check --crate` run.

use crate::cargo;
use anyhow::{Context, Result, bail, ensure};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

#[derive(clap::Args, Clone)]
pub struct Package {
    /// The folder of a package: its benchmarks, whose main is that of tilewright-bench, in place of our operations
    #[arg(long = "crate", value_name = "FOLDER")]
    pub package: Option<PathBuf>,
    /// With --crate: one benchmark of the package, as its manifest names it (several: repeat it); all by default
    #[arg(long, value_name = "NAME", requires = "package")]
    pub bench: Vec<String>,
}

/// The purpose of a run of benchmarks.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Verb {
    /// In Cargo's profile for benchmarks. `single`: an option that is of one benchmark, such as a file.
    Measure { single: Option<&'static str> },
    /// In its profile for tests, which is built sooner.
    Check,
}

impl Package {
    /// Runs benchmarks with these arguments; whether all succeeded.
    pub fn run(&self, folder: &Path, verb: Verb, arguments: &[OsString], backend: &str) -> Result<bool> {
        let all = benches(folder)?;
        ensure!(!all.is_empty(), "{} has no benchmark: `tile new` makes a package that has one", folder.display());
        for name in &self.bench {
            ensure!(all.contains(name), "{} has no benchmark `{name}`; it has {}", folder.display(), all.join(", "));
        }
        let chosen = if self.bench.is_empty() { &all } else { &self.bench };
        if let (Verb::Measure { single: Some(option) }, [_, _, ..]) = (&verb, &chosen[..]) {
            bail!("{option} is of one benchmark: choose one of {} with --bench", chosen.join(", "));
        }
        let mut command = cargo::command();
        command.args([if verb == Verb::Check { "test" } else { "bench" }, "--quiet", "--no-fail-fast"]);
        chosen.iter().for_each(|name| _ = command.args(["--bench", name]));
        command.arg("--").args(arguments).current_dir(folder).env("TILE_BACKEND", backend);
        Ok(command.status().context("cannot run cargo")?.success())
    }
}

/// The names of the benchmarks of the package in a folder.
fn benches(folder: &Path) -> Result<Vec<String>> {
    let metadata = cargo::metadata(folder)?;
    let targets = cargo::package(&metadata, folder)?["targets"].as_array().context("cargo names no targets")?;
    let is_bench = |t: &&serde_json::Value| t["kind"].as_array().is_some_and(|k| k.iter().any(|k| k == "bench"));
    Ok(targets.iter().filter(is_bench).filter_map(|t| Some(t["name"].as_str()?.to_string())).collect())
}
