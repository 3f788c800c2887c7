//! The files of a package that have kernels, or libraries of kernels. They are read once.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use tilewright_compiler::front::cfg::{self, Features};
use tilewright_compiler::front::source::{KERNEL, LIBRARY, ModulePath};
use tilewright_compiler::{Libraries, Source};

/// A file.
pub struct SourceFile {
    pub path: PathBuf,
    text: String,
    /// Whether the crate has the file's module for sure: no `cfg`, or one of features that are on.
    pub is_certain: bool,
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
    /// The features of the package.
    pub features: Features,
}

impl Sources {
    #[cfg(test)]
    pub fn read(paths: &[PathBuf]) -> io::Result<Sources> {
        Sources::read_with(paths, Libraries::default(), Features::default())
    }

    /// Reads files of a package with some features, beside libraries of dependencies. A file whose module is behind a
    /// `cfg` of features that are off has no kernels.
    pub fn read_with(paths: &[PathBuf], mut libraries: Libraries, features: Features) -> io::Result<Sources> {
        let (mut files, mut declarations) = (Vec::new(), Vec::new());
        for path in paths {
            let text = fs::read_to_string(path).map_err(|e| in_file(path, &e))?;
            let file = SourceFile { path: path.clone(), text, is_certain: true };
            libraries.add(file.source());
            declarations.extend(features.declarations(file.source()));
            if file.has(KERNEL) || file.has(LIBRARY) {
                files.push(file);
            }
        }
        files.retain_mut(|f| {
            let exists = cfg::exists(&ModulePath::of(&f.path), &declarations);
            f.is_certain = exists == Some(true);
            exists != Some(false)
        });
        Ok(Sources { files, libraries, features })
    }

    /// The files that have kernels or libraries, in their order.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// The files that are no Rust because of a spelling of Python in a kernel: their places below a folder, and the
    /// spelling that kernels have. `rustc` would report its own error first, with a wrong suggestion, then the macro.
    pub fn misspellings(&self, folder: &Path) -> Vec<String> {
        let of = |f: &SourceFile| {
            let m = tilewright_compiler::misspelling(&f.text)?;
            let file = f.path.strip_prefix(folder).unwrap_or(&f.path);
            Some(format!("{}:{}:{}: {}", file.display(), m.line, m.column, m.message))
        };
        self.files.iter().filter_map(of).collect()
    }

    /// The files that have kernels, in their order.
    pub fn with_kernels(&self) -> Vec<&SourceFile> {
        self.files.iter().filter(|f| f.has(KERNEL)).collect()
    }
}

fn in_file(path: &Path, e: &io::Error) -> io::Error {
    io::Error::new(e.kind(), format!("{}: {e}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_behind_features_that_are_off_have_no_kernels() {
        let dir = std::env::temp_dir().join(format!("tile-features-test-{}", std::process::id()));
        let kernel = "#[tile_kernel(grid = [1])]\nfn k(y: &mut [f32]) { store(y, 0, 1.0); }";
        let list = "#[cfg(feature = \"on\")] mod on;\n#[cfg(feature = \"off\")] mod off;\n\
                    #[cfg(test)] mod tests;\nmod always;\n";
        let files = [("lib", list), ("on", kernel), ("off/mod", ""), ("off/deep", kernel), ("tests", kernel)];
        let files = files.into_iter().chain([("always", kernel)]).map(|(name, text)| {
            let path = dir.join(format!("src/{name}.rs"));
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(&path, text).unwrap();
            path
        });
        let files: Vec<_> = files.collect();
        let on = Features::of_variables(std::iter::once("CARGO_FEATURE_ON".to_string()));
        let sources = Sources::read_with(&files, Libraries::default(), on).unwrap();
        fs::remove_dir_all(&dir).unwrap();
        let name = |f: &&SourceFile| f.path.file_stem().unwrap().to_string_lossy().into_owned();
        let kept: Vec<_> = sources.files().iter().map(|f| (name(&f), f.is_certain)).collect();
        // The features do not say whether tests are compiled.
        assert_eq!(kept, [("on".into(), true), ("tests".into(), false), ("always".into(), true)]);
    }

    #[test]
    fn a_subscript_of_python_is_one_message_with_its_cure() {
        let dir = std::env::temp_dir().join(format!("tile-sources-test-{}", std::process::id()));
        fs::create_dir_all(dir.join("src")).unwrap();
        let files = ["wrong", "right", "no_kernel"].map(|name| dir.join(format!("src/{name}.rs")));
        let kernel = |index: &str| {
            format!(
                "#[tile_kernel(grid = [1])]\nfn k(y: &mut [f32]) {{\n    let i = arange(8);\n    \
                 store(y, i{index} + i[None, :], 1.0);\n}}\n"
            )
        };
        fs::write(&files[0], kernel("[:, None]")).unwrap();
        fs::write(&files[1], "#[tile_kernel(grid = [1])] fn k(y: &mut [f32]) { store(y, 0, 1.0); }").unwrap();
        fs::write(&files[2], "fn main() { x[:, None] }").unwrap();
        let found = Sources::read(&files).unwrap().misspellings(&dir);
        fs::remove_dir_all(&dir).unwrap();
        let cure = "tiles are not indexed: write `.expand(1)` instead of `[:, None]` [T0208]";
        assert_eq!(found, [format!("src/wrong.rs:4:15: {cure}")]);
    }
}
