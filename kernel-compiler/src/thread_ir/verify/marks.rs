//! The marks of a traced program: on every way the event that began last ends first, all have ended where a thread
//! leaves, and the warp has ended then, too.

use super::flow::{Flow, State, Step};
use crate::thread_ir::expr::{Expr, Stmt};
use crate::thread_ir::function::{Device, Function};
use crate::thread_ir::node::Lowered;
use crate::thread_ir::trace::of_event;
use tilewright_types::TracePhase;

pub fn verify(lowered: &Lowered) -> Result<(), String> {
    let begins = |s: &Stmt| match s {
        Stmt::Let { value: Some(Expr::Call(c)), .. } => c.function == Function::Device(Device::TraceBegin),
        _ => false,
    };
    let mut state = Some(Open::Events(match lowered.prologue.iter().any(begins) {
        true => vec![PROGRAM],
        false => vec![],
    }));
    let mut visit = |step: Step, at: &mut Open| match step {
        Step::Call(c) => match (c.function, of_event(c)) {
            (_, Some((event, TracePhase::Begin))) => at.begin(event),
            (_, Some((event, TracePhase::End))) => at.end(event),
            (_, Some((_, TracePhase::Instant))) => at.instant(),
            (Function::Device(Device::TraceEnd), _) => at.end(PROGRAM),
            (Function::Device(Device::Trace | Device::TraceBegin), _) => Err("a mark is of no event".into()),
            _ => Ok(()),
        },
        Step::Return => at.is_done(),
        Step::Access(_) | Step::Stmt(_) => Ok(()),
    };
    Flow::new(&mut visit).nodes(&lowered.body, &mut state)?;
    state.map_or(Ok(()), |at| at.is_done())
}

/// The number of no event: the warp's run of the program.
const PROGRAM: u32 = 0;

/// The events that have begun, the last one last.
#[derive(Clone, Debug, PartialEq)]
enum Open {
    Events(Vec<u32>),
    /// The ways to a step differ in them.
    Several(Vec<u32>, Vec<u32>),
}

impl State for Open {
    fn barrier(&mut self) {}

    fn join(&mut self, other: &Self) {
        match (&*self, other) {
            (Open::Events(a), Open::Events(b)) if a != b => *self = Open::Several(a.clone(), b.clone()),
            (Open::Events(_), Open::Several(..)) => *self = other.clone(),
            _ => {}
        }
    }
}

impl Open {
    fn events(&mut self) -> Result<&mut Vec<u32>, String> {
        match self {
            Open::Events(all) if all.is_empty() => Err("a mark stands behind the end of its warp".into()),
            Open::Events(all) => Ok(all),
            Open::Several(a, b) => Err(format!("the events {a:?} have begun on one way, and {b:?} on another one")),
        }
    }

    fn begin(&mut self, event: u32) -> Result<(), String> {
        self.events().map(|all| all.push(event))
    }

    fn end(&mut self, event: u32) -> Result<(), String> {
        match self.events()?.pop() {
            Some(last) if last == event => Ok(()),
            last => Err(format!("event {event} ends where {last:?} has begun")),
        }
    }

    fn instant(&mut self) -> Result<(), String> {
        self.events().map(|_| ())
    }

    fn is_done(&self) -> Result<(), String> {
        match self {
            Open::Events(all) if all.is_empty() => Ok(()),
            open => Err(format!("a thread leaves with events that have not ended: {open:?}")),
        }
    }
}
