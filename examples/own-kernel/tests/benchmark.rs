//! The benchmark on the CPU, with few columns: every line is measured, and is right.

#[path = "../benches/rms_norm.rs"]
mod rms_norm;

use tilewright::Runtime;
use tilewright_bench::{Axis, Outcome, Settings, measure};

#[test]
fn every_line_is_right() {
    let settings = Settings { warmup: 0, rounds: 6, ..Settings::default() };
    let sweep = rms_norm::sweep(Axis::linear("columns", [100, 1500]));
    let report = measure(&Runtime::cpu(), "own-kernel", &[sweep], &settings, &mut |_| {}).expect("measures");
    let values: Vec<_> = report.sweeps[0].points.iter().flat_map(|p| &p.values).collect();
    assert_eq!(values.len(), 6);
    for v in values {
        assert!(matches!(v.outcome, Outcome::Measured(_)), "{v:?}");
    }
}
