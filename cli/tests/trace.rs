//! `tile profile --trace` without a GPU: its messages, and files of compiled code.

use std::fs;
use std::process::{Command, Output};

fn tile(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
    // No GPU, also where there is one.
    command.args(args).env("CUDA_VISIBLE_DEVICES", "");
    ["TILE_BACKEND", "TILE_AUTOTUNE", "TILE_TRACE", "TILE_DEVICE_RUSTC", "RUST_LOG"].iter().for_each(|v| {
        command.env_remove(v);
    });
    command.output().expect("tile runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Exit status, and words of the one message.
fn fails(args: &[&str], status: i32, words: &[&str]) {
    let out = tile(args);
    let message = text(&out.stderr);
    assert_eq!(out.status.code(), Some(status), "tile {args:?}: {message}");
    assert!(words.iter().all(|w| message.contains(w)) && !message.contains("panicked"), "tile {args:?}: {message}");
    assert_eq!(message.matches("error: ").count(), 1, "tile {args:?}: {message}");
}

#[test]
fn bad_input() {
    let trace = |rest: &[&'static str]| [&["profile", "relu", "--trace", "/nowhere/out.json"], rest].concat();
    fails(&trace(&["--backend", "cpu"]), 1, &["the backend `cpu` has no time", "--compile-only FILE"]);
    fails(&trace(&["--backend", "emulator"]), 1, &["the backend `emulator:0` has no time"]);
    fails(&trace(&[]), 1, &["CUDA", "--compiled FILE"]);
    fails(&trace(&["--config", "BLOCK=3"]), 1, &["has no configuration `BLOCK=3`"]);
    fails(&trace(&["--lines"]), 2, &["--lines"]);
    fails(&trace(&["--blocks", "0"]), 2, &["--blocks"]);
    fails(&trace(&["--compiled", "x", "--marks", "100"]), 2, &["--marks"]);
    fails(&trace(&["--compile-only", "x"]), 2, &["--compile-only"]);
    fails(&["profile", "relu", "--compiled", "x"], 2, &["--trace"]);
    fails(&["profile", "--crate", "nowhere", "x", "--", "test"], 1, &["--lines, --ncu and --trace"]);
}

/// The file of a machine with Rust for one without: it has the code and the events.
#[test]
fn code_with_marks_is_compiled_to_a_file() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("vector_add.trace");
    let file = path.to_str().expect("UTF-8");
    let args = ["profile", "vector_add", "--size", "100000", "--blocks", "2", "--marks", "100", "--compile-only", file];
    let out = tile(&args);
    let (said, message) = (text(&out.stdout), text(&out.stderr));
    if message.contains("there is no device toolchain") {
        assert!(message.contains("`rustup component add rust-src`"), "{message}");
        eprintln!("skipped: {message}");
        return;
    }
    assert!(out.status.success(), "{said}{message}");
    assert!(said.contains("vector_add__f32__") && said.contains(" events"), "{said}");
    assert!(said.contains("--size 100000") && said.contains("--compiled vector_add.trace --trace out.json"), "{said}");
    let bytes = fs::read(&path).expect("a file");
    let parts = tilewright_core::trace_file::read(&bytes).expect("it is whole");
    let names: Vec<&str> = parts.iter().map(|(name, _)| name.split(' ').next().expect("a word")).collect();
    assert_eq!(names, ["version", "table", "bundle"]);
    let table: serde_json::Value = serde_json::from_slice(&parts[1].1).expect("JSON");
    assert_eq!((&table["blocks"], &table["records"]), (&serde_json::json!(2), &serde_json::json!(103)));
    let events = table["events"].as_array().expect("events");
    assert!(events.iter().any(|e| e["label"].as_str().is_some_and(|l| l.starts_with("store"))), "{events:?}");
    let bundle = tilewright_core::bundle::Bundle::parse(&parts[2].1).expect("a bundle");
    let image = bundle.image_of(&bundle.entries()[0], "sm_90a").expect("code for the GPU");
    assert!(image.ptx().expect("PTX").contains(".global .align 16 .b8 tile_trace["));
    // A GPU is asked for before the file is read, and a file that is none is named.
    fails(&["profile", "vector_add", "--compiled", file, "--trace", "/nowhere/x.json"], 1, &["CUDA"]);
}

#[test]
fn a_missing_toolchain_is_named_with_its_command() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("relu.trace");
    let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
    command.args(["profile", "relu", "--size", "1000", "--compile-only"]).arg(&file);
    let out = command.env("TILE_DEVICE_RUSTC", "/nowhere/rustc").output().expect("tile runs");
    let message = text(&out.stderr);
    assert_eq!(out.status.code(), Some(1), "{message}");
    for wanted in ["there is no device toolchain", "`rustup component add rust-src`", "--compiled FILE", "not there"] {
        assert!(message.contains(wanted), "{message}");
    }
    assert!(!file.exists(), "nothing is written");
}
