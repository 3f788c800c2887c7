//! Accesses of different kinds to one array have a barrier between them, unless the same thread reaches the same
//! element by both. The same holds for a load and a later store to two arrays that may be the same memory. The elements
//! that a thread reaches are found in the code ([`reach`](super::reach)). If the code does not tell, the facts count by
//! which barriers were placed.

use super::flow::{Flow, State, Step};
use super::reach::Reaches;
use crate::ir::Array;
use crate::plan::access_order::{Access, AccessKind, Elements};
use crate::thread_ir::node::Lowered;
use std::collections::BTreeSet;

pub fn verify(lowered: &Lowered) -> Result<(), String> {
    let reaches = Reaches::new(lowered);
    let mut visit = |step: Step, state: &mut Accesses| {
        let Step::Access(a) = step else { return Ok(()) };
        let is_unordered = |b: &&Before| {
            let asks_order = b.array == a.array || b.kind == AccessKind::Read;
            let in_order = || {
                let planned = || Elements::are_in_order((b.kind, b.elements), (a.kind, a.elements));
                b.access.is_some_and(|b| reaches.are_in_order(b, a).unwrap_or_else(planned))
            };
            asks_order && b.memory == a.memory && b.kind != a.kind && !in_order()
        };
        if let Some(Before { array, kind, .. }) = state.0.iter().find(is_unordered) {
            let now = a.kind;
            return Err(format!("no barrier stands between a {kind:?} and a {now:?} of {array}"));
        }
        state.0.insert(Before {
            array: a.array,
            memory: a.memory,
            kind: a.kind,
            access: Some(a),
            elements: a.elements,
        });
        Ok(())
    };
    Flow::new(&mut visit).nodes(&lowered.body, &mut Some(Accesses::default()))
}

/// Accesses since the last barrier.
#[derive(Clone, Default, PartialEq)]
struct Accesses(BTreeSet<Before>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Before {
    array: Array,
    memory: Array,
    kind: AccessKind,
    /// None of an access in an earlier iteration of a loop, where indices are others.
    access: Option<*const Access>,
    elements: Option<Elements>,
}

impl State for Accesses {
    fn barrier(&mut self) {
        self.0.clear();
    }

    fn join(&mut self, other: &Self) {
        self.0.extend(other.0.iter().cloned());
    }

    fn from_earlier_iteration(&self) -> Self {
        Accesses(self.0.iter().map(|b| Before { access: None, ..b.clone() }).collect())
    }
}
