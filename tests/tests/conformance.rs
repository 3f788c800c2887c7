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

/// All rows pass, and every operation has some, with edge values among its cases.
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
            // At an aligned and at an odd address each.
            let edge = 2 * conformance::edge_values::rows(op.name, *dtype, false).count();
            let whole = |r: &&Row| has(r) && r.config == "auto" && r.edge_cases == edge && edge > 0;
            assert!(rows.iter().any(|r| whole(&r)), "{} {}: edge values were not run", op.name, dtype.name());
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

/// The table by itself runs on every backend, on each configuration too.
#[test]
fn edge_values_alone() {
    let options = Options { operation: Some("softmax_rows".into()), seed: 1, scope: Scope::EdgeValues };
    for rt in [Runtime::cpu(), Runtime::emulator(1)] {
        let rows = conformance::run(&rt, &options, |_| {}).expect("runs");
        assert!(rows.iter().all(|r| r.pass && r.edge_cases == r.cases && r.cases > 0), "{rows:?}");
        assert!(rows.len() > 1, "configurations");
    }
}

/// A wrong result for an edge value is a failed row that names it.
#[test]
fn edge_values_are_compared() {
    let row = conformance::edge_values::rows("relu", kernel_core::DType::F32, false).next().expect("a row");
    let mut outputs = vec![row.input::<f32>("x", row.size[0] as usize).expect("an input")];
    let verdict = |y: &[f32]| {
        let outputs = [conformance::Output::of("y", y)];
        conformance::edge_values::compare(row, &outputs).expect("the same outputs")
    };
    // The inputs themselves are no result of ReLU.
    let (wrong, note) = verdict(&outputs[0]);
    assert!(!wrong.passed() && note.is_some_and(|n| n.contains("y[") && n.contains("torch")));
    let y = &mut outputs[0];
    y.iter_mut().for_each(|v| *v = if *v <= 0.0 { 0.0 } else { *v });
    assert!(verdict(y).0.passed());
}

#[test]
fn unknown_operation() {
    let options = Options { operation: Some("sofmax".into()), seed: 1, scope: Scope::Few };
    let error = conformance::run(&Runtime::cpu(), &options, |_| {}).expect_err("there is none").to_string();
    assert!(error.contains("`sofmax`") && error.contains("softmax_rows"), "{error}");
}
