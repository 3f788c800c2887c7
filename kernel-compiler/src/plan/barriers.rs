//! The barriers of a program: which threads each counts, and where they stand.
//!
//! The places follow from the accesses and the exchanges of the written program, so that they are planned when code
//! generation has listed these ([`Step`]). In an exchange, threads store to a scratch buffer, wait at a barrier, and
//! load from it; a step between may update it. A buffer of one step is used by each warp for itself, without a barrier.
//! The store needs another barrier before it where some thread may still load from the same bytes. Scratch buffers get
//! distinct bytes as long as there are enough, so that straight code needs no such barrier. Barriers also order the
//! accesses to an array that the program both reads and writes, except where the same thread accesses the same element,
//! and a store to an array behind the loads from another one that may be the same memory.

use crate::ir::{Array, Func, StmtId};
use crate::plan::access_order::{Access, AccessKind, Elements};
use crate::plan::warp_specialized::WARPGROUP;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// The barrier of the consumers of a warp-specialized program. Barrier 0 is that of the thread block.
const CONSUMERS: u32 = 1;
/// The barrier of the first warpgroup of consumers. The barriers of the others follow.
const FIRST_WARPGROUP: u32 = 2;
/// The most bytes of distinct scratch buffers. Beyond it they share their bytes: occupancy is worth more than a
/// barrier.
const OWN_BYTES: usize = 16 << 10;

/// The threads that a barrier counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// All threads of the thread block.
    Block,
    /// All threads of the cluster.
    Cluster,
    /// The consumers of a warp-specialized program, by the named barrier `number`.
    Consumers {
        /// Its number.
        number: u32,
        /// The number of consumer threads.
        threads: u32,
    },
}

/// The threads that the barriers of a program count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scopes {
    /// At an exchange through shared memory.
    pub exchange: Scope,
    /// Between accesses to global memory. The CTAs of a cluster access the same arrays.
    pub access: Scope,
    /// The warpgroups of consumers that have barriers of their own.
    pub warpgroups: Option<WarpgroupBarriers>,
}

/// The named barriers of warpgroups: warpgroup `i` has barrier `first + i`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WarpgroupBarriers {
    /// The barrier of the first warpgroup.
    pub first: u32,
    /// The threads of a warpgroup.
    pub threads: u32,
}

impl Scopes {
    /// Of a program, which may be warp-specialized.
    pub fn new(f: &Func, is_specialized: bool) -> Scopes {
        if is_specialized {
            let consumers = Scope::Consumers { number: CONSUMERS, threads: f.warps * 32 };
            let warpgroups = WarpgroupBarriers { first: FIRST_WARPGROUP, threads: WARPGROUP };
            return Scopes { exchange: consumers, access: consumers, warpgroups: Some(warpgroups) };
        }
        let access = if f.ctas > 1 { Scope::Cluster } else { Scope::Block };
        Scopes { exchange: Scope::Block, access, warpgroups: None }
    }
}

/// A step of the written program, as far as the places of barriers depend on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// An exchange of the threads through a scratch buffer.
    Exchange {
        /// The statement.
        at: StmtId,
        /// The size of the buffer.
        bytes: usize,
        /// The number of its steps, which barriers separate.
        steps: usize,
    },
    /// An access to global memory or to a shared array.
    Access(Access),
    /// A barrier that the code has for another reason.
    Barrier {
        /// Whether it counts the threads of the cluster. Else it is one of an exchange's scope.
        of_cluster: bool,
    },
    /// A branch.
    If {
        /// The steps for true.
        then: Vec<Step>,
        /// The steps for false.
        other: Vec<Step>,
    },
    /// A loop that ends at a `Break` or a `Return` alone.
    Loop {
        /// The steps of an iteration.
        body: Vec<Step>,
    },
    /// The end of the innermost loop.
    Break,
    /// The end of an iteration of the innermost loop.
    Continue,
    /// The end of the program for a thread.
    Return,
}

/// The barriers of an exchange or an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepBarriers {
    /// The statement.
    pub at: StmtId,
    /// The barrier before it.
    pub before: Option<Scope>,
    /// The step.
    pub of: Ordered,
}

/// The steps that barriers order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ordered {
    /// An exchange.
    Exchange {
        /// The offset of the scratch buffer in shared memory.
        offset: usize,
        /// The size of the buffer.
        bytes: usize,
        /// The barrier between two steps. An exchange of one step has none.
        between: Option<Scope>,
    },
    /// An access.
    Access {
        /// The array.
        array: Array,
        /// The kind.
        kind: AccessKind,
    },
}

/// The barriers of the code of a role, for each exchange and each access in the order of the code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barriers {
    /// The barriers by step.
    pub steps: Vec<StepBarriers>,
    /// The end of the scratch buffers in shared memory.
    pub end: usize,
}

/// The bytes of scratch buffers.
struct ScratchBuffers {
    /// Whether all buffers begin at the same byte. Else each has bytes of its own.
    overlap: bool,
    /// The bytes of all.
    bytes: usize,
}

impl ScratchBuffers {
    /// Of buffers of these sizes.
    fn new(sizes: &[usize]) -> ScratchBuffers {
        let total: usize = sizes.iter().map(|s| s.next_multiple_of(16)).sum();
        let overlap = total > OWN_BYTES;
        let bytes = if overlap { sizes.iter().copied().max().unwrap_or(0) } else { total };
        ScratchBuffers { overlap, bytes: bytes.next_multiple_of(16) }
    }
}

/// The barriers of the code of each role. The scratch buffers lie behind the first `before` bytes of shared memory.
pub fn plan(roles: &[Vec<Step>], before: usize, scopes: Scopes) -> Vec<Barriers> {
    roles.iter().map(|steps| place(steps, before, scopes)).collect()
}

/// Places the scratch buffers and the barriers of a program.
pub fn place(steps: &[Step], before: usize, scopes: Scopes) -> Barriers {
    let (mut sizes, mut kinds) = (vec![], BTreeMap::<Array, BTreeSet<AccessKind>>::new());
    walk(steps, &mut |s| match s {
        Step::Exchange { bytes, .. } => sizes.push(*bytes),
        Step::Access(access) => {
            kinds.entry(access.memory).or_default().insert(access.kind);
        }
        _ => {}
    });
    let ScratchBuffers { overlap, bytes } = ScratchBuffers::new(&sizes);
    let mixed = kinds.into_iter().filter(|(_, kinds)| kinds.len() > 1).map(|(memory, _)| memory).collect();
    let mut cx = Placement { overlap, scopes, before, next: 0, mixed, exits: vec![], out: vec![] };
    cx.block(steps, &mut State::default());
    Barriers { steps: cx.out, end: before + bytes }
}

/// Calls `visit` with all steps, outer before inner.
fn walk<'s>(steps: &'s [Step], visit: &mut dyn FnMut(&'s Step)) {
    for s in steps {
        visit(s);
        match s {
            Step::If { then, other } => {
                walk(then, visit);
                walk(other, visit);
            }
            Step::Loop { body } => walk(body, visit),
            _ => {}
        }
    }
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
    /// A barrier, which may count the threads that access the same arrays (`of_all`), or fewer.
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

struct Placement {
    overlap: bool,
    scopes: Scopes,
    before: usize,
    next: usize,
    /// The memories with accesses of different kinds.
    mixed: BTreeSet<Array>,
    /// The states at the `break`s and `continue`s of the loops around, innermost last.
    exits: Vec<(State, State)>,
    out: Vec<StepBarriers>,
}

const DEAD: fn() -> State = || State { dead: true, ..State::default() };

impl Placement {
    /// Whether a barrier of an exchange also orders accesses.
    fn exchange_orders_accesses(&self) -> bool {
        self.scopes.exchange == self.scopes.access
    }

    fn block(&mut self, steps: &[Step], state: &mut State) {
        steps.iter().for_each(|s| self.step(s, state));
    }

    fn step(&mut self, s: &Step, state: &mut State) {
        match s {
            &Step::Exchange { at, bytes, steps } => {
                let offset = self.before + if self.overlap { 0 } else { self.next };
                self.next += bytes.next_multiple_of(16);
                let overwrites = state.loaded.contains(&offset) && !planted!("exchange-overwrites-while-read");
                let awaits = steps > 1 && !planted!("exchange-without-barrier");
                let (before, between) =
                    (overwrites.then_some(self.scopes.exchange), awaits.then_some(self.scopes.exchange));
                self.out.push(StepBarriers { at, before, of: Ordered::Exchange { offset, bytes, between } });
                if steps > 1 || planted!("exchange-of-one-step-is-a-barrier") {
                    state.barrier(self.exchange_orders_accesses());
                }
                state.loaded.insert(offset);
            }
            Step::Access(access) => {
                let &Access { array, memory, kind, elements, at, .. } = access;
                let mut before = None;
                if self.mixed.contains(&memory) {
                    if state.conflicts(access) && !planted!("accesses-without-barrier") {
                        before = Some(self.scopes.access);
                        state.barrier(true);
                    }
                    state.accesses.insert(Earlier { array, memory, kind, elements });
                }
                self.out.push(StepBarriers { at, before, of: Ordered::Access { array, kind } });
            }
            Step::Barrier { of_cluster } => state.barrier(*of_cluster || self.exchange_orders_accesses()),
            Step::If { then, other } => {
                let mut otherwise = state.clone();
                self.block(then, state);
                self.block(other, &mut otherwise);
                if !planted!("barriers-forget-a-branch") {
                    state.join(&otherwise);
                }
            }
            Step::Loop { body } => self.looped(body, state),
            Step::Break => {
                let exits = self.exits.last_mut().expect("in a loop");
                if planted!("barriers-keep-the-last-break-alone") {
                    exits.0 = state.clone();
                } else {
                    exits.0.join(state);
                }
                *state = DEAD();
            }
            Step::Continue => {
                let exits = self.exits.last_mut().expect("in a loop");
                exits.1.join(state);
                *state = DEAD();
            }
            Step::Return => *state = DEAD(),
        }
    }

    /// Places the barriers of a loop. Its body is repeated with the state at its end, up to a fixed point.
    fn looped(&mut self, body: &[Step], state: &mut State) {
        let (first, done) = (self.next, self.out.len());
        let mut entry = state.clone();
        loop {
            self.next = first;
            self.out.truncate(done);
            self.exits.push((DEAD(), DEAD()));
            let mut at = entry.clone();
            self.block(body, &mut at);
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
                return;
            }
            entry = again;
        }
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Scope::Block => write!(f, "the thread block"),
            Scope::Cluster => write!(f, "the cluster"),
            Scope::Consumers { number, threads } => write!(f, "{threads} consumers (barrier {number})"),
        }
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let Scopes { exchange, access, warpgroups } = self;
        write!(f, "barriers of {exchange}")?;
        if access != exchange {
            write!(f, ", between accesses to global memory of {access}")?;
        }
        if let Some(WarpgroupBarriers { first, threads }) = warpgroups {
            write!(f, ", of each warpgroup of {threads} threads (from barrier {first} on)")?;
        }
        Ok(())
    }
}

/// A line for each exchange, and for each access with a barrier.
impl fmt::Display for Barriers {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        for StepBarriers { at, before, of } in &self.steps {
            match of {
                Ordered::Exchange { offset, bytes, between } => {
                    write!(f, "at {at:?}: exchange through {bytes} bytes at {offset}")?;
                    before.iter().try_for_each(|scope| write!(f, ", behind a barrier of {scope}"))?;
                    match between {
                        Some(_) => writeln!(f)?,
                        None => writeln!(f, ", by each warp for itself")?,
                    }
                }
                Ordered::Access { array, kind } => {
                    let what = match kind {
                        AccessKind::Read => "load from",
                        AccessKind::Write => "store to",
                        AccessKind::Update => "update of",
                        AccessKind::Clear => "clearing of",
                    };
                    before
                        .iter()
                        .try_for_each(|scope| writeln!(f, "at {at:?}: {what} {array} behind a barrier of {scope}"))?;
                }
            }
        }
        Ok(())
    }
}
