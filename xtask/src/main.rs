//! The commands of `cargo xtask`: the demo, the tests, recorded results, packages, and the setup of a machine.

mod archive;
mod command;
mod debian;
mod long;
mod mutate;
mod nvidia;
mod packages;
mod python;
mod release;
mod setup;
mod stamp;
mod style;
mod test;

use std::process::ExitCode;

use anyhow::{Result, bail};

const HELP: &str = "\
cargo xtask demo [ARGS]   set up, build, and run real operations on the GPU or the CPU (ARGS go to `tile demo`)
cargo xtask test [STEP]   set up and run every test; --quick: format, style, compiler, language; --long: PTX of all configurations, more seeds,
                          random kernels, Miri, planted defects;
                          STEP: one or more of format, style, language, workspace, clippy, random-kernels, ...
cargo xtask bless         write recorded results of tests anew: file tests, hashes of lowered code, snapshots, the header of the
                          C library; --compiler: those of the compiler alone
cargo xtask style         replaced words, British spelling, lines of more than 120 columns, and Rust files of 600 lines
cargo xtask mutate [NAME] plant defects in the compiler and the device library, one at a time, all or the named ones, and run
                          the tests of the language: each must be caught, without a GPU; --list: the defects
cargo xtask archive [DIR] compile the kernels of the operations for the GPU into an archive, from which a build with
                          TILE_PREBUILT takes them
cargo xtask packages      packs the packages, and builds and runs the first kernel of the README with them; --families: also
                          compiles each family of operations without the others
cargo xtask release --out DIR
                          make the artifacts of a release: packages, archives of kernels, the C library with the `tile`
                          program, the wheel, SBOM, notices, SHA256SUMS; --only PART,PART: some of them;
                          --check: make all twice and compare; --allow-dirty: with changes that are not committed
cargo xtask setup         set up only: the device toolchain, ptxas, nvdisasm and Open MPI, in the user's cache folder, without root
";

fn main() -> ExitCode {
    match run() {
        Ok(code) => code,
        Err(e) => {
            eprintln!("error: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<ExitCode> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let rest: Vec<&str> = args.iter().skip(1).map(String::as_str).collect();
    match args.first().map(String::as_str) {
        Some("setup") => {
            let ready = setup::setup()?;
            Ok(if ready.device_toolchain { ExitCode::SUCCESS } else { ExitCode::FAILURE })
        }
        Some("demo") => {
            let rest = rest.strip_prefix(&["--"]).unwrap_or(&rest);
            demo(rest)
        }
        Some("test") => test::all(&rest),
        Some("style") if rest.is_empty() => style::run(),
        Some("style") => bail!("`cargo xtask style` takes no arguments"),
        Some("bless") => test::bless(&rest),
        Some("mutate") => mutate::run(&rest),
        Some("packages") => packages::run(&rest),
        Some("archive") => archive::run(&rest),
        Some("release") => release::run(&rest),
        Some("help" | "-h" | "--help") | None => {
            print!("{HELP}");
            Ok(ExitCode::SUCCESS)
        }
        Some(other) => bail!("no command `{other}`\n{HELP}"),
    }
}

/// The paths of the drivers of Linux and of the Windows Subsystem for Linux.
const DRIVERS: [&str; 3] = ["/proc/driver/nvidia/version", "/dev/nvidiactl", "/dev/dxg"];

/// Builds the kernels of `tile demo`, and runs it. It builds nothing for a missing GPU and nothing for the emulated SM,
/// which together would take most of the time.
fn demo(args: &[&str]) -> Result<ExitCode> {
    let mut cargo = command::cargo().args(["run", "--release", "--bin", "tile", "--", "demo"]).args(args);
    let backend = std::env::var("TILE_BACKEND").unwrap_or_default();
    let on_the_emulator = args.iter().copied().chain([backend.as_str()]).any(|a| a.contains("emulator"));
    if std::env::var_os("TILE_EMULATE").is_none() && !on_the_emulator {
        cargo = cargo.env("TILE_EMULATE", "off");
    }
    if DRIVERS.iter().any(|d| std::path::Path::new(d).exists()) {
        // Without a device toolchain the demo still runs, on the CPU.
        setup::setup()?;
    } else if std::env::var_os("TILE_TARGETS").is_none() {
        println!(
            "no driver of NVIDIA: kernels are built for the CPU alone; TILE_TARGETS=sm_80 builds them for a GPU too"
        );
        cargo = cargo.env("TILE_TARGETS", "none");
    }
    cargo.status_code()
}
