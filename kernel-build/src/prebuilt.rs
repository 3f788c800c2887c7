//! `core` and `tilewright_core` for the device, made once and kept.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::cache::{Cache, Key};
use crate::rustc::{self, Failure, Rustc, TRIPLE};
use crate::target::Target;

/// The compiler asks for this crate; every function that would come from it is an error reported by [`crate::ptx`].
const NO_BUILTINS: &str = "#![feature(no_core, compiler_builtins)]\n#![compiler_builtins]\n#![no_core]\n";

#[derive(Debug, thiserror::Error)]
pub enum PrebuiltError {
    #[error("`{name}` does not compile for the device with {rustc}: {why}")]
    Rustc { name: &'static str, rustc: String, why: Failure },
    #[error("cannot write to the cache of device code: {0}")]
    Io(#[from] io::Error),
}

/// The libraries that every unit is compiled against.
pub struct Prebuilt {
    pub sysroot: PathBuf,
    /// The library of each target, in the targets' order.
    pub tilewright_core: Vec<Library>,
}

pub struct Library {
    pub path: PathBuf,
    /// A hash of the library's contents. Parts that do not reach the device, such as the CPU backend, do not change it.
    pub key: Key,
}

/// `source` is the `lib.rs` of `tilewright_core`.
pub fn make(rustc: &Rustc, cache: &Cache, targets: &[Target], source: &Path) -> Result<Prebuilt, PrebuiltError> {
    let (sysroot, sysroot_key) = sysroot(rustc, cache)?;
    let sources = source_key(source)?;
    let tilewright_core = targets.iter().map(|t| {
        let name = t.name();
        let key = Key::of([sysroot_key.as_bytes(), sources.as_bytes(), name.as_bytes(), t.isa().as_bytes()]);
        let dir = cache.folder("tilewright-core", &key, |dir| {
            let out = dir.join("libtilewright_core.rmeta");
            rustc
                .library("tilewright_core", source, &sysroot, t, &out)
                .map_err(|why| failure("tilewright_core", rustc, why))
        })?;
        let path = dir.join("libtilewright_core.rmeta");
        let key = Key::of([sysroot_key.as_bytes(), &fs::read(&path)?]);
        Ok(Library { path, key })
    });
    let tilewright_core = tilewright_core.collect::<Result<_, PrebuiltError>>()?;
    Ok(Prebuilt { sysroot, tilewright_core })
}

fn sysroot(rustc: &Rustc, cache: &Cache) -> Result<(PathBuf, Key), PrebuiltError> {
    let core = rustc.toolchain.library.join("core/src/lib.rs");
    let mut parts = rustc::flags();
    parts.extend([rustc.toolchain.version.as_bytes(), NO_BUILTINS.as_bytes()]);
    let core_text = fs::read(&core)?;
    parts.push(&core_text);
    let key = Key::of(parts);
    let dir = cache.folder("sysroot", &key, |dir| {
        let lib = dir.join("lib/rustlib").join(TRIPLE).join("lib");
        fs::create_dir_all(&lib)?;
        rustc.sysroot_crate("core", &core, &lib).map_err(|why| failure("core", rustc, why))?;
        let builtins = dir.join("compiler_builtins.rs");
        fs::write(&builtins, NO_BUILTINS)?;
        rustc
            .sysroot_crate("compiler_builtins", &builtins, &lib)
            .map_err(|why| failure("compiler_builtins", rustc, why))
    })?;
    Ok((dir, key))
}

fn failure(name: &'static str, rustc: &Rustc, why: Failure) -> PrebuiltError {
    PrebuiltError::Rustc { name, rustc: rustc.toolchain.rustc.display().to_string(), why }
}

/// Of all source files of the crate with this `lib.rs`: which of them matter only the compiler knows.
pub fn source_key(lib: &Path) -> io::Result<Key> {
    let dir = lib.parent().unwrap_or(Path::new("."));
    let mut parts = Vec::new();
    for path in crate::files::rust_files(dir)? {
        parts.push(path.strip_prefix(dir).unwrap_or(&path).to_string_lossy().into_owned().into_bytes());
        parts.push(fs::read(&path)?);
    }
    Ok(Key::of(parts.iter().map(Vec::as_slice)))
}
