//! `tile debug`, and the output of `tile profile` and `tile show` for launches and layouts; nothing here needs a GPU.

use std::fs;
use std::process::{Command, Output};

/// A package with a kernel and a benchmark.
const OWN_KERNEL: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/own-kernel");

fn tile(args: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tile"));
    command.args(args);
    ["TILE_BACKEND", "TILE_AUTOTUNE", "TILE_DEBUG", "RUST_LOG"].iter().for_each(|v| _ = command.env_remove(v));
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

/// Exit status, and a word of the message.
fn fails(args: &[&str], status: i32, word: &str) {
    let out = tile(args);
    let message = text(&out.stderr);
    assert_eq!(out.status.code(), Some(status), "tile {args:?}: {message}");
    assert!(message.contains(word) && !message.contains("panicked"), "tile {args:?}: {message}");
}

/// The line of a kernel's file with this text.
fn line_of(file: &str, what: &str) -> String {
    let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
    let source = fs::read_to_string(path).expect("a source file");
    let at = source.lines().position(|l| l.contains(what)).expect("the line is there");
    (at + 1).to_string()
}

#[test]
fn bad_input() {
    fails(&["debug", "nothing"], 1, "there is no operation `nothing`");
    fails(&["debug", "relu", "--break", "x"], 2, "x");
    fails(&["debug", "relu", "--program", "1,2,3,4"], 2, "is no program");
    fails(&["debug", "relu", "--print", "x"], 2, "--break");
    fails(&["debug", "relu", "--kernel", "gelu"], 1, "relu has the kernels");
    fails(
        &["debug", "relu", "--size", "100", "--break", "100000"],
        1,
        "no statement on line 100000 of the kernels that were launched",
    );
    fails(&["debug", "--crate", "nowhere", "x"], 1, "nowhere");
    fails(&["debug", "relu", "--", "test"], 2, "--crate");
    fails(&["profile", "relu", "--size", "100", "--arch", "1.0"], 1, "1.0 is not known");
    fails(&["profile", "relu", "--crate", "nowhere"], 1, "nowhere");
    fails(&["show", "relu", "--svg", "x.svg"], 1, "--stage layout");
    fails(&["show", "relu", "--stage", "layout", "--svg", "/nowhere/x.svg"], 1, "writing /nowhere/x.svg");
    fails(&["check", "--crate", "nowhere"], 1, "nowhere");
    fails(&["check", "--crate", OWN_KERNEL, "--bench", "nothing"], 1, "it has rms_norm");
    fails(&["check", "--bench", "rms_norm"], 2, "--crate");
    fails(&["check", "--crate", OWN_KERNEL, "--all"], 2, "--all");
    fails(&["bench", "--crate", OWN_KERNEL, "--size", "5"], 2, "--size");
}

#[test]
fn an_operation_without_breakpoints_says_what_ran() {
    let said = ok(&["debug", "relu", "--size", "100"]);
    assert!(said.contains("nothing is wrong") && said.contains("the result is right"), "{said}");
}

#[test]
fn a_breakpoint_shows_a_tile() {
    let line = line_of("device-kernels/src/vector_add.rs", "store(");
    let said = ok(&["debug", "vector_add", "--size", "3000", "--break", &line, "--program", "1", "--print", "i"]);
    assert!(said.contains(&format!("line {line}, program (1, 0, 0): i: ")), "{said}");
    assert!(said.contains("the result is right"), "{said}");
    fails(
        &["debug", "vector_add", "--size", "3000", "--break", &line, "--program", "999"],
        1,
        "was not reached by program (999, 0, 0)",
    );
    fails(&["debug", "vector_add", "--size", "3000", "--break", &line, "--print", "q"], 1, "no variable `q`");
}

#[test]
fn profile_counts_waves_and_lines() {
    let said = ok(&["profile", "vector_add", "--size", "1000000", "--backend", "cpu"]);
    assert!(said.contains("waves") && said.contains("12000000 bytes at least"), "{said}");
    let said = ok(&["profile", "vector_add", "--size", "5000", "--lines"]);
    assert!(said.contains("global load: ") && said.contains("100 % of their bytes used"), "{said}");
}

#[test]
fn layouts_are_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("layout.svg");
    let path = file.to_str().expect("UTF-8");
    ok(&["show", "matmul", "--dtype", "f16", "--stage", "layout", "--svg", path]);
    let svg = fs::read_to_string(&file).expect("a picture");
    assert!(svg.starts_with("<svg ") && svg.ends_with("</svg>\n"), "{}", &svg[..200]);
    assert!(svg.contains("warp 0, lane 0, register 0"), "no cell of a tile in registers");
    assert!(svg.contains("in shared memory: ") && svg.contains("banks 0 to 3"), "no tile in shared memory");
}
