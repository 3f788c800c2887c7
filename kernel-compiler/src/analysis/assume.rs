//! Axis info under what the launcher vouches for.

use crate::analysis::axis_info::{Analysis, Assume, learn};
use crate::analysis::launch_guards::requirements;
use crate::ir::{Func, Test};

pub fn analyse(f: &Func, assume: Assume) -> Analysis {
    if assume == Assume::Nothing {
        return learn(f, vec![], false);
    }
    let mut requires = requirements(f, |r| learn(f, [r, f.requires.clone()].concat(), true));
    requires.retain(|r| assume == Assume::Vectors || matches!(r.test, Test::Equal(_)));
    requires.extend(f.requires.iter().filter(|r| !requires.contains(r)).cloned().collect::<Vec<_>>());
    learn(f, requires, assume == Assume::Vectors)
}
