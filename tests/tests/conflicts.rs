//! Operations whose tiles change layout on their way do it without bank conflicts of shared memory.

use crate::rows;
use tilewright_conformance::{self as conformance, Scope};
use tilewright_core::emulator;
use tilewright_runtime::Runtime;

/// Configurations that have conflicts, and why that stays.
const KNOWN: &[(&str, &str, &str)] = &[
    (
        "matmul_f32_3xtf32_nn[",
        "f32",
        "words of an MN-major B are read across the rows of its tile: two lanes meet in a bank",
    ),
    ("matmul_i8[", "i8", "bytes of an MN-major B are stored K-major, four rows a word: two lanes meet in a bank"),
];

/// The configurations of an operation that have every feature of its code between them.
fn free_of_conflicts(operations: &[&str]) {
    let options = emulator::Options { seed: 1, forbid_bank_conflicts: true, ..Default::default() };
    let rt = Runtime::emulator_with(options);
    let mut wrong = vec![];
    for operation in operations {
        let subjects = conformance::subjects(&rt, Some(operation)).expect("there is one");
        let chosen: Vec<_> = rows::covering(&subjects).into_iter().map(|i| (subjects[i], Scope::Few)).collect();
        let rows = rows::checked(&chosen, 1, |_| &rt);
        assert!(rows.iter().any(|r| r.cases > 0), "{operation} was not run");
        for r in rows.into_iter().filter(|r| !r.pass) {
            // A kernel beside the requested one is named in the note.
            let beside = |kernel: &str| r.note.contains(&format!(" {}: ", kernel.trim_end_matches('[')));
            match KNOWN.iter().find(|k| (r.config.starts_with(k.0) || beside(k.0)) && r.dtype == k.1) {
                Some((.., why)) if r.note.contains("bank conflict") => eprintln!("{} {}: {why}", r.config, r.dtype),
                _ => wrong.push(format!("{} {} {}: {}", r.op, r.dtype, r.config, r.note)),
            }
        }
    }
    assert!(wrong.is_empty(), "conflicts:\n  {}", wrong.join("\n  "));
}

#[test]
fn transposes() {
    free_of_conflicts(&["matrix_transpose", "reverse_array"]);
}

#[test]
fn reductions() {
    free_of_conflicts(&["softmax_rows", "softmax_1d", "reduction"]);
}

#[test]
fn products() {
    free_of_conflicts(&["matmul"]);
}
