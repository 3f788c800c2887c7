//! Shared-memory allocation and barrier placement.
//!
//! Threads store to a scratch buffer, wait at a barrier, and load from it; a step between may update it. A buffer of
//! one step is used by each warp for itself, without a barrier. The store
//! needs another barrier before it where some thread may still load from the same bytes. Scratch buffers get distinct
//! bytes as long as there are enough, so that straight code needs no such barrier. Barriers also order the accesses to
//! an array that the program both reads and writes, except where the same thread accesses the same element, and a store
//! to an array behind the loads from another one that may be the same memory.

use crate::ir::Array;
use crate::plan::shared_memory::ScratchBuffers;
use crate::thread_ir::walk::walk;
use crate::thread_ir::{Access, AccessKind, Device, Elements, Expr, Node, Stmt, call};
use std::collections::{BTreeMap, BTreeSet};

/// Places the scratch buffers behind the first `before` bytes of shared memory, and inserts barriers. Also returns the
/// offset of the end of the scratch buffers. In a cluster the threads of all CTAs access the same arrays.
pub fn schedule(nodes: Vec<Node>, before: usize, cluster: bool) -> (Vec<Node>, usize) {
    let (mut sizes, mut kinds) = (vec![], BTreeMap::<Array, BTreeSet<AccessKind>>::new());
    walk(&nodes, &mut |n| match n {
        Node::Scratch { bytes, .. } => sizes.push(*bytes),
        Node::Access { access, .. } => {
            kinds.entry(access.memory).or_default().insert(access.kind);
        }
        _ => {}
    });
    let ScratchBuffers { overlap, bytes } = ScratchBuffers::new(&sizes);
    let mixed = kinds.into_iter().filter(|(_, kinds)| kinds.len() > 1).map(|(memory, _)| memory).collect();
    let mut cx = Scheduler { overlap, cluster, before, next: 0, mixed, exits: vec![] };
    let mut state = State::default();
    let nodes = cx.block(nodes, &mut state);
    (nodes, before + bytes)
}

/// A barrier of all threads of the cluster.
pub fn cluster_barrier(site: u32) -> Node {
    call!(Device::ClusterSync; site).into()
}

/// A barrier of all threads that run the program: those of a thread block, or of the cluster.
pub(crate) fn program_barrier(cluster: bool, site: u32) -> Node {
    if cluster { cluster_barrier(site) } else { Node::Barrier { site } }
}

fn is_cluster_barrier(n: &Node) -> bool {
    let Node::Line(stmts) = n else { return false };
    let waits = |s: &Stmt| matches!(s, Stmt::Expr(Expr::Call(c)) if c.function == Device::ClusterSync.into());
    stmts.iter().any(waits)
}

/// The accesses that threads may have made since the last barrier, on some path to this place.
#[derive(Clone, Debug, Default, PartialEq)]
struct State {
    /// Scratch buffers that were loaded from.
    loaded: BTreeSet<usize>,
    accesses: BTreeSet<Earlier>,
    /// No path leads here.
    dead: bool,
}

/// An access of a [`State`], as [`Access`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Earlier {
    array: Array,
    memory: Array,
    kind: AccessKind,
    /// None for an access of an earlier iteration of a loop, where indices are others.
    elements: Option<Elements>,
}

impl State {
    /// A barrier of a thread block, or of the cluster (`of_all`): the CTAs of a cluster access the same arrays.
    fn barrier(&mut self, of_all: bool) {
        self.loaded.clear();
        if of_all {
            self.accesses.clear();
        }
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

    /// The state in the next iteration of a loop.
    fn from_earlier_iteration(&self) -> State {
        State { accesses: self.accesses.iter().map(|&e| Earlier { elements: None, ..e }).collect(), ..self.clone() }
    }

    fn conflicts(&self, a: &Access) -> bool {
        let same_memory = |e: &Earlier| {
            let is_load = e.kind == AccessKind::Read && !planted!("alias-without-barrier");
            e.array == a.array || is_load && e.memory == a.memory
        };
        let in_order = |e: &Earlier| Elements::are_in_order((e.kind, e.elements), (a.kind, a.elements));
        self.accesses.iter().any(|e| same_memory(e) && e.kind != a.kind && !in_order(e))
    }
}

struct Scheduler {
    overlap: bool,
    cluster: bool,
    before: usize,
    next: usize,
    /// The memories with accesses of different kinds.
    mixed: BTreeSet<Array>,
    /// The states at the `break`s and `continue`s of the loops around, innermost last.
    exits: Vec<(State, State)>,
}

const DEAD: fn() -> State = || State { dead: true, ..State::default() };

impl Scheduler {
    fn block(&mut self, nodes: Vec<Node>, state: &mut State) -> Vec<Node> {
        let mut out = vec![];
        for n in nodes {
            self.node(n, state, &mut out);
        }
        out
    }

    fn node(&mut self, n: Node, state: &mut State, out: &mut Vec<Node>) {
        match n {
            Node::Scratch { bytes, steps, site } => {
                let offset = self.before + if self.overlap { 0 } else { self.next };
                self.next += bytes.next_multiple_of(16);
                if state.loaded.contains(&offset) && !planted!("exchange-overwrites-while-read") {
                    out.push(Node::Barrier { site });
                }
                for (i, step) in steps.iter().enumerate() {
                    if i > 0 && !planted!("exchange-without-barrier") {
                        out.push(Node::Barrier { site });
                    }
                    out.extend(step.iter().map(|s| Node::from(s.placed(offset, bytes))));
                }
                if steps.len() > 1 || planted!("exchange-of-one-step-is-a-barrier") {
                    state.barrier(!self.cluster);
                }
                state.loaded.insert(offset);
            }
            Node::Access { stmts, access } => {
                if self.mixed.contains(&access.memory) {
                    if state.conflicts(&access) && !planted!("accesses-without-barrier") {
                        out.push(program_barrier(self.cluster, access.site));
                        state.barrier(true);
                    }
                    let Access { array, memory, kind, elements, .. } = access;
                    state.accesses.insert(Earlier { array, memory, kind, elements });
                }
                out.push(Node::Access { stmts, access });
            }
            Node::Barrier { site } => {
                state.barrier(!self.cluster);
                out.push(Node::Barrier { site });
            }
            Node::If { cond, then, other } => {
                let mut otherwise = state.clone();
                let then = self.block(then, state);
                let other = self.block(other, &mut otherwise);
                if !planted!("barriers-forget-a-branch") {
                    state.join(&otherwise);
                }
                out.push(Node::If { cond, then, other });
            }
            Node::Loop { body } => out.push(self.looped(body, state)),
            Node::Block { body } => {
                let body = self.block(body, state);
                out.push(Node::Block { body });
            }
            Node::Break => {
                let exits = self.exits.last_mut().expect("in a loop");
                if planted!("barriers-keep-the-last-break-alone") {
                    exits.0 = state.clone();
                } else {
                    exits.0.join(state);
                }
                *state = DEAD();
                out.push(Node::Break);
            }
            Node::Continue => {
                let exits = self.exits.last_mut().expect("in a loop");
                exits.1.join(state);
                *state = DEAD();
                out.push(Node::Continue);
            }
            Node::Return => {
                *state = DEAD();
                out.push(Node::Return);
            }
            Node::Line(_) => {
                if is_cluster_barrier(&n) {
                    state.barrier(true);
                }
                out.push(n);
            }
        }
    }

    /// Places the barriers of a loop. Its body is repeated with the state at its end, up to a fixed point.
    fn looped(&mut self, body: Vec<Node>, state: &mut State) -> Node {
        let first = self.next;
        let mut entry = state.clone();
        loop {
            self.next = first;
            self.exits.push((DEAD(), DEAD()));
            let mut at = entry.clone();
            let out = self.block(body.clone(), &mut at);
            let (breaks, continues) = self.exits.pop().expect("pushed");
            if !planted!("barriers-forget-a-continue") {
                at.join(&continues);
            }
            let mut again = entry.clone();
            if !planted!("barriers-forget-the-last-round") {
                again.join(&at.from_earlier_iteration());
            }
            if again == entry {
                *state = breaks;
                return Node::Loop { body: out };
            }
            entry = again;
        }
    }
}
