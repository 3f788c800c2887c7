//! The kernels of a crate, as the compiler lowers them.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tilewright_compiler::remarks::Remark;
use tilewright_compiler::{DeviceUnit, Libraries, Source};

use crate::pool::Pool;

/// The compiler: the kernels of one file, which use libraries of the package. Those with mistakes are left out, for the macro reports them.
pub type Lower = dyn Fn(Source, &Libraries) -> Vec<DeviceUnit> + Sync;

/// A file with kernels.
pub struct Text<'f> {
    file: &'f Path,
    text: String,
}

impl Text<'_> {
    pub fn source(&self) -> Source<'_> {
        Source { file: self.file, text: &self.text }
    }
}

/// Those of the files that have kernels, in their order, and the libraries of all.
pub fn texts(files: &[PathBuf]) -> io::Result<(Vec<Text<'_>>, Libraries)> {
    let (mut texts, mut libraries) = (Vec::new(), Libraries::default());
    for f in files {
        let text = fs::read_to_string(f).map_err(|e| io::Error::new(e.kind(), format!("{}: {e}", f.display())))?;
        libraries.add(Source { file: f, text: &text });
        // A look at the text spares most files the parser.
        if text.contains("tile_kernel") {
            texts.push(Text { file: f, text });
        }
    }
    Ok((texts, libraries))
}

/// Units of all files, in the order of the files, and warnings; every file is a job.
pub fn collect(files: &[PathBuf], lower: &Lower, pool: &Pool) -> io::Result<(Vec<DeviceUnit>, Vec<String>)> {
    let (texts, libraries) = texts(files)?;
    let missing = texts.iter().flat_map(|t| libraries.missing(t.source())).collect();
    let mut seen = HashSet::new();
    // Two of one text, in an example and in a test say, are one to their macros, too.
    let is_new = |u: &DeviceUnit| seen.insert((u.kernel.clone(), u.fingerprint.clone(), u.only));
    let lowered = pool.map(&texts, |t| lower(t.source(), &libraries));
    Ok((lowered.into_iter().flatten().filter(is_new).collect(), missing))
}

/// The remarks of the compiler on the kernels of all files, with the file of each.
pub fn remarks(files: &[PathBuf]) -> io::Result<Vec<(PathBuf, Remark)>> {
    let (texts, libraries) = texts(files)?;
    let of = |t: &Text| {
        let all = tilewright_compiler::remarks::of_file(t.source(), &libraries);
        all.into_iter().map(|r| (t.file.to_path_buf(), r)).collect::<Vec<_>>()
    };
    Ok(texts.iter().flat_map(of).collect())
}
