//! Every test, and what CI runs.

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

const STEPS: [Step; 3] = [
    Step { name: "workspace", what: "tests of the workspace", run: || command::cargo().args(["test", "--workspace", "--no-fail-fast"]) },
    Step {
        name: "clippy",
        what: "no warnings from clippy",
        run: || command::cargo().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]),
    },
    Step { name: "own-kernel", what: "a user's own crate", run: own_kernel },
];

/// Outside the workspace, as a user's crate is: with a lock file and a target folder of its own.
fn own_kernel() -> Run {
    let dir = command::root().join("examples/own-kernel");
    let target = std::env::var_os("CARGO_TARGET_DIR").map(std::path::PathBuf::from);
    let target = target.unwrap_or_else(|| command::root().join("target")).join("own-kernel");
    command::cargo().args(["test"]).dir(&dir).env("CARGO_TARGET_DIR", target)
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
        let ok = (step.run)().succeeds()?;
        results.push((step.name, ok, start.elapsed()));
    }
    println!("\n=== summary");
    for (name, ok, time) in &results {
        println!("{name:12} {:6} {:6.1} s", if *ok { "ok" } else { "FAILED" }, time.as_secs_f64());
    }
    if !ready.device_toolchain {
        println!("without a device toolchain: nothing was compiled for the GPU, and its tests were skipped");
    }
    let passed = results.iter().all(|r| r.1);
    println!("{}", if passed { "all passed" } else { "some failed" });
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
