//! The kernels of a crate, as the compiler lowers them.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::pool::Pool;
use crate::target::Target;

/// One rustc crate of lowered code: all or some instances of one kernel, for one target.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unit {
    pub kernel: String,
    /// Of the lowered code; the macro computes the same.
    pub fingerprint: String,
    pub source: String,
    pub entries: Vec<Entry>,
    /// Index of the target.
    pub target: usize,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    pub name: String,
    pub threads: u32,
    pub shared_bytes: u32,
    pub min_blocks: u32,
}

/// The compiler: units of one file's kernels for a target. Kernels with mistakes give none, for the macro reports them.
pub type Lower = dyn Fn(&str, &Target) -> Vec<Unit> + Sync;

/// Asks the tile compiler.
pub fn lower(_text: &str, _target: &Target) -> Vec<Unit> {
    Vec::new()
}

/// Units of all files for all targets, in the order of files and targets; every file is a job.
pub fn collect(files: &[PathBuf], targets: &[Target], lower: &Lower, pool: &Pool) -> io::Result<Vec<Unit>> {
    let mut texts = Vec::new();
    for f in files {
        let text = fs::read_to_string(f).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", f.display())))?;
        // A look at the text spares most files the parser.
        if text.contains("tile_kernel") || text.contains("tile_module") {
            texts.push(text);
        }
    }
    let jobs: Vec<_> = texts.iter().flat_map(|t| (0..targets.len()).map(move |target| (t, target))).collect();
    let units = pool.map(&jobs, |&(text, target)| {
        let mut units = lower(text, &targets[target]);
        units.iter_mut().for_each(|u| u.target = target);
        units
    });
    Ok(units.into_iter().flatten().collect())
}

/// All `.rs` files below a folder, sorted; none where there is no such folder.
pub fn rust_files(dir: &Path) -> io::Result<Vec<PathBuf>> {
    let mut out = Vec::new();
    let mut todo = vec![dir.to_owned()];
    while let Some(d) = todo.pop() {
        let entries = match fs::read_dir(&d) {
            Ok(e) => e,
            Err(e) if e.kind() == io::ErrorKind::NotFound => continue,
            Err(e) => return Err(e),
        };
        for entry in entries {
            let path = entry?.path();
            if path.is_dir() {
                todo.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                out.push(path);
            }
        }
    }
    out.sort();
    Ok(out)
}
