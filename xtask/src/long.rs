//! The additional tests of `cargo xtask test --long`: hostile inputs, locks under every interleaving, sanitizers, the
//! book.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::command::{self, Run};

/// Changed copies that each target of hostile inputs is given.
const CASES: u64 = 300_000;
/// Calls of the C library take longer: most run a kernel.
const C_CASES: u64 = 30_000;

/// Why a step cannot run here.
pub struct Skipped {
    /// The tool that is missing.
    pub why: &'static str,
    /// The command that installs it.
    pub how: &'static str,
}

fn skipped(why: &'static str, how: &'static str) -> Result<Run, Skipped> {
    Err(Skipped { why, how })
}

fn hostile(args: &[&str], cases: u64, seed: u64) -> Run {
    println!("{cases} inputs of seed {seed} for each target");
    let cargo = command::cargo_with_few().args(["test", "--lib"]).args(args).args(["hostile"]);
    cargo.env("TILE_HOSTILE_CASES", cases.to_string()).env("TILE_HOSTILE_SEED", seed.to_string())
}

/// Bundles, the build cache, files of tuning results, recorded calls, traces, tensors of other frameworks.
pub fn hostile_inputs(seed: u64) -> Run {
    let mut args = vec!["--release", "-p", "tilewright-core", "-p", "tilewright-build", "-p", "tilewright-runtime"];
    // The tests of the runtime need no driver, and some need the emulated SM.
    args.extend(["--no-default-features", "--features", "tilewright-build/compile,tilewright-runtime/emulator"]);
    hostile(&args, CASES, seed)
}

/// Arguments of the C library, and models of the planner.
pub fn hostile_calls(seed: u64) -> Run {
    // As the other tests are built: an optimized library of all kernels takes minutes more.
    hostile(&["-p", "tilewright-capi", "-p", "tilewright-ops"], C_CASES, seed)
}

/// The protocols of locks with loom.
pub fn locks() -> Run {
    let args = ["test", "--release", "-p", "tilewright-runtime", "--no-default-features", "--test", "protocols"];
    command::cargo().args(args)
}

/// Hover, completion and definitions in a rust-analyzer, which builds the dependencies of the test's package.
pub fn editor() -> Result<Run, Skipped> {
    let has = Command::new("rust-analyzer")
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    if !has {
        return skipped("no rust-analyzer", "rustup component add rust-analyzer");
    }
    Ok(command::cargo().args(["test", "-p", "tilewright-editor-tests", "--test", "rust_analyzer", "--", "--ignored"]))
}

/// The pure parts of kernel-core under Miri.
pub fn miri() -> Result<Run, Skipped> {
    let has = Command::new("cargo")
        .args(["+nightly", "miri", "--version"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|s| s.success());
    if !has {
        return skipped("no toolchain with Miri", "rustup +nightly component add miri rust-src");
    }
    let args = [
        "+nightly",
        "miri",
        "test",
        "--package",
        "tilewright-core",
        "--lib",
        "--",
        "args::",
        "call::",
        "bundle::",
        "store_to_one_element",
    ];
    // Arguments of kernels are addresses as numbers.
    let flags = "-Zmiri-disable-isolation -Zmiri-permissive-provenance";
    Ok(command::program("cargo").args(args).dir(&command::root()).env("MIRIFLAGS", flags))
}

/// The tests of the C library with AddressSanitizer in the C program: it sees writes of the library beyond the
/// program's heap and stack only through the allocator and the functions of libc that it replaces.
pub fn address_sanitizer() -> Result<Run, Skipped> {
    match libasan() {
        Some(_) => {
            let args = ["test", "-p", "tilewright-tests", "--test", "operations", "c_"];
            Ok(command::cargo_with_few()
                .args(args)
                .env("TILE_C_SANITIZER", "address")
                .env("ASAN_OPTIONS", "detect_leaks=0"))
        }
        None => skipped("gcc has no libasan", "apt-get install gcc libc6-dev libasan8"),
    }
}

/// The book's pages, to `target/book`. The tests of documents check its snippets; mdBook reads its contents and
/// includes.
pub fn book() -> Result<Run, Skipped> {
    if !command::exists("mdbook") {
        return skipped("no mdbook", "cargo install mdbook");
    }
    Ok(command::program("mdbook").args(["build", "docs"]).dir(&command::root()))
}

/// The pages of benchmarks in a Chromium: one of the usual names, or of the environment variable `CHROME`. With
/// `TILE_REQUIRE_CHROMIUM` a missing one is a failure.
pub fn browser() -> Result<Run, Skipped> {
    const REQUIRED: &str = "TILE_REQUIRE_CHROMIUM";
    let names = ["chromium", "chromium-browser", "google-chrome", "chrome", "headless_shell"];
    let found = std::env::var_os("CHROME").is_some() || names.into_iter().any(command::exists);
    if !found && std::env::var_os(REQUIRED).is_none() {
        return skipped("no Chromium", "apt-get install chromium");
    }
    let args = ["test", "-p", "tilewright-bench", "--test", "sweeps", "browser::"];
    Ok(command::cargo_with_few().args(args).env(REQUIRED, "1"))
}

/// gcc's runtime of the sanitizer: a name without a folder is one that gcc does not find.
fn libasan() -> Option<String> {
    let out = Command::new("gcc").arg("-print-file-name=libasan.so").output().ok().filter(|o| o.status.success())?;
    let path = String::from_utf8(out.stdout).ok()?.trim().to_string();
    Path::new(&path).is_absolute().then_some(path)
}
