//! Axis info under what the launcher vouches for.

use crate::analysis::axis_info::{Assume, AxisAnalysis, learn};
use crate::analysis::launch_guards::requirements;
use crate::ir::{Func, Test};

pub fn analyse(f: &Func, assume: Assume) -> AxisAnalysis {
    if assume == Assume::Nothing {
        return learn(f, vec![], false);
    }
    let mut guards = requirements(f, |r| learn(f, [r, f.guards.clone()].concat(), true));
    guards.retain(|r| assume == Assume::Vectors || matches!(r.test, Test::Equal(_)));
    guards.extend(f.guards.iter().filter(|r| !guards.contains(r)).cloned().collect::<Vec<_>>());
    learn(f, guards, assume == Assume::Vectors)
}
