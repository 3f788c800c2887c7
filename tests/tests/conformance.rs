//! Every operation, dtype and configuration against its reference: all of them on the CPU, a covering subset on the
//! emulated SM. `tile check --all` runs everything there is.

use kernel_core::emulator;
use tile_host::Runtime;
use tile_host::conformance::{self, Options, Row, Scope};

/// A number from the environment.
fn number(name: &str) -> u64 {
    std::env::var(name).map_or(1, |s| s.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// The first seed, `TILE_SEED`.
fn seed() -> u64 {
    number("TILE_SEED")
}

/// All rows pass, and every operation has some.
fn holds(rows: &[Row], seed: u64) {
    let failed: Vec<_> =
        rows.iter().filter(|r| !r.pass).map(|r| format!("  {} {} {}: {}", r.op, r.dtype, r.config, r.note)).collect();
    assert!(
        failed.is_empty(),
        "{} of {} rows failed (again with TILE_SEED={seed}):\n{}",
        failed.len(),
        rows.len(),
        failed.join("\n")
    );
    for op in conformance::OPERATIONS {
        for dtype in op.dtypes {
            let has = |r: &&Row| r.op == op.name && r.dtype == dtype.name() && r.cases > 0;
            assert!(rows.iter().any(|r| has(&r)), "{} {} was not run", op.name, dtype.name());
        }
    }
}

#[test]
fn cpu() {
    let seed = seed();
    let rows = conformance::run(&Runtime::cpu(), &Options { operation: None, seed, scope: Scope::Usual }, |_| {})
        .expect("runs");
    holds(&rows, seed);
    for desc in device_kernels::all() {
        for config in desc.configs {
            let name = format!("{}[{}]", desc.name, config.id);
            assert!(rows.iter().any(|r| r.config == name), "{name} was not run");
        }
    }
}

#[test]
fn emulator() {
    let first = seed();
    (first..first + number("TILE_SEEDS")).for_each(emulated);
}

fn emulated(seed: u64) {
    // Of few multiprocessors and of many in turn: the ones have whole waves, of the others many share a tile.
    let runtimes =
        [4, 132].map(|num_sms| Runtime::emulator_with(emulator::Options { seed, num_sms, ..Default::default() }));
    let of = |(i, op): (u64, &conformance::Operation)| {
        let options = Options { operation: Some(op.name.into()), seed, scope: Scope::Few };
        conformance::run(&runtimes[((i + seed) % 2) as usize], &options, |_| {}).expect("runs")
    };
    let rows: Vec<Row> = (0..).zip(conformance::OPERATIONS).flat_map(of).collect();
    holds(&rows, seed);
}

#[test]
fn unknown_operation() {
    let options = Options { operation: Some("sofmax".into()), seed: 1, scope: Scope::Few };
    let error = conformance::run(&Runtime::cpu(), &options, |_| {}).expect_err("there is none").to_string();
    assert!(error.contains("`sofmax`") && error.contains("softmax_rows"), "{error}");
}
