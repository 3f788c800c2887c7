//! Phase 6, schedule: gives every exchange its place in shared memory, and puts barriers where threads must wait.
//!
//! An exchange is store, barrier, load. Before its store another barrier is needed if some thread may still be loading
//! from the same bytes; each exchange has bytes of its own while they last, so that in straight code none is. Accesses to
//! one parameter that the program both reads and writes are kept in order across threads by barriers as well, except where
//! the same thread reaches the same element.

use super::thread_ir::{Access, AccessKind, ThreadIr};
use std::collections::{BTreeMap, BTreeSet};

/// Beyond this many bytes exchanges share one buffer: occupancy is worth more than a barrier.
const OWN_BYTES: usize = 16 << 10;

pub fn schedule(nodes: Vec<ThreadIr>) -> (Vec<ThreadIr>, usize) {
    let mut sizes = vec![];
    collect(&nodes, &mut sizes);
    let total: usize = sizes.iter().map(|s| s.next_multiple_of(16)).sum();
    let shared = total > OWN_BYTES;
    let bytes = if shared { sizes.iter().copied().max().unwrap_or(0) } else { total };
    let mut acts = BTreeMap::new();
    params(&nodes, &mut acts);
    let mixed = acts.into_iter().filter(|(_, acts)| acts.len() > 1).map(|(param, _)| param).collect();
    let mut cx = Scheduler { shared, next: 0, mixed, exits: vec![] };
    let mut state = State::default();
    let nodes = cx.block(nodes, &mut state);
    (nodes, bytes.next_multiple_of(16))
}

fn collect(nodes: &[ThreadIr], sizes: &mut Vec<usize>) {
    for n in nodes {
        match n {
            ThreadIr::Exchange { bytes, .. } => sizes.push(*bytes),
            ThreadIr::If { then, other, .. } => {
                collect(then, sizes);
                collect(other, sizes);
            }
            ThreadIr::Loop { body } | ThreadIr::Block { body } => collect(body, sizes),
            _ => {}
        }
    }
}

/// What is done to each parameter.
fn params(nodes: &[ThreadIr], acts: &mut BTreeMap<usize, BTreeSet<AccessKind>>) {
    for n in nodes {
        match n {
            ThreadIr::Access { access, .. } => {
                acts.entry(access.param).or_default().insert(access.act);
            }
            ThreadIr::If { then, other, .. } => {
                params(then, acts);
                params(other, acts);
            }
            ThreadIr::Loop { body } | ThreadIr::Block { body } => params(body, acts),
            _ => {}
        }
    }
}

/// What threads may have done since the last barrier on some way here.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    /// Exchange buffers that were loaded from.
    loaded: BTreeSet<usize>,
    /// Accesses: parameter, what is done, key (none: made in an earlier round of a loop).
    accesses: BTreeSet<(usize, AccessKind, Option<(u32, u64)>)>,
    /// No way leads here.
    dead: bool,
}

impl State {
    fn barrier(&mut self) {
        self.loaded.clear();
        self.accesses.clear();
    }

    fn join(&mut self, o: &State) {
        if o.dead {
            return;
        }
        if self.dead {
            *self = o.clone();
            return;
        }
        self.loaded.extend(&o.loaded);
        self.accesses.extend(o.accesses.iter().copied());
    }

    /// As seen from the next round of a loop, where keys name other elements.
    fn aged(&self) -> State {
        State { accesses: self.accesses.iter().map(|&(p, act, _)| (p, act, None)).collect(), ..self.clone() }
    }

    fn conflicts(&self, a: &Access) -> bool {
        self.accesses.iter().any(|&(p, act, key)| p == a.param && act != a.act && key != Some(a.key))
    }
}

struct Scheduler {
    shared: bool,
    next: usize,
    /// Parameters to which different things are done.
    mixed: BTreeSet<usize>,
    /// States at the `break`s and `continue`s of the loops around, innermost last.
    exits: Vec<(State, State)>,
}

const DEAD: fn() -> State = || State { dead: true, ..State::default() };

impl Scheduler {
    fn block(&mut self, nodes: Vec<ThreadIr>, state: &mut State) -> Vec<ThreadIr> {
        let mut out = vec![];
        for n in nodes {
            self.node(n, state, &mut out);
        }
        out
    }

    fn node(&mut self, n: ThreadIr, state: &mut State, out: &mut Vec<ThreadIr>) {
        match n {
            ThreadIr::Exchange { bytes, store, load, site } => {
                let offset = if self.shared { 0 } else { self.next };
                self.next += bytes.next_multiple_of(16);
                if state.loaded.contains(&offset) && !planted!("exchange-overwrites-while-read") {
                    out.push(ThreadIr::Barrier { site });
                }
                let place = |t: String| t.replace('@', &offset.to_string());
                out.extend([ThreadIr::Line(place(store)), ThreadIr::Barrier { site }, ThreadIr::Line(place(load))]);
                if planted!("exchange-without-barrier") {
                    out.remove(out.len() - 2);
                }
                state.barrier();
                state.loaded.insert(offset);
            }
            ThreadIr::Access { text, access } => {
                if self.mixed.contains(&access.param) {
                    if state.conflicts(&access) && !planted!("accesses-without-barrier") {
                        out.push(ThreadIr::Barrier { site: access.site });
                        state.barrier();
                    }
                    state.accesses.insert((access.param, access.act, Some(access.key)));
                }
                out.push(ThreadIr::Line(text));
            }
            ThreadIr::Barrier { site } => {
                state.barrier();
                out.push(ThreadIr::Barrier { site });
            }
            ThreadIr::If { cond, then, other } => {
                let mut otherwise = state.clone();
                let then = self.block(then, state);
                let other = self.block(other, &mut otherwise);
                if !planted!("barriers-forget-a-branch") {
                    state.join(&otherwise);
                }
                out.push(ThreadIr::If { cond, then, other });
            }
            ThreadIr::Loop { body } => out.push(self.looped(body, state)),
            ThreadIr::Block { body } => {
                let body = self.block(body, state);
                out.push(ThreadIr::Block { body });
            }
            ThreadIr::Break => {
                let exits = self.exits.last_mut().expect("in a loop");
                exits.0.join(state);
                *state = DEAD();
                out.push(ThreadIr::Break);
            }
            ThreadIr::Continue => {
                let exits = self.exits.last_mut().expect("in a loop");
                exits.1.join(state);
                *state = DEAD();
                out.push(ThreadIr::Continue);
            }
            ThreadIr::Return => {
                *state = DEAD();
                out.push(ThreadIr::Return);
            }
            ThreadIr::Line(t) => out.push(ThreadIr::Line(t)),
        }
    }

    /// Around again with what a round leaves behind, until that is nothing new.
    fn looped(&mut self, body: Vec<ThreadIr>, state: &mut State) -> ThreadIr {
        let first = self.next;
        let mut entry = state.clone();
        loop {
            self.next = first;
            self.exits.push((DEAD(), DEAD()));
            let mut at = entry.clone();
            let out = self.block(body.clone(), &mut at);
            let (breaks, continues) = self.exits.pop().expect("pushed");
            at.join(&continues);
            let mut again = entry.clone();
            if !planted!("barriers-forget-the-last-round") {
                again.join(&at.aged());
            }
            if again == entry {
                *state = breaks;
                return ThreadIr::Loop { body: out };
            }
            entry = again;
        }
    }
}
