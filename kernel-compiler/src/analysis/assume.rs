//! Axis info under the guards that the launcher checks.

use crate::analysis::axis_info::{Assume, AxisAnalysis, VECTOR_BYTES, learn};
use crate::analysis::launch_guards::guards;
use crate::ir::{Func, Guard, Test};

/// The axis info of a function under the guards of `assume`. The result has the guards that gain something, and the
/// guards of the function itself.
pub fn analyze(f: &Func, assume: Assume) -> AxisAnalysis {
    let found = |bytes| guards(f, bytes, |r| learn(f, [r, f.guards.clone()].concat(), bytes));
    let with_own = |mut guards: Vec<Guard>| {
        guards.extend(f.guards.iter().filter(|r| !guards.contains(r)).cloned().collect::<Vec<_>>());
        guards
    };
    match assume {
        Assume::Nothing => learn(f, vec![], 0),
        Assume::Rows => {
            let mut guards = found(VECTOR_BYTES);
            guards.retain(|r| matches!(r.test, Test::Equal(_)));
            learn(f, with_own(guards), 0)
        }
        Assume::Multiples(width) => learn(f, with_own(found(width.bytes())), width.bytes()),
    }
}
