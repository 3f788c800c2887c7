//! The programs alone, and as four ranks on the CPU.

#[path = "../../tests/mpirun/mod.rs"]
mod mpirun;

use mpirun::{mpirun, output};
use std::process::Command;

const PROGRAMS: [&str; 2] = [env!("CARGO_BIN_EXE_tensor_parallel"), env!("CARGO_BIN_EXE_data_parallel")];

#[test]
fn programs_run_alone() {
    for program in PROGRAMS {
        let mut c = Command::new(program);
        c.env("TILE_BACKEND", "cpu");
        let (succeeds, text) = output(c);
        assert!(succeeds && text.contains("rank 0 of 1 (one rank, cpu): "), "{text}");
    }
}

#[test]
fn programs_run_as_four_ranks() {
    for program in PROGRAMS {
        let Some(mut c) = mpirun(4) else { return };
        c.arg(program);
        let (succeed, text) = output(c);
        assert!(succeed, "{program}: {text}");
        for rank in 0..4 {
            assert!(text.contains(&format!("rank {rank} of 4 (")), "{text}");
        }
    }
}

/// Seven ranks do not divide 480 columns, and three are no power of two.
#[test]
fn programs_run_as_odd_numbers_of_ranks() {
    for (program, ranks) in PROGRAMS.into_iter().zip([7, 3]) {
        let Some(mut c) = mpirun(ranks) else { return };
        c.arg(program);
        let (succeed, text) = output(c);
        assert!(succeed && text.matches(&format!(" of {ranks} ")).count() == ranks, "{program}: {text}");
    }
}
