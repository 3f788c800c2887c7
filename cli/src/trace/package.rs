//! A timeline of a kernel of a user's package, in a program that Cargo runs.

use super::compile::{Kept, compile};
use super::timeline::Timeline;
use super::{chrome, summary, table};
use crate::cargo;
use crate::kernel_code::KernelCode;
use crate::out::outln;
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::fs;
use std::path::Path;
use tilewright_compiler::Variant;
use tilewright_core::trace_file::{self, ARRAY, LAUNCH};
use tilewright_runtime::Runtime;
use tilewright_runtime::private::TracedLaunch;

/// Runs Cargo with traced code of a kernel's instance, and writes the timeline of its last launch.
pub fn of_package(code: &KernelCode, folder: &Path, asked: &[String], kept: Kept, out: &Path) -> Result<bool> {
    let rt = Runtime::from_name("cuda").map_err(|e| anyhow!("{e}: --trace takes the times of a GPU"))?;
    let arch = rt.device().compute_capability.context("the GPU has a compute capability")?;
    drop(rt);
    ensure!(!code.entries.is_empty(), "this configuration of {} is for the CPU alone: choose another one", code.name);
    let runs = |v: &Variant| tilewright_compiler::trace::only_target(*v, 1).is_none() || arch.0 == 9;
    let variants: Vec<Variant> = code.entries.iter().map(|(_, v)| *v).filter(runs).collect();
    let mut warnings = vec![];
    let entries = compile(code, &variants, kept, arch, &mut warnings)?;
    warnings.iter().for_each(|w| outln!("{w}"));
    let temp = tilewright_cache_dir::TempDir::with_prefix("tile-trace-").context("a folder for the code")?;
    let (file, left) = (temp.path().join("code"), temp.path().join("code.launch"));
    table::write(&file, &entries)?;
    let default = ["test".to_string()];
    let mut command = cargo::command();
    command.args(if asked.is_empty() { &default } else { asked }).current_dir(folder).env("TILE_TRACE", &file);
    if std::env::var_os("TILE_BACKEND").is_none_or(|b| b.is_empty()) {
        command.env("TILE_BACKEND", "cuda");
    }
    let good = command.status().context("cannot run cargo")?.success();
    if !left.is_file() {
        // The failure is reported already.
        ensure!(!good, "nothing launched {}[{}] on a GPU", code.name, code.config);
        return Ok(false);
    }
    let timeline = read(&left, entries.into_iter().map(|c| c.table).collect())?;
    chrome::write(out, std::slice::from_ref(&timeline))?;
    summary::print(&timeline);
    outln!("{}: open it at https://ui.perfetto.dev", out.display());
    Ok(good)
}

/// The launch that a process with `TILE_TRACE` has left.
fn read(path: &Path, tables: Vec<table::Table>) -> Result<Timeline> {
    let parts = trace_file::read(&fs::read(path)?).map_err(|why| anyhow!("{}: {why}", path.display()))?;
    let mut parts: std::collections::HashMap<_, _> = parts.into_iter().collect();
    let (Some(launch), Some(array)) = (parts.remove(LAUNCH), parts.remove(ARRAY)) else {
        bail!("{} has no launch", path.display());
    };
    let launch = TracedLaunch { array, ..serde_json::from_slice(&launch)? };
    let table = tables.into_iter().find(|t| t.entry == launch.entry).context("a launch of another entry")?;
    Timeline::new(table, launch)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::records::tests::{Written, at, table};

    #[test]
    fn a_launch_that_a_process_has_left_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("code.launch");
        let table = table();
        let mut array = Written::new(&table);
        array.head(0, 2, [at(10, 100), at(20, 110)], 0);
        let launch = TracedLaunch { entry: table.entry.clone(), grid: [1, 1, 1], ..TracedLaunch::default() };
        let facts = serde_json::to_vec(&launch).expect("JSON");
        let parts = [(LAUNCH.to_string(), facts), (ARRAY.to_string(), array.0)];
        fs::write(&path, trace_file::write(&parts)).expect("it is written");
        let t = read(&path, vec![table]).expect("it is whole");
        assert_eq!((t.recorded.warps.len(), t.launch.grid), (1, [1, 1, 1]));
        fs::write(&path, trace_file::write(&parts[..1])).expect("it is written");
        assert!(read(&path, vec![]).err().expect("no array").to_string().contains("has no launch"));
    }
}
