//! The kernels of a crate, as the compiler lowers them.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::PathBuf;

use tilewright_compiler::remarks::Remark;
use tilewright_compiler::{DeviceUnit, Libraries, Source};

use crate::pool::Pool;

/// The compiler: the kernels of one file, which use libraries of the package. Those with mistakes are left out, for the macro reports them.
pub type Lower = dyn Fn(Source, &Libraries) -> Vec<DeviceUnit> + Sync;

/// Units of all files, in the order of the files, and warnings; every file is a job.
pub fn collect(files: &[PathBuf], lower: &Lower, pool: &Pool) -> io::Result<(Vec<DeviceUnit>, Vec<String>)> {
    let (mut texts, mut libraries) = (Vec::new(), Libraries::default());
    for f in files {
        let text = fs::read_to_string(f).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", f.display())))?;
        libraries.add(Source { file: f, text: &text });
        // A look at the text spares most files the parser.
        if text.contains("tile_kernel") {
            texts.push((f, text));
        }
    }
    let source = |(file, text): &'_ (&PathBuf, String)| -> Vec<DeviceUnit> { lower(Source { file, text }, &libraries) };
    let missing = texts.iter().flat_map(|(file, text)| libraries.missing(Source { file, text })).collect();
    let mut seen = HashSet::new();
    // Two of one text, in an example and in a test say, are one to their macros, too.
    let is_new = |u: &DeviceUnit| seen.insert((u.kernel.clone(), u.fingerprint.clone(), u.only));
    Ok((pool.map(&texts, source).into_iter().flatten().filter(is_new).collect(), missing))
}

/// The remarks of the compiler on the kernels of all files, with the file of each.
pub fn remarks(files: &[PathBuf]) -> io::Result<Vec<(PathBuf, Remark)>> {
    let mut texts = Vec::new();
    for f in files {
        texts.push((f, fs::read_to_string(f)?));
    }
    let mut libraries = Libraries::default();
    texts.iter().for_each(|(file, text)| libraries.add(Source { file, text }));
    let kernels = texts.iter().filter(|(_, text)| text.contains("tile_kernel"));
    let of = |(file, text): &(&PathBuf, String)| {
        let all = tilewright_compiler::remarks::of_file(Source { file, text }, &libraries);
        all.into_iter().map(|r| (file.to_path_buf(), r)).collect::<Vec<_>>()
    };
    Ok(kernels.flat_map(of).collect())
}
