//! Accesses of different kinds to one array have a barrier between them, unless the same thread reaches the same
//! element by both.

use super::flow::{Flow, State, Step};
use crate::ir::Array;
use crate::thread_ir::node::{AccessKind, Lowered};
use std::collections::BTreeSet;

pub fn verify(lowered: &Lowered) -> Result<(), String> {
    let mut visit = |step: Step, state: &mut Accesses| {
        let Step::Access(a) = step else { return Ok(()) };
        let before =
            state.0.iter().find(|(array, act, key)| *array == a.array && *act != a.kind && *key != Some(a.key));
        if let Some((array, act, _)) = before {
            let now = a.kind;
            return Err(format!("no barrier stands between a {act:?} and a {now:?} of {array}"));
        }
        state.0.insert((a.array, a.kind, Some(a.key)));
        Ok(())
    };
    Flow::new(&mut visit).nodes(&lowered.body, &mut Some(Accesses::default()))
}

/// Accesses since the last barrier: array, what is done, key (none: made in an earlier iteration of a loop, where
/// keys are those of other elements).
#[derive(Clone, Default, PartialEq)]
struct Accesses(BTreeSet<(Array, AccessKind, Option<(u32, u64)>)>);

impl State for Accesses {
    fn barrier(&mut self) {
        self.0.clear();
    }

    fn join(&mut self, other: &Self) {
        self.0.extend(&other.0);
    }

    fn from_earlier_iteration(&self) -> Self {
        Accesses(self.0.iter().map(|&(param, act, _)| (param, act, None)).collect())
    }
}
