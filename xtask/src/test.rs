//! Every test, and the tests of CI.

use std::process::ExitCode;
use std::time::{Duration, Instant, SystemTime};

use anyhow::{Result, bail, ensure};

use crate::command::{self, Run};
use crate::long::{self, Skipped};
use crate::setup::{self, Ready};

struct Step {
    name: &'static str,
    what: &'static str,
    run: fn() -> Result<Run, Skipped>,
}

/// The result of a step.
enum Outcome {
    Passed,
    Failed,
    /// A tool is missing.
    Skipped(Skipped),
}

/// Which steps run.
#[derive(Clone, Copy, PartialEq)]
enum Scope {
    /// The loop of an edit: format, style, compiler, language. Nothing is compiled for the GPU; no operation is built.
    Quick,
    /// All that a change has to pass.
    Full,
    /// Longer tests: the PTX of every configuration, more random kernels, more seeds, Miri.
    Long,
}

/// Documentation of a crate's root, for those who change it, links to private modules.
const RUSTDOC: &str = "-D warnings -A rustdoc::private_intra_doc_links";

const FORMAT: Step = Step {
    name: "format",
    what: "the code is formatted",
    run: || Ok(command::cargo().args(["fmt", "--all", "--check"])),
};

/// It builds no more than this program, so that a long line is found first.
const STYLE: Step = Step {
    name: "style",
    what: "words, lines and files",
    run: || Ok(command::cargo().args(["run", "--quiet", "--package", "xtask", "--", "style"])),
};

const QUICK: [Step; 3] =
    [FORMAT, STYLE, Step { name: "language", what: "compiler and language", run: || Ok(language()) }];

const FULL: [Step; 7] = [
    FORMAT,
    STYLE,
    Step {
        name: "workspace",
        what: "tests of the workspace",
        run: || Ok(command::cargo_with_few().args(["test", "--workspace", "--no-fail-fast"])),
    },
    Step {
        name: "clippy",
        what: "no warnings from clippy",
        run: || Ok(command::cargo_with_few().args(["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"])),
    },
    Step {
        name: "packages",
        what: "a crate that uses the packages",
        run: || Ok(command::cargo_with_few().args(["run", "--quiet", "--package", "xtask", "--", "packages"])),
    },
    Step {
        name: "doc",
        what: "no warnings from rustdoc",
        run: || {
            let doc = command::cargo_with_few().args(["doc", "--workspace", "--no-deps", "--quiet"]);
            Ok(command::with_metadata_of_clippy(doc).env("RUSTDOCFLAGS", RUSTDOC))
        },
    },
    Step { name: "editor", what: "kernels in rust-analyzer", run: long::editor },
];

const LONG: [Step; 13] = [
    Step { name: "random-kernels", what: "random kernels of a new seed", run: || Ok(fuzz(now(), 240)) },
    Step {
        name: "seeds",
        what: "the suite on the emulated SM with fifty seeds, each row with one of them, and on the CPU with all rows",
        run: || Ok(seeds()),
    },
    Step {
        name: "hostile-inputs",
        what: "changed bundles, build products, tuning results and DLPack tensors",
        run: || Ok(long::hostile_inputs(now())),
    },
    Step { name: "hostile-calls", what: "hostile arguments of the C library", run: || Ok(long::hostile_calls(now())) },
    Step { name: "mutate", what: "planted defects of the compiler are caught", run: || Ok(mutate()) },
    Step { name: "locks", what: "protocols of locks under every interleaving", run: || Ok(long::locks()) },
    Step { name: "asan", what: "the C library under AddressSanitizer", run: long::address_sanitizer },
    Step { name: "miri", what: "the pure parts of kernel-core under Miri", run: long::miri },
    Step { name: "book", what: "the book, docs", run: long::book },
    Step { name: "browser", what: "the pages of benchmarks in a Chromium", run: long::browser },
    Step {
        name: "families",
        what: "each family of operations without the others",
        run: || {
            let args = ["run", "--quiet", "--package", "xtask", "--", "packages", "--families"];
            Ok(command::cargo_with_few().args(args))
        },
    },
    Step {
        name: "package",
        what: "commands of `tile` on a package of its own",
        run: || {
            let args = ["test", "-p", "tilewright-cli", "--test", "commands", "--", "package::", "--include-ignored"];
            Ok(command::cargo_with_few().args(args))
        },
    },
    Step { name: "ptx", what: "the PTX of every configuration", run: || Ok(ptx()) },
];

/// The PTX of every configuration: its facts, its recorded hashes, its registers and spills, and the plans that it is
/// chosen for.
fn ptx() -> Run {
    let args = ["test", "-p", "tilewright-tests", "-p", "tilewright-challenges", "--test", "operations", "--test"];
    let cargo = command::cargo().args(args).args(["families", "--", "ptx::", "devices::", "listed::"]);
    cargo.without("TILE_CONFIGS")
}

/// The packages below the operations.
const LANGUAGE: [&str; 7] = ["types", "core", "compiler", "lang", "macros", "cache-dir", "language-tests"];
/// Their test binaries, but for `matmul` and `suites`: kernels of public suites use no operation that the other tests
/// lack, and each path of products is in `products`.
const LANGUAGE_TESTS: [&str; 6] = ["process", "phases", "operations", "language", "gradients", "products"];

/// The packages below the operations. Messages of the compiler are checked in the process of its tests. Tests that run
/// rustc are left to those of the workspace.
fn language() -> Run {
    let packages = LANGUAGE.iter().flat_map(|p| ["--package".to_string(), format!("tilewright-{p}")]);
    let tests = LANGUAGE_TESTS.iter().flat_map(|t| ["--test", t]);
    command::cargo_with_few().args(["test", "--no-fail-fast", "--lib"]).args(tests).args(packages)
}

/// `count` kernels from `seed` on. The tests of the workspace run those of the first seeds.
fn fuzz(seed: u64, count: u64) -> Run {
    println!("seeds {seed} to {}", seed + count - 1);
    let cargo = command::cargo_with_few().args(["run", "--quiet", "--package", "tilewright-fuzz", "--"]);
    cargo.args(["--seed", &seed.to_string(), "--kernels", &count.to_string()])
}

/// All planted defects, in a process of their own.
fn mutate() -> Run {
    command::cargo().args(["run", "--quiet", "--package", "xtask", "--", "mutate"])
}

fn now() -> u64 {
    let since = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
    since.as_secs() % 1_000_000_000
}

/// On the emulated SM the rows of the tests of the workspace with each seed, every other row with one of them. On the
/// CPU all rows.
fn seeds() -> Run {
    let seed = now();
    println!("seeds {seed} to {}", seed + 49);
    let args = ["test", "--package", "tilewright-tests", "--test", "operations", "--", "--exact"];
    let args = args.into_iter().chain(["conformance::emulator", "conformance::cpu"]);
    let cargo = command::cargo_with_few().args(args).env("TILE_ROWS", "all");
    cargo.env("TILE_SEED", seed.to_string()).env("TILE_SEEDS", "50")
}

/// Writes the results that tests have recorded anew. The difference to the last commit shows the changes.
pub fn bless(args: &[&str]) -> Result<ExitCode> {
    let all = match args {
        [] => true,
        ["--compiler"] => false,
        _ => bail!("`cargo xtask bless` takes --compiler, not `{}`", args.join(" ")),
    };
    let run = |args: &[&str]| {
        let cargo = command::cargo().without("TILE_CONFIGS").args(["test", "--no-fail-fast", "--package"]).args(args);
        cargo.env("TILE_BLESS", "1").env("INSTA_UPDATE", "always").succeeds()
    };
    let compiler = run(&["tilewright-compiler"])? & run(&["tilewright-macro-tests"])?;
    // The plans of operations, those of other devices, the headers of the C library, hashes of the PTX,
    // and the pictures.
    let rest = !all
        || run(&[
            "tilewright-tests",
            "--test",
            "operations",
            "--",
            "plans::",
            "devices",
            "header",
            "ptx::hashes",
            "pictures",
        ])?;
    Ok(if compiler && rest { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// Runs all steps of a scope, or the named ones of any, also after one has failed.
pub fn all(args: &[&str]) -> Result<ExitCode> {
    let (options, names): (Vec<&str>, Vec<&str>) = args.iter().partition(|a| a.starts_with("--"));
    let scope = match options[..] {
        [] => Scope::Full,
        ["--quick"] => Scope::Quick,
        ["--long"] => Scope::Long,
        _ => bail!("`cargo xtask test` takes --quick or --long, not `{}`", options.join(" ")),
    };
    let of_scope = match scope {
        Scope::Quick => &QUICK[..],
        Scope::Full => &FULL[..],
        Scope::Long => &LONG[..],
    };
    let every: Vec<&Step> = FULL.iter().chain(&QUICK[2..]).chain(&LONG).collect();
    for n in &names {
        let known: Vec<_> = every.iter().map(|s| s.name).collect();
        ensure!(known.contains(n), "no step `{n}`: there are {}", known.join(", "));
    }
    let steps: Vec<&Step> = match names[..] {
        [] => of_scope.iter().collect(),
        _ => every.into_iter().filter(|s| names.contains(&s.name)).collect(),
    };
    // The quick steps compile nothing for the GPU.
    let ready = if scope == Scope::Quick { Ready::without_device() } else { setup::setup()? };
    let mut results: Vec<(&str, Outcome, Duration)> = Vec::new();
    for step in steps {
        println!("\n=== {}: {}", step.name, step.what);
        let start = Instant::now();
        let mut run = match (step.run)() {
            Ok(run) => run,
            Err(why) => {
                println!("skipped: {}", why.why);
                results.push((step.name, Outcome::Skipped(why), start.elapsed()));
                continue;
            }
        };
        // As in our profile: crates that tests make are workspaces of their own, which do not have it.
        run = run.env("CARGO_PROFILE_DEV_DEBUG", "0");
        if std::env::var_os("CI").is_some() {
            // Nothing is built twice there, and the files for rebuilds are two thirds of a build on the disk.
            run = run.env("CARGO_INCREMENTAL", "0");
        }
        if !ready.device_toolchain {
            // The variable allows that; without it the tests of compiled kernels fail.
            run = run.env("TILE_ALLOW_NO_DEVICE", "1");
        }
        for n in &ready.missing {
            run = run.env(n.variable, "1");
        }
        if let Some(folder) = &ready.python_packages {
            run = run.env("TILE_PYTHON_PACKAGES", folder);
        }
        if let Some(program) = &ready.mpirun {
            run = run.env("TILE_MPIRUN", program);
        }
        let outcome = if run.succeeds()? { Outcome::Passed } else { Outcome::Failed };
        results.push((step.name, outcome, start.elapsed()));
    }
    println!("\n=== summary");
    for (name, outcome, time) in &results {
        match outcome {
            Outcome::Passed => println!("{name:15} ok      {:6.1} s", time.as_secs_f64()),
            Outcome::Failed => println!("{name:15} FAILED  {:6.1} s", time.as_secs_f64()),
            Outcome::Skipped(Skipped { why, how }) => println!("{name:15} skipped  {why}: `{how}` installs it"),
        }
    }
    if !ready.device_toolchain && scope != Scope::Quick {
        println!("without a device toolchain: nothing was compiled for the GPU, and its tests were skipped");
    }
    if !ready.ptxas && scope != Scope::Quick {
        println!("built without ptxas: registers and spills are not known, and nothing was looked for in them");
    }
    for n in &ready.missing {
        println!("without {}: {} were skipped; `{}` gives it", n.name, n.what, n.how);
    }
    let passed = !results.iter().any(|r| matches!(r.1, Outcome::Failed));
    let skipped = results.iter().filter(|r| matches!(r.1, Outcome::Skipped(_))).count();
    match (passed, skipped) {
        (false, _) => println!("some failed"),
        (true, 0) => println!("all passed"),
        (true, n) => println!("all that ran passed, {n} skipped"),
    }
    Ok(if passed { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn the_loop_of_an_edit_leaves_out_two_binaries() {
        let packages = command::packages().unwrap();
        let named = |p: &&serde_json::Value| {
            p["name"].as_str().and_then(|n| n.strip_prefix("tilewright-")).is_some_and(|n| LANGUAGE.contains(&n))
        };
        let targets = packages.iter().filter(named).flat_map(|p| p["targets"].as_array().unwrap());
        let tests = targets.filter(|t| t["kind"][0] == "test").map(|t| t["name"].as_str().unwrap());
        let wanted: BTreeSet<&str> = LANGUAGE_TESTS.into_iter().chain(["matmul", "suites"]).collect();
        assert_eq!(tests.collect::<BTreeSet<_>>(), wanted);
    }
}
