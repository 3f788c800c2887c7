//! The files of a package that have kernels, or libraries of kernels. They are read once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tilewright_compiler::front::source::{KERNEL, LIBRARY};
use tilewright_compiler::{Libraries, Source};

/// A file.
pub struct SourceFile {
    pub path: PathBuf,
    text: String,
}

impl SourceFile {
    pub fn source(&self) -> Source<'_> {
        Source { file: &self.path, text: &self.text }
    }

    // A look at the text spares most files the parser.
    fn has(&self, attribute: &str) -> bool {
        self.text.contains(attribute)
    }
}

pub struct Sources {
    files: Vec<SourceFile>,
    /// The libraries of all files, and of dependencies.
    pub libraries: Libraries,
}

impl Sources {
    #[cfg(test)]
    pub fn read(paths: &[PathBuf]) -> io::Result<Sources> {
        Sources::read_with(paths, Libraries::default())
    }

    /// Reads files, beside libraries of dependencies.
    pub fn read_with(paths: &[PathBuf], mut libraries: Libraries) -> io::Result<Sources> {
        let mut files = Vec::new();
        for path in paths {
            let text = fs::read_to_string(path).map_err(|e| in_file(path, &e))?;
            let file = SourceFile { path: path.clone(), text };
            libraries.add(file.source());
            if file.has(KERNEL) || file.has(LIBRARY) {
                files.push(file);
            }
        }
        Ok(Sources { files, libraries })
    }

    /// The files that have kernels or libraries, in their order.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The files that have kernels, in their order.
    pub fn with_kernels(&self) -> Vec<&SourceFile> {
        self.files.iter().filter(|f| f.has(KERNEL)).collect()
    }
}

fn in_file(path: &Path, e: &io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}
