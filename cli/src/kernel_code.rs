//! A kernel that `tile show` shows: one of ours, or one of a user's crate.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};

use crate::{cargo, dependencies};
use anyhow::{Context, Result, bail, ensure};
use tilewright_build::files::{DIRS, rust_files};
use tilewright_compiler::{InstanceNames, Libraries, Source, Variant};
use tilewright_core::{ConfigDesc, KernelDesc};

/// An instance of a kernel: its source, and the build's output for it.
pub struct KernelCode {
    pub name: String,
    /// As messages name its file.
    pub place: PathBuf,
    /// The file in the package, by which libraries are found.
    file: PathBuf,
    pub text: Cow<'static, str>,
    pub libraries: Libraries,
    /// As in `f16`; none of a kernel without type parameters.
    pub types: Option<String>,
    /// The id of a configuration.
    pub config: String,
    /// The entries of the instance, those with the most launch guards first.
    pub entries: Vec<(String, Variant)>,
    /// Compiled code for GPUs; none where the build had no device toolchain.
    pub bundle: Option<Cow<'static, [u8]>>,
}

impl KernelCode {
    /// One of the kernels of this program.
    pub fn own(desc: &'static KernelDesc, config: &'static ConfigDesc) -> Result<KernelCode> {
        let file = Path::new(desc.file);
        let found = tilewright_kernels::SOURCES.iter().find(|(name, _)| file.ends_with(name));
        let (path, text) = found.with_context(|| format!("no source for {} ({})", desc.name, desc.file))?;
        let mut libraries = Libraries::default();
        tilewright_kernels::SOURCES
            .iter()
            .for_each(|(name, text)| libraries.add(Source { file: Path::new(name), text }));
        let entry = |e: &'static str| Some((e.to_string(), Variant::of_entry(e)?));
        Ok(KernelCode {
            name: desc.name.into(),
            place: file.into(),
            file: path.into(),
            text: Cow::Borrowed(text),
            libraries,
            types: (!desc.types.is_empty()).then(|| desc.types.into()),
            config: config.id.into(),
            entries: config.variants.iter().filter_map(|v| entry(v.entry)).collect(),
            bundle: desc.bundle.map(Cow::Borrowed),
        })
    }

    /// A kernel of the package in a folder. `types` and `config` choose the instance, the first by default.
    pub fn of_package(folder: &Path, kernel: &str, types: Option<&str>, config: Option<&str>) -> Result<KernelCode> {
        let mut texts = vec![];
        for dir in DIRS {
            for file in rust_files(&folder.join(dir))? {
                let text = fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
                texts.push((file, text));
            }
        }
        ensure!(!texts.is_empty(), "{} has no {} with Rust files", folder.display(), DIRS.join(" or "));
        let mut libraries = Libraries::default();
        texts.iter().for_each(|(file, text)| libraries.add(Source { file, text }));
        let missing = |libraries: &Libraries| {
            texts.iter().flat_map(|(file, text)| libraries.missing(Source { file, text })).collect::<Vec<_>>()
        };
        let of_dependencies = match missing(&libraries)[..] {
            [] => Ok(()),
            [..] => dependencies::add_libraries(folder, &mut libraries),
        };
        let of_file = |(file, text): &(PathBuf, String)| tilewright_compiler::names(Source { file, text }, &libraries);
        let names: Vec<Vec<String>> = texts.iter().map(of_file).collect();
        let Some(at) = names.iter().position(|n| n.iter().any(|n| n == kernel)) else {
            // A module that uses an unknown library has no kernels.
            let why = of_dependencies.err().map(|e| format!("{e:#}")).into_iter().chain(missing(&libraries));
            let why: String = why.map(|w| format!("; {w}")).collect();
            bail!("there is no kernel `{kernel}` in {}; it has: {}{why}", folder.display(), names.concat().join(", "));
        };
        let (file, text) = texts.swap_remove(at);
        let source = Source { file: &file, text: &text };
        let instance = tilewright_compiler::instance(source, &libraries, kernel, types, config);
        let InstanceNames { types, config, entries } = instance.map_err(anyhow::Error::msg)?;
        Ok(KernelCode {
            name: kernel.into(),
            bundle: bundle_of(folder, kernel)?.map(Cow::Owned),
            place: file.clone(),
            file,
            text: Cow::Owned(text),
            libraries,
            types: (!types.is_empty()).then_some(types),
            config,
            entries,
        })
    }

    pub fn source(&self) -> Source<'_> {
        Source { file: &self.file, text: &self.text }
    }
}

/// The newest bundle of a kernel that a build of the package has left.
fn bundle_of(folder: &Path, kernel: &str) -> Result<Option<Vec<u8>>> {
    let metadata = cargo::metadata(folder)?;
    let target = metadata["target_directory"].as_str().context("cargo names no target folder")?;
    let package =
        cargo::package(&metadata, folder)?["name"].as_str().context("cargo names a package without a name")?;
    // TARGET/PROFILE/build/PACKAGE-HASH/out/tile/KERNEL-FINGERPRINT.bundle
    let mut found = vec![];
    for profile in entries(Path::new(target)) {
        let builds = entries(&profile.join("build"));
        for build in builds.iter().filter(|b| is_hashed(b, package, None)) {
            let bundles = entries(&build.join("out/tile"));
            for file in bundles.into_iter().filter(|b| is_hashed(b, kernel, Some("bundle"))) {
                found.push((fs::metadata(&file)?.modified()?, file));
            }
        }
    }
    found.into_iter().max().map(|(_, file)| Ok(fs::read(file)?)).transpose()
}

/// The entries of a folder; none if there is no folder.
fn entries(folder: &Path) -> Vec<PathBuf> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|e| Some(e.ok()?.path())).collect()
}

/// Whether a path is called `NAME-HASH`, with this extension.
fn is_hashed(path: &Path, name: &str, extension: Option<&str>) -> bool {
    let (stem, found) = (path.file_stem().and_then(|s| s.to_str()), path.extension().and_then(|e| e.to_str()));
    found == extension && stem.and_then(|s| s.rsplit_once('-')).is_some_and(|(n, _)| n == name)
}
