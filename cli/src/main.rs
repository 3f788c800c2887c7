//! `tile`: the installation, the operations and kernels; runs, checks, tunes and times them, looks inside, explains
//! mistakes.

mod bench;
mod benches;
mod cargo;
mod check;
mod choose;
mod clone;
mod debug;
mod debug_library;
mod demo;
mod dependencies;
mod disassembler;
mod doctor;
mod explain;
mod kernel_code;
mod list;
mod measure;
mod model;
mod ncu;
mod ncu_csv;
mod new;
mod out;
mod over;
mod picture;
mod plan;
mod profile;
mod profile_launch;
mod profile_ncu;
mod run;
mod show;
mod trace;
mod tune;

use clap::{Parser, Subcommand};
use std::process::ExitCode;

#[derive(Parser)]
#[command(name = "tile", version, about = "Tile kernels in Rust: run, check, tune, time and inspect them")]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Present and missing parts: toolchains, driver, GPU, compiled kernels, caches
    Doctor(doctor::Args),
    /// Make a crate with a kernel, tests on every backend and a benchmark
    New(new::Args),
    /// The operations, their kernels and configurations
    List(list::Args),
    /// Run one operation and check its result
    Run(run::Args),
    /// The conformance suite: every operation, dtype and configuration against a reference
    Check(check::Args),
    /// Find the fastest configurations of an operation
    Tune(tune::Args),
    /// The plans that the planner has for given shapes, and its prediction for each
    Plan(plan::Args),
    /// Time all plans of random products on this GPU, for the model of the planner
    Model(model::Args),
    /// Time operations over a range of sizes, draw them, and compare with an earlier run
    Bench(bench::Args),
    /// Registers, shared memory and occupancy of an operation's kernels, and their limits, without a GPU; counters by
    /// line; on a GPU the counters of Nsight Compute, and a timeline of warps
    Profile(profile::Args),
    /// Run a kernel on the emulated SM, with breakpoints, and explain its defects
    Debug(debug::Args),
    /// The compiler's output for a kernel, by stage
    Show(show::Args),
    /// The rule behind the code of a compiler's message, with an example; without a code the list of all
    Explain(explain::Args),
    /// Real operations on data of real size, with a table of results
    Demo(demo::Args),
}

/// 0: all is well. 1: something is wrong, and said. 2: the command line is wrong (by clap).
fn main() -> ExitCode {
    die_with_the_pipe();
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        // Help and the version, too.
        Err(said) => {
            let printed = said.print();
            if !said.use_stderr() {
                printed.unwrap_or_else(|e| out::fail(&e));
            }
            out::finish();
            return ExitCode::from(said.exit_code() as u8);
        }
    };
    tilewright_runtime::warnings_to_stderr();
    let done = match command {
        Command::Doctor(a) => doctor::main(a),
        Command::New(a) => new::main(a),
        Command::List(a) => list::main(a),
        Command::Run(a) => run::main(a),
        Command::Check(a) => check::main(a),
        Command::Tune(a) => tune::main(a),
        Command::Plan(a) => plan::main(a),
        Command::Model(a) => model::main(a),
        Command::Bench(a) => bench::main(a),
        Command::Profile(a) => profile::main(a),
        Command::Debug(a) => debug::main(a),
        Command::Show(a) => show::main(a),
        Command::Explain(a) => explain::main(a),
        Command::Demo(a) => demo::main(a),
    };
    out::finish();
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            out::error(format_args!("{e:#}"));
            ExitCode::FAILURE
        }
    }
}

/// Ends quietly, as other commands do, when the reader of the output has seen enough (`| head`): Rust ignores the
/// signal, and the write would fail.
fn die_with_the_pipe() {
    #[cfg(unix)]
    // SAFETY: at the start, before there is another thread.
    unsafe {
        libc::signal(libc::SIGPIPE, libc::SIG_DFL);
    }
}
