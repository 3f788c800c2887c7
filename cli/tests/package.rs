//! `--crate`: commands on packages of kernels that are there, and succeed. Nothing here needs a GPU.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

/// A package with a kernel, a library of kernels and a benchmark, and one whose kernels use that library.
const OWN_KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/own-kernel");
const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples");

/// Cargo for `tile`, which builds benchmarks with the profile of tests: the package is built once for all of these
/// tests.
fn cargo() -> &'static Path {
    static CARGO: OnceLock<PathBuf> = OnceLock::new();
    CARGO.get_or_init(|| {
        let cargo = std::env::var("CARGO").unwrap_or("cargo".into());
        let script = format!(
            "#!/bin/sh\ncase $1 in\n    bench) shift; exec '{cargo}' bench --profile dev \"$@\" ;;\n    \
             *) exec '{cargo}' \"$@\" ;;\nesac\n"
        );
        let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("cargo-of-tests");
        fs::write(&path, script).expect("a script");
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("its mode");
        path
    })
}

fn tile(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
    command.args(args).env("CARGO", cargo()).env("TILE_AUTOTUNE", "off");
    ["TILE_BACKEND", "TILE_DEBUG", "RUST_LOG"].iter().for_each(|v| _ = command.env_remove(v));
    command.output().expect("tile runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn ok(args: &[&str]) -> String {
    let out = tile(args);
    assert!(out.status.success(), "tile {args:?}: {}\n{}{}", out.status, text(&out.stdout), text(&out.stderr));
    text(&out.stdout)
}

/// The line of the kernel's file with this text, from 1 on.
fn line_of(what: &str) -> String {
    let source = fs::read_to_string(format!("{OWN_KERNEL}/src/lib.rs")).expect("a source file");
    (source.lines().position(|l| l.contains(what)).expect("the line is there") + 1).to_string()
}

#[test]
#[ignore = "builds a package on its own, for minutes: `cargo xtask test package`"]
fn check_runs_the_benchmarks_against_their_references() {
    let said = ok(&["check", "--crate", OWN_KERNEL, "--backend", "cpu"]);
    for size in ["512x1", "512x1000", "512x4097"] {
        assert!(said.contains(&format!("ok      RMS normalization, rms_norm at {size}\n")), "{said}");
    }
    let one = ["check", "--crate", OWN_KERNEL, "--bench", "rms_norm", "--op", "RMS", "--backend", "cpu"];
    assert_eq!(ok(&one), said);
}

#[test]
#[ignore = "builds a package on its own, for minutes: `cargo xtask test package`"]
fn bench_measures_every_line() {
    let folder = tempfile::tempdir().expect("a folder");
    let out = folder.path().join("page");
    let few = ["--backend", "cpu", "--reps", "2", "--warmup", "0", "--limit", "1"];
    let page = ["--out", out.to_str().expect("UTF-8")];
    let said = ok(&[&["bench", "--crate", OWN_KERNEL, "RMS"], &few[..], &page].concat());
    assert!(said.contains("RMS normalization on cpu\n") && said.contains("one core"), "{said}");
    let run = fs::read_to_string(out.join("bench.json")).expect("a run");
    let run: serde_json::Value = serde_json::from_str(&run).expect("JSON");
    let points = run["sweeps"][0]["points"].as_array().expect("points");
    assert_eq!((points.len(), run["complete"].as_bool()), (16, Some(true)));
    for value in points.iter().flat_map(|p| p["values"].as_array().expect("values")) {
        assert_eq!(value["outcome"], "measured", "{value}");
    }
}

/// The numbers are those of the package's last build, which a check is.
#[test]
#[ignore = "builds a package on its own, for minutes: `cargo xtask test package`"]
fn profile_has_the_numbers_of_the_build() {
    ok(&["check", "--crate", OWN_KERNEL, "--backend", "cpu"]);
    let findings: serde_json::Value = serde_json::from_str(&ok(&["doctor", "--json"])).expect("JSON");
    let there = |what: &str| findings.as_array().expect("a list").iter().any(|f| f["what"] == what && f["ok"] == true);
    let profile = ["profile", "--crate", OWN_KERNEL, "rms_norm"];
    if !there("compiled kernels") {
        let out = tile(&profile);
        return assert!(text(&out.stderr).contains("`tile doctor` says what is missing"), "{}", text(&out.stderr));
    }
    if there("ptxas") {
        let said = ok(&profile);
        assert!(said.starts_with("rms_norm on a multiprocessor of compute capability 9.0\n"), "{said}");
        assert!(said.lines().any(|l| l.starts_with("rms_norm__") && l.contains(" of 64 ")), "{said}");
        let one = ok(&[&profile[..], &["--config", "BLOCK=1024,warps=4"]].concat());
        assert!(one.contains("rms_norm__BLOCK1024") && !one.contains("BLOCK4096"), "{one}");
    }
    let ptx = ok(&["show", "--crate", OWN_KERNEL, "rms_norm", "--stage", "ptx"]);
    assert!(ptx.contains(".entry rms_norm__"), "{ptx}");
}

#[test]
#[ignore = "builds a package on its own, for minutes: `cargo xtask test package`"]
fn profile_counts_the_lines_of_what_cargo_runs() {
    let test = ["--lines", "--", "test", "--test", "own_kernel", "on_the_emulated_gpu"];
    let said = ok(&[&["profile", "--crate", OWN_KERNEL, "rms_norm"], &test[..]].concat());
    let store = line_of("y.store(");
    assert!(said.contains(&format!("line {store}: y.store([row, start]")), "{said}");
    assert!(said.contains("global store: ") && said.contains("rms_norm__BLOCK1024_warps4__"), "{said}");
}

#[test]
#[ignore = "builds a package on its own, for minutes: `cargo xtask test package`"]
fn debug_shows_a_variable_of_what_cargo_runs() {
    let line = line_of("let scale = ");
    let of = ["--break", &line, "--print", "scale", "--", "test", "--test", "own_kernel", "on_the_emulated_gpu"];
    let said = ok(&[&["debug", "--crate", OWN_KERNEL, "rms_norm"], &of[..]].concat());
    assert!(said.contains(&format!("line {line}, program (0, 0, 0): scale: ")), "{said}");
    // Nothing else of the package launches it on the emulated SM.
    let of = ["--break", &line, "--", "test", "--test", "own_kernel", "on_the_cpu"];
    let out = tile(&[&["debug", "--crate", OWN_KERNEL, "rms_norm"], &of[..]].concat());
    let said = text(&out.stderr);
    assert!(out.status.code() == Some(1) && said.contains("was not reached by program (0, 0, 0)"), "{said}");
}

#[test]
fn kernels_use_libraries_of_other_crates() {
    let said = ok(&["show", "--crate", EXAMPLES, "gate", "--stage", "ast"]);
    assert!(said.contains("swiglu"), "{said}");
    let said = ok(&["show", "--crate", EXAMPLES, "gate", "--stage", "rust"]);
    assert!(said.contains("sigmoid"), "{said}");
    ok(&["show", "--crate", EXAMPLES, "gate", "--why"]);
}

/// A package that Cargo knows no dependencies of, and one that has not the library.
#[test]
fn a_library_that_is_not_found_is_named() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |file: &str| folder.path().join(file);
    fs::create_dir(at("src")).expect("a folder");
    let kernel = "#[tile_module(use other::tiles)] mod m { #[tile_kernel(grid = [1])] fn k(y: &mut [f32]) {} }";
    fs::write(at("src/lib.rs"), kernel).expect("a file");
    let package = "[package]\nname = \"p\"\nedition = \"2024\"\n[workspace]\n[dependencies]\n";
    let path = folder.path().to_str().expect("UTF-8");
    for (dependency, why) in
        [("", "no #[tile_library] `other::tiles`"), ("other = { path = \"other\" }\n", "cargo metadata: ")]
    {
        fs::write(at("Cargo.toml"), format!("{package}{dependency}")).expect("a manifest");
        let out = tile(&["show", "--crate", path, "k"]);
        let said = text(&out.stderr);
        assert!(
            out.status.code() == Some(1) && said.contains("there is no kernel `k`") && said.contains(why),
            "{said}"
        );
    }
}
