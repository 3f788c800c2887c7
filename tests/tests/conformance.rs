//! Every operation and dtype against its reference: on the CPU every function that configurations have, on the emulated
//! SM a set that covers all features of the kernels' code. `tile check --all` runs everything there is.

use std::collections::BTreeSet;

use crate::rows;
use tilewright_compiler::features::cover;
use tilewright_conformance::{self as conformance, OPERATIONS, Options, Row, Scope, Subject};
use tilewright_core::{DType, emulator};
use tilewright_runtime::Runtime;

/// A number from the environment.
fn number(name: &str) -> u64 {
    std::env::var(name).map_or(1, |s| s.parse().unwrap_or_else(|_| panic!("{name} is a number")))
}

/// The first seed, `TILE_SEED`.
fn seed() -> u64 {
    number("TILE_SEED")
}

/// All rows of a seed pass.
fn pass(rows: &[Row], seed: u64) {
    let failed: Vec<_> =
        rows.iter().filter(|r| !r.pass).map(|r| format!("  {} {} {}: {}", r.op, r.dtype, r.config, r.note)).collect();
    assert!(
        failed.is_empty(),
        "{} of {} rows failed (again with TILE_SEED={seed}):\n{}",
        failed.len(),
        rows.len(),
        failed.join("\n")
    );
}

/// Every operation has rows with edge values among their cases: in each dtype, or in one of them.
fn have_edge_values(rows: &[Row], each_dtype: bool) {
    for op in OPERATIONS {
        let whole = |dtype: &&DType| {
            // At an aligned and at an odd address each.
            let edge = 2 * conformance::edge_values::rows(op.name, **dtype, false).count();
            let mut of = rows.iter().filter(|r| r.op == op.name && r.dtype == dtype.name() && r.cases > 0);
            of.any(|r| r.config == "auto" && r.edge_cases == edge && edge > 0)
        };
        let run = op.dtypes.iter().filter(whole).count();
        let wanted = if each_dtype { op.dtypes.len() } else { 1 };
        assert!(run >= wanted, "{} was run with its edge values in {run} of {wanted} dtypes", op.name);
    }
}

/// Whether `TILE_ROWS` asks for all rows.
fn every_row() -> bool {
    std::env::var("TILE_ROWS").is_ok_and(|v| v == "all")
}

/// Configurations that differ in numbers alone share a function. Of the others of a function one in so many runs, on
/// few sizes; with `TILE_ROWS=all` every one.
const OTHERS: u64 = 4;

#[test]
fn cpu() {
    let (seed, rt, every) = (seed(), Runtime::cpu(), every_row());
    let (mut run, mut others) = (BTreeSet::new(), seed);
    let mut scope = |s: &Subject| match s.config {
        Some((_, config)) if !run.insert(config.cpu.run as usize) => {
            others += 1;
            (every || others % OTHERS == 0).then_some(Scope::Few)
        }
        _ => Some(Scope::Usual),
    };
    let subjects = conformance::subjects(&rt, None).expect("there are some");
    let chosen: Vec<_> = subjects.into_iter().filter_map(|s| scope(&s).map(|scope| (s, scope))).collect();
    let rows = rows::checked(&chosen, seed, |_| &rt);
    pass(&rows, seed);
    have_edge_values(&rows, true);
    for desc in tilewright_kernels::all() {
        for config in desc.configs {
            let name = format!("{}[{}]", desc.name, config.id);
            assert!(!every || rows.iter().any(|r| r.config == name), "{name} was not run");
            assert!(run.contains(&(config.cpu.run as usize)), "the function of {name} was not run");
        }
    }
}

/// The features of all code of the kernels of this repository, emulated or not.
fn known_features() -> BTreeSet<&'static str> {
    let variants = tilewright_kernels::all().into_iter().flat_map(|d| d.configs).flat_map(|c| c.variants);
    variants.flat_map(|v| v.features.lines()).collect()
}

/// For each of the `TILE_SEEDS` seeds, rows that have every feature between them. With `TILE_ROWS=all` every other row
/// runs, too, with one of the seeds.
#[test]
fn emulator() {
    let every = every_row();
    let (first, seeds) = (seed(), number("TILE_SEEDS"));
    let rows: Vec<Row> = (0..seeds)
        .flat_map(|n| {
            let share = |i: usize| every && i as u64 % seeds == n;
            let rows = emulated(first + n, share);
            pass(&rows, first + n);
            have_edge_values(&rows, false);
            rows
        })
        .collect();
    have_edge_values(&rows, every);
}

/// The rows that ran: some that have every feature between them, and `others` by their number.
fn emulated(seed: u64, others: impl Fn(usize) -> bool) -> Vec<Row> {
    let sm = Emulated::new(seed);
    let subjects = conformance::subjects(&sm.runtimes[0], None).expect("there are some");
    let mut chosen = covering(&subjects, seed);
    chosen.extend((0..subjects.len()).filter(|i| others(*i)));
    let mut chosen: Vec<usize> = chosen.into_iter().collect();
    let mut rows: Vec<Row> = vec![];
    let mut missing = known_features();
    let mut left: BTreeSet<usize> = (0..subjects.len()).collect();
    while !chosen.is_empty() {
        chosen.iter().for_each(|i| {
            left.remove(i);
        });
        let ran = sm.run(&chosen.iter().map(|&i| subjects[i]).collect::<Vec<_>>());
        ran.iter().for_each(|r| missing.retain(|f| !r.features.contains(f)));
        rows.extend(ran);
        // A configuration may have a variant that no size of its row takes.
        let others: Vec<usize> = left.iter().copied().collect();
        let adds = |i: &usize| subjects[*i].features().intersection(&missing).copied().collect::<Vec<_>>();
        let candidates: Vec<_> = others.iter().map(|i| (adds(i), subjects[*i].cost())).collect();
        chosen = cover(&candidates).into_iter().map(|i| others[i]).collect();
    }
    println!("seed {seed}: {} of {} rows on the emulated SM", rows.len(), subjects.len());
    // Which rows have gaps, and with them the variants that are launched, is a matter of the seed.
    if seed == 1 {
        assert!(missing.is_empty(), "the kernels have code that no row runs: {missing:?}");
    }
    rows
}

/// The emulated SMs of one seed.
struct Emulated {
    seed: u64,
    /// Of few multiprocessors and of many: the ones have whole waves, of the others many share a tile.
    runtimes: [Runtime; 2],
}

impl Emulated {
    fn new(seed: u64) -> Emulated {
        let with = |num_sms| Runtime::emulator_with(emulator::Options { seed, num_sms, ..Default::default() });
        Emulated { seed, runtimes: [4, 132].map(with) }
    }

    /// The rows of some subjects, in their order. Operations take the runtimes in turn.
    fn run(&self, subjects: &[Subject]) -> Vec<Row> {
        let few: Vec<_> = subjects.iter().map(|&s| (s, Scope::Few)).collect();
        rows::checked(&few, self.seed, |s| {
            let op = OPERATIONS.iter().position(|o| o.name == s.operation.name).expect("it is one");
            &self.runtimes[(op + self.seed as usize) % 2]
        })
    }
}

/// Rows that have every feature of all rows between them, and every operation as users call it, in one dtype.
fn covering(subjects: &[Subject], seed: u64) -> BTreeSet<usize> {
    let mut chosen: BTreeSet<usize> = rows::covering(subjects).into_iter().collect();
    for (i, op) in OPERATIONS.iter().enumerate() {
        let dtype = op.dtypes[(i + seed as usize) % op.dtypes.len()];
        let as_called = |s: &Subject| s.operation.name == op.name && s.dtype == dtype && s.config.is_none();
        chosen.extend(subjects.iter().position(as_called));
    }
    chosen
}

/// The suite would run nothing of a feature that is not known as one.
#[test]
fn steps_of_every_kind_are_features() {
    let known = known_features();
    let wanted = [
        "tma set_registers<true>",
        "tma stmatrix",
        "tma tma_load",
        "tma tma_load_multicast",
        "tma tma_store",
        "tma wgmma<F16,f32,false,true>",
        "tma wgmma<F16,f32,true,true>",
        "tma wgmma<F8E4M3,f32,false,false>",
        "tma wgmma<i8,i32,false,false>",
        "tma wgmma_ra<F16,f32,true>",
        "tma wgmma_wait_previous",
        "tma: cluster, f16",
        "tma: fused epilogue, f16",
        "tma: warp specialization, f8e4m3",
        "warps atomic<u32,0>",
        "warps copy_ahead<F16,false,vector>",
        "warps fma_tile<f32,f32,true,false>",
        "warps ldmatrix<true>",
        "warps load<f32,false,false,element>",
        "warps load<f32,false,false,vector>",
        "warps load<f32,false,true,vector>",
        "warps load<f32,true,false,vector>",
        "warps mma_tile<F8E4M3,f32,false>",
        "warps shared_store<u8,vector>",
        "warps shuffle_xor",
        "warps: general, u8",
        "warps: programmatic dependent launch, f32",
    ];
    let unknown: Vec<_> = wanted.iter().filter(|f| !known.contains(*f)).collect();
    assert!(unknown.is_empty(), "{unknown:?} are none of {known:#?}");
}

/// The rows of a normal run are bounded by the features, for any number of kernels.
#[test]
fn few_rows_have_all_features() {
    let subjects = conformance::subjects(&Emulated::new(1).runtimes[0], None).expect("there are some");
    let pinned =
        |of: &[Subject], chosen: BTreeSet<usize>| chosen.into_iter().filter(|&i| of[i].config.is_some()).count();
    let chosen = pinned(&subjects, covering(&subjects, 1));
    assert!(chosen <= known_features().len() / 4, "{chosen} rows");
    // Kernels that bring no new feature bring no row.
    let tripled = [&subjects[..], &subjects, &subjects].concat();
    assert_eq!(pinned(&tripled, covering(&tripled, 1)), chosen);
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
    let row = conformance::edge_values::rows("relu", tilewright_core::DType::F32, false).next().expect("a row");
    let mut outputs = [row.input::<f32>("x", row.size[0] as usize).expect("an input")];
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
