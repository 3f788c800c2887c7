//! The events on the ways to a step: a state for each step of a program, joined where ways meet.

use crate::plan::access_order::Access;
use crate::thread_ir::expr::{Call, Expr, Literal, Stmt};
use crate::thread_ir::function::{Counted, Effect};
use crate::thread_ir::node::ThreadIr;

/// The facts about the ways to a step.
pub trait State: Clone + PartialEq {
    /// All threads that share scratch memory have come to a barrier.
    fn barrier(&mut self);

    /// Another way leads here as well.
    fn join(&mut self, other: &Self);

    /// The same, as seen from the next iteration of a loop.
    fn from_earlier_iteration(&self) -> Self {
        self.clone()
    }
}

pub enum Step<'n> {
    Access(&'n Access),
    /// A call, in the order of evaluation as far as statements have one.
    Call(&'n Call),
    /// A statement, behind its calls.
    Stmt(&'n Stmt),
    Return,
}

type Checked = Result<(), String>;

/// Visits the steps of a program with their states. Steps that no way leads to are left out; those of loops are visited
/// more than once.
pub struct Flow<'v, S> {
    visit: &'v mut dyn FnMut(Step, &mut S) -> Checked,
    /// States at the `break`s and `continue`s of the loops around, innermost last.
    exits: Vec<[Option<S>; 2]>,
}

impl<'v, S: State> Flow<'v, S> {
    pub fn new(visit: &'v mut dyn FnMut(Step, &mut S) -> Checked) -> Self {
        Flow { visit, exits: vec![] }
    }

    /// Without a state no way leads to the nodes, or behind them.
    pub fn nodes(&mut self, nodes: &[ThreadIr], state: &mut Option<S>) -> Checked {
        for n in nodes {
            let Some(here) = state else { return Ok(()) };
            match n {
                ThreadIr::Line(stmts) => self.stmts(stmts, here)?,
                ThreadIr::Access { stmts, access } => {
                    (self.visit)(Step::Access(access), here)?;
                    self.stmts(stmts, here)?;
                }
                ThreadIr::Scratch { .. } => {}
                ThreadIr::Barrier { .. } => here.barrier(),
                ThreadIr::If { then, other, .. } => {
                    let mut otherwise = state.clone();
                    self.nodes(then, state)?;
                    self.nodes(other, &mut otherwise)?;
                    join(state, otherwise.as_ref());
                }
                ThreadIr::Loop { body } => self.looped(body, state)?,
                ThreadIr::Block { body } => self.nodes(body, state)?,
                ThreadIr::Break | ThreadIr::Continue => {
                    let exits = self.exits.last_mut().expect("in a loop");
                    join(&mut exits[usize::from(matches!(n, ThreadIr::Continue))], state.as_ref());
                    *state = None;
                }
                ThreadIr::Return => {
                    (self.visit)(Step::Return, here)?;
                    *state = None;
                }
            }
        }
        Ok(())
    }

    fn stmts(&mut self, stmts: &[Stmt], state: &mut S) -> Checked {
        for s in stmts {
            let mut calls = vec![];
            s.walk(&mut |e| {
                if let Expr::Call(c) = e {
                    calls.push(c);
                }
            });
            for c in calls {
                if matches!(c.effect(), Effect::Barrier(counted) if meets(counted, c)) {
                    state.barrier();
                }
                (self.visit)(Step::Call(c), state)?;
            }
            (self.visit)(Step::Stmt(s), state)?;
        }
        Ok(())
    }

    /// Around again with what an iteration leaves behind, until that is nothing new.
    fn looped(&mut self, body: &[ThreadIr], state: &mut Option<S>) -> Checked {
        let mut entry = state.clone();
        loop {
            self.exits.push([None, None]);
            let mut at = entry.clone();
            self.nodes(body, &mut at)?;
            let [breaks, continues] = self.exits.pop().expect("pushed");
            join(&mut at, continues.as_ref());
            let mut again = entry.clone();
            join(&mut again, at.map(|s| s.from_earlier_iteration()).as_ref());
            if again == entry {
                *state = breaks;
                return Ok(());
            }
            entry = again;
        }
    }
}

fn join<S: State>(state: &mut Option<S>, other: Option<&S>) {
    match (state, other) {
        (_, None) => {}
        (Some(state), Some(other)) => state.join(other),
        (state, Some(other)) => *state = Some(other.clone()),
    }
}

/// Whether the threads that share scratch memory meet there: not at the barriers of single warpgroups.
fn meets(counted: Counted, c: &Call) -> bool {
    counted != Counted::Named || matches!(c.args[0], Expr::Literal(Literal::Int { .. }))
}
