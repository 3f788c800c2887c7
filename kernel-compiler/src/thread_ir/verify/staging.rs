//! The staging buffer of a warpgroup's stores: chunks that the warpgroup stores to, and that TMA or the warpgroup
//! copies to global memory.
//!
//! - A chunk is copied as the warpgroup has stored it and has come to a barrier behind that; by TMA behind a proxy
//!   fence.
//! - A chunk is stored to as TMA has read it, which one thread waits for, and the warpgroup has come to a barrier.

use super::flow::{Flow, State, Step};
use crate::thread_ir::expr::{BinaryOp, Call, Expr, Generic, Literal};
use crate::thread_ir::function::{Device, Effect, Function};
use crate::thread_ir::name::Name;
use crate::thread_ir::node::Lowered;
use std::collections::{BTreeMap, BTreeSet};

/// More copies in flight than any program waits for at once.
const MAX_AGE: u64 = 8;

type Checked = Result<(), String>;

pub fn verify(lowered: &Lowered) -> Checked {
    let mut visit = |step: Step, state: &mut Chunks| match step {
        Step::Call(c) => state.call(c),
        Step::Access(_) | Step::Stmt(_) | Step::Return => Ok(()),
    };
    Flow::new(&mut visit).nodes(&lowered.body, &mut Some(Chunks::default()))
}

/// The states of chunks on some way here, by their offset in the warpgroup's part.
#[derive(Clone, Debug, Default, PartialEq)]
struct Chunks {
    /// Stored to since the last barrier, and whether a proxy fence stands behind that.
    stored: BTreeMap<u64, bool>,
    /// Stored by the whole warpgroup, without and with a proxy fence, on every way here.
    ready: BTreeSet<u64>,
    fenced: BTreeSet<u64>,
    /// TMA may still read it. How many copies were begun after this one.
    in_flight: BTreeMap<u64, u64>,
    /// Read by threads, or waited for by one thread, since the last barrier.
    taken: BTreeSet<u64>,
}

impl State for Chunks {
    fn barrier(&mut self) {
        for (chunk, fenced) in std::mem::take(&mut self.stored) {
            self.ready.insert(chunk);
            if fenced {
                self.fenced.insert(chunk);
            }
        }
        self.taken.clear();
    }

    fn join(&mut self, o: &Self) {
        for (&chunk, &fenced) in &o.stored {
            *self.stored.entry(chunk).or_insert(fenced) &= fenced;
        }
        self.ready.retain(|c| o.ready.contains(c));
        self.fenced.retain(|c| o.fenced.contains(c));
        for (&chunk, &age) in &o.in_flight {
            let before = self.in_flight.entry(chunk).or_insert(age);
            *before = age.min(*before);
        }
        self.taken.extend(&o.taken);
    }
}

impl Chunks {
    fn call(&mut self, c: &Call) -> Checked {
        match c.effect() {
            // Those of all threads are counted by the walk.
            Effect::Barrier(_) => self.barrier(),
            Effect::Fence => self.stored.values_mut().for_each(|fenced| *fenced = true),
            _ => {}
        }
        if c.function == Function::Device(Device::TmaStoreWaitRead) {
            let most = match c.generics.first() {
                Some(Generic::Number(n)) => *n as u64,
                _ => 0,
            };
            let read: Vec<u64> = self.in_flight.iter().filter(|(_, age)| **age >= most).map(|(c, _)| *c).collect();
            for chunk in read {
                self.in_flight.remove(&chunk);
                self.taken.insert(chunk);
            }
        }
        let Some(chunk) = c.args.first().and_then(chunk) else { return Ok(()) };
        match c.effect() {
            Effect::SharedWrite => {
                if self.in_flight.contains_key(&chunk) || self.taken.contains(&chunk) {
                    return Err(format!("the staging chunk at {chunk} is stored to while it may still be read"));
                }
                self.ready.remove(&chunk);
                self.fenced.remove(&chunk);
                self.stored.insert(chunk, false);
            }
            Effect::TmaStore => {
                if !self.fenced.contains(&chunk) {
                    return Err(format!("TMA copies the staging chunk at {chunk} before it is stored and fenced"));
                }
                self.in_flight.values_mut().for_each(|age| *age = (*age + 1).min(MAX_AGE));
                self.in_flight.insert(chunk, 0);
            }
            Effect::SharedRead => {
                if !self.ready.contains(&chunk) {
                    return Err(format!("the staging chunk at {chunk} is loaded before all threads have stored to it"));
                }
                self.taken.insert(chunk);
            }
            _ => {}
        }
        Ok(())
    }
}

/// The offset of the chunk of an address, behind `STAGING` and the warpgroup's part.
fn chunk(at: &Expr) -> Option<u64> {
    let mut found = None;
    at.walk(&mut |e| {
        if let Expr::Binary(BinaryOp::Add, part, chunk) = e
            && let Expr::Binary(BinaryOp::Add, start, _) = &**part
            && matches!(**start, Expr::Name(Name::Staging))
            && let Expr::Literal(Literal::Int { value, .. }) = &**chunk
        {
            found = found.or(u64::try_from(*value).ok());
        }
    });
    found
}
