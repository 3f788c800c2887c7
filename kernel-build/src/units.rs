//! The kernels of a crate, as the compiler lowers them.

use std::collections::HashSet;
use std::path::PathBuf;

use tilewright_compiler::remarks::Remark;
use tilewright_compiler::{DeviceUnit, Libraries, Source};

use crate::pool::Pool;
use crate::sources::{SourceFile, Sources};

/// The compiler: the kernels of one file, which use libraries of the package. It leaves out kernels with mistakes, for
/// the macro reports these.
pub type Lower = dyn Fn(Source, &Libraries) -> Vec<DeviceUnit> + Sync;

/// Units of all files, in the order of the files, and warnings; every file is a job.
pub fn collect(sources: &Sources, lower: &Lower, pool: &Pool) -> (Vec<DeviceUnit>, Vec<String>) {
    let (files, libraries) = (sources.with_kernels(), &sources.libraries);
    let missing = files.iter().flat_map(|f| libraries.missing(f.source())).collect();
    let mut seen = HashSet::new();
    // Two of one text, in an example and in a test say, are one to their macros, too.
    let is_new = |u: &DeviceUnit| seen.insert((u.kernel.clone(), u.fingerprint.clone(), u.only));
    let lowered = pool.map(&files, |f| lower(f.source(), libraries));
    (lowered.into_iter().flatten().filter(is_new).collect(), missing)
}

/// The remarks of the compiler on the kernels of all files, with the file of each.
pub fn remarks(sources: &Sources) -> Vec<(PathBuf, Remark)> {
    let of = |f: &SourceFile| {
        let all = tilewright_compiler::remarks::of_file(f.source(), &sources.libraries);
        all.into_iter().map(|r| (f.path.clone(), r)).collect::<Vec<_>>()
    };
    sources.with_kernels().into_iter().flat_map(of).collect()
}
