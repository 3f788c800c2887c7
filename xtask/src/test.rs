//! Every test, and what CI runs.

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};

use crate::command::{self, Run};
use crate::setup;

struct Step {
    name: &'static str,
    what: &'static str,
    run: fn() -> Run,
}

const STEPS: [Step; 5] = [
    Step {
        name: "workspace",
        what: "tests of the workspace",
        run: || command::cargo().args(["test", "--workspace", "--no-fail-fast"]),
    },
    Step {
        name: "clippy",
        what: "no warnings from clippy",
        run: || command::cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    },
    Step { name: "own-kernel", what: "a user's own crate", run: || own_crate("own-kernel") },
    Step { name: "fuzz", what: "random kernels", run: fuzz },
    Step { name: "from-python", what: "a user's own library for Python", run: || own_crate("from-python") },
];

fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| command::root().join("target"), PathBuf::from)
}

/// Outside the workspace, as a user's crate is. In the same target folder and with the same profile, so that what
/// both depend on is compiled once.
fn own_crate(name: &str) -> Run {
    let cargo = command::cargo().args(["test"]).dir(&command::root().join("examples").join(name));
    cargo
        .env("CARGO_TARGET_DIR", target())
        .env("CARGO_PROFILE_DEV_OPT_LEVEL", "1")
        .env("CARGO_PROFILE_DEV_DEBUG", "0")
        .env("CARGO_PROFILE_DEV_LTO", "off")
}

/// The same few each time: `cargo run -p tile-fuzz` makes others.
fn fuzz() -> Run {
    let cargo = command::cargo()
        .args(["run", "--quiet", "--package", "tile-fuzz", "--", "--kernels", "12", "--dir"])
        .args([target().join("fuzz")]);
    cargo.env("CARGO_TARGET_DIR", target())
}

/// Runs all steps, or the named ones, also after one has failed.
pub fn all(names: &[&str]) -> Result<ExitCode> {
    for n in names {
        let known = STEPS.map(|s| s.name);
        ensure!(known.contains(n), "no step `{n}`: there are {}", known.join(", "));
    }
    let ready = setup::setup()?;
    let mut results: Vec<(&str, bool, Duration)> = Vec::new();
    for step in STEPS.iter().filter(|s| names.is_empty() || names.contains(&s.name)) {
        println!("\n=== {}: {}", step.name, step.what);
        let start = Instant::now();
        let mut run = (step.run)();
        if std::env::var_os("CI").is_some() {
            // Nothing is built twice there, and what rebuilds would need is two thirds of what a build leaves on the disk.
            run = run.env("CARGO_INCREMENTAL", "0");
        }
        if !ready.device_toolchain {
            // What follows says so; without it the tests of compiled kernels fail.
            run = run.env("TILE_ALLOW_NO_DEVICE", "1");
        }
        for n in &ready.missing {
            run = run.env(n.variable, "1");
        }
        let ok = run.succeeds()?;
        results.push((step.name, ok, start.elapsed()));
    }
    println!("\n=== summary");
    for (name, ok, time) in &results {
        println!("{name:12} {:6} {:6.1} s", if *ok { "ok" } else { "FAILED" }, time.as_secs_f64());
    }
    if !ready.device_toolchain {
        println!("without a device toolchain: nothing was compiled for the GPU, and its tests were skipped");
    }
    if !ready.ptxas {
        println!("built without ptxas: registers and spills are not known, and nothing was looked for in them");
    }
    for n in &ready.missing {
        println!("without {}: {} were skipped; `{}` gives it", n.name, n.what, n.how);
    }
    let passed = results.iter().all(|r| r.1);
    println!("{}", if passed { "all passed" } else { "some failed" });
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
