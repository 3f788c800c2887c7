//! The stages of circular buffers that all threads fill, by `cp.async` or through registers.
//!
//! - A stage is read as its copies have arrived, and all threads have come to a barrier behind that.
//! - A stage is filled as all threads have come to a barrier behind the reads of the iteration before.

use super::flow::{Flow, State, Step};
use crate::thread_ir::expr::{Call, Expr, Stmt};
use crate::thread_ir::function::{Device, Effect, Function};
use crate::thread_ir::name::{BufferPart, Name};
use crate::thread_ir::node::Lowered;
use std::collections::BTreeSet;

type Checked = Result<(), String>;

pub fn verify(lowered: &Lowered) -> Checked {
    let mut asynchronous = BTreeSet::new();
    lowered.walk(&mut |e| {
        if let Expr::Call(c) = e
            && c.function == Function::Device(Device::CopyAhead)
        {
            asynchronous.extend(named(c, BufferPart::Write));
        }
    });
    let mut visit = |step: Step, state: &mut Stages| match step {
        Step::Call(c) => state.call(c),
        Step::Stmt(
            Stmt::Let { name: Name::CircularBuffer(BufferPart::Read, i), .. }
            | Stmt::Update(_, Name::CircularBuffer(BufferPart::Read, i), _),
        ) => {
            state.next(*i, asynchronous.contains(i));
            Ok(())
        }
        Step::Access(_) | Step::Stmt(_) | Step::Return => Ok(()),
    };
    Flow::new(&mut visit).nodes(&lowered.body, &mut Some(Stages::default()))
}

/// The states of circular buffers on some way here, by their numbers.
#[derive(Clone, Debug, Default, PartialEq)]
struct Stages {
    /// This thread has not waited for the copies to the stage that is read next.
    in_flight: BTreeSet<usize>,
    /// Not all threads have stored what they copy to that stage.
    unready: BTreeSet<usize>,
    /// The stage is read, since the last barrier.
    read: BTreeSet<usize>,
    /// The stage of the iteration before was read, since the last barrier.
    read_before: BTreeSet<usize>,
}

impl State for Stages {
    fn barrier(&mut self) {
        let in_flight = &self.in_flight;
        self.unready.retain(|i| in_flight.contains(i));
        self.read.clear();
        self.read_before.clear();
    }

    fn join(&mut self, o: &Self) {
        self.in_flight.extend(&o.in_flight);
        self.unready.extend(&o.unready);
        self.read.extend(&o.read);
        self.read_before.extend(&o.read_before);
    }
}

impl Stages {
    /// Another stage is read from here on.
    fn next(&mut self, i: usize, is_asynchronous: bool) {
        if is_asynchronous {
            self.in_flight.insert(i);
        }
        self.unready.insert(i);
        if self.read.remove(&i) {
            self.read_before.insert(i);
        }
    }

    fn call(&mut self, c: &Call) -> Checked {
        if c.effect() == Effect::CopyWait {
            self.in_flight.clear();
        }
        for i in named(c, BufferPart::Write) {
            if self.read_before.contains(&i) {
                return Err(format!("a stage of buffer {i} is filled while other threads may still read it"));
            }
        }
        for i in named(c, BufferPart::Read) {
            if self.unready.contains(&i) {
                return Err(format!("a stage of buffer {i} is read before the copies of all threads have arrived"));
            }
            self.read.insert(i);
        }
        Ok(())
    }
}

/// The circular buffers of which a call's arguments name this part.
fn named(c: &Call, part: BufferPart) -> BTreeSet<usize> {
    let mut out = BTreeSet::new();
    c.args.iter().for_each(|arg| {
        arg.walk(&mut |e| match e {
            Expr::Name(Name::CircularBuffer(of, i)) if *of == part => drop(out.insert(*i)),
            _ => {}
        });
    });
    out
}
