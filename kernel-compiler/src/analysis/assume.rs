//! Axis info under the guards that the launcher checks.

use crate::analysis::axis_info::{Assume, AxisAnalysis, VECTOR_BYTES, WORD_BYTES, learn};
use crate::analysis::launch_guards::requirements;
use crate::ir::{Func, Test};

/// The axis info of a function under the guards of `assume`. The result has the guards that gain something, and the
/// guards of the function itself.
pub fn analyze(f: &Func, assume: Assume) -> AxisAnalysis {
    if assume == Assume::Nothing {
        return learn(f, vec![], 0);
    }
    let bytes = if assume == Assume::Words { WORD_BYTES } else { VECTOR_BYTES };
    let mut guards = requirements(f, bytes, |r| learn(f, [r, f.guards.clone()].concat(), bytes));
    guards.retain(|r| assume != Assume::Rows || matches!(r.test, Test::Equal(_)));
    guards.extend(f.guards.iter().filter(|r| !guards.contains(r)).cloned().collect::<Vec<_>>());
    learn(f, guards, if assume == Assume::Rows { 0 } else { bytes })
}
