//! Builds the library of `tile debug`: the code of a kernel for the emulated SM, with breakpoints.

use crate::{cargo, clone};
use anyhow::{Context, Result, bail};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::PathBuf;
use tilewright_core::emulator::WatchOptions;

/// A library, which is deleted when this is dropped.
pub struct Built {
    pub path: PathBuf,
    _folder: tilewright_cache_dir::TempDir,
}

const MANIFEST: &str = r#"[package]
name = "NAME"
version = "0.0.0"
edition = "2024"

[lib]
crate-type = ["cdylib"]

[dependencies]
tilewright-core = { CORE, features = ["emulator"] }

[profile.dev]
opt-level = 1
debug = false

[workspace]
"#;

/// The contents of the library beside the code: `CODE`, `SOURCE`, the file of the kernel, and `WATCH`.
const LIBRARY: &str = r#"#![allow(unused, unsafe_op_in_unsafe_fn, non_upper_case_globals, non_snake_case)]

CODE

const SOURCE: &str = SOURCE_TEXT;

/// # Safety
/// The request can be read. Its arguments are sound for the entry, as `debug::answer` says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn LAUNCH(
    request: *const u8,
    bytes: usize,
    context: *mut core::ffi::c_void,
    respond: extern "C" fn(*mut core::ffi::c_void, *const u8, usize),
) {
    use tilewright_core::emulator::{WatchOptions, debug};
    let watch = WatchOptions WATCH;
    // SAFETY: the caller's contract.
    let answer = unsafe { debug::answer(ENTRIES, &watch, SOURCE, core::slice::from_raw_parts(request, bytes)) };
    respond(context, answer.as_ptr(), answer.len());
}
"#;

/// Builds the code that `tilewright_compiler::debug` gives. The crates that it depends on are built once, in the cache
/// folder.
pub fn build(code: &str, source: &str, watch: &WatchOptions) -> Result<Built> {
    let [x, y, z] = watch.program;
    let WatchOptions { passes, whole, lines, .. } = watch;
    let options = format!("{{ program: [{x}, {y}, {z}], passes: {passes}, whole: {whole}, lines: {lines} }}");
    let text = LIBRARY
        .replace("LAUNCH", tilewright_core::emulator::debug::LAUNCH_SYMBOL)
        .replace("WatchOptions WATCH", &format!("WatchOptions {options}"))
        .replace("SOURCE_TEXT", &format!("{source:?}"))
        .replacen("CODE", code, 1);
    let mut hash = DefaultHasher::new();
    text.hash(&mut hash);
    let name = format!("tilewright-debugged-{:016x}", hash.finish());
    let folder = tilewright_cache_dir::TempDir::with_prefix("tile-debug-").context("a folder for the code")?;
    let write = |file: &str, text: &str| {
        let path = folder.path().join(file);
        fs::write(&path, text).with_context(|| format!("writing {}", path.display()))
    };
    let (core, lock) = core_crate();
    write("Cargo.toml", &MANIFEST.replace("NAME", &name).replace("CORE", &core))?;
    fs::create_dir(folder.path().join("src")).context("a folder for the code")?;
    write("src/lib.rs", &text)?;
    if let Some(lock) = lock {
        fs::copy(&lock, folder.path().join("Cargo.lock")).with_context(|| format!("reading {}", lock.display()))?;
    }
    let cache = tilewright_cache_dir::user_dir().context("there is no cache folder: set TILE_CACHE_DIR")?;
    let target = tilewright_cache_dir::CacheDir::at(cache).create("debug").context("the cache folder")?;
    let built = cargo::command()
        .args(["build", "--quiet", "--manifest-path"])
        .arg(folder.path().join("Cargo.toml"))
        .arg("--target-dir")
        .arg(&target)
        .env_remove("CARGO_BUILD_TARGET")
        .output()
        .context("cannot run cargo")?;
    if !built.status.success() {
        bail!("the code with breakpoints is not compiled:\n{}", String::from_utf8_lossy(&built.stderr).trim());
    }
    let file = format!("{}{}{}", std::env::consts::DLL_PREFIX, name.replace('-', "_"), std::env::consts::DLL_SUFFIX);
    let (from, path) = (target.join("debug").join(&file), folder.path().join(&file));
    fs::copy(&from, &path).with_context(|| format!("there is no {}", from.display()))?;
    // The build products that Cargo has left of this code are of no use to another one.
    fs::remove_file(&from).ok();
    Ok(Built { path, _folder: folder })
}

/// The dependency on `tilewright-core`, and the lock file of its dependencies: of the clone that this command was built
/// in, else of the registry.
fn core_crate() -> (String, Option<PathBuf>) {
    match clone::here() {
        Some(clone) => {
            let lock = Some(clone.join("Cargo.lock")).filter(|l| l.is_file());
            (format!("path = {:?}", clone.join("kernel-core").to_string_lossy()), lock)
        }
        None => (format!("version = \"={}\"", env!("CARGO_PKG_VERSION")), None),
    }
}
