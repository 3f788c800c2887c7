//! All threads that a barrier counts reach it.
//!
//! Control flow of the kernel depends on scalars, which all threads hold alike. What depends on the thread's number
//! parts the threads: roles are ranges of numbers, and all else is unknown, where no barrier may stand.

use crate::thread_ir::expr::{BinaryOp, Call, Expr, Literal, Stmt, Ty};
use crate::thread_ir::function::{Counted, Device, Effect, Function};
use crate::thread_ir::name::Name;
use crate::thread_ir::node::{Lowered, ThreadIr};
use crate::thread_ir::trace::is_marks;
use std::collections::HashSet;

/// Threads of a warpgroup.
const WARPGROUP: u32 = 128;

pub fn verify(lowered: &Lowered) -> Result<(), String> {
    let mut cx = Barriers { threads: lowered.threads, parted: HashSet::from([Name::Tid]), loops: vec![] };
    lowered.prologue.iter().for_each(|s| cx.note(s));
    cx.nodes(&lowered.body, Threads::Range(0, lowered.threads))
}

/// The threads that come by.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Threads {
    /// From the first to the last but one.
    Range(u32, u32),
    Some,
}

struct Barriers {
    threads: u32,
    /// Names whose value differs between threads.
    parted: HashSet<Name>,
    /// The threads that run the loops around.
    loops: Vec<Threads>,
}

type Checked = Result<(), String>;

impl Barriers {
    fn nodes(&mut self, nodes: &[ThreadIr], here: Threads) -> Checked {
        for (i, n) in nodes.iter().enumerate() {
            match n {
                ThreadIr::Line(stmts) | ThreadIr::Access { stmts, .. } => {
                    let next = nodes[i + 1..].iter().find(|n| !is_marks(n));
                    let ends = matches!(next, Some(ThreadIr::Return));
                    stmts.iter().try_for_each(|s| self.stmt(s, here, ends))?;
                }
                ThreadIr::Scratch { .. } => {}
                ThreadIr::Barrier { .. } => self.counted(Counted::Block, None, here, false)?,
                ThreadIr::If { cond, then, other } => {
                    let (then_here, other_here) = self.parts(cond, here);
                    self.nodes(then, then_here)?;
                    self.nodes(other, other_here)?;
                }
                ThreadIr::Loop { body } => {
                    self.loops.push(here);
                    self.nodes(body, here)?;
                    self.loops.pop();
                }
                ThreadIr::Block { body } => self.nodes(body, here)?,
                ThreadIr::Break | ThreadIr::Continue => {
                    if self.loops.last().is_some_and(|l| *l != here) {
                        return Err("some of the threads that run a loop leave it, or its iteration, alone".into());
                    }
                }
                ThreadIr::Return => {
                    if here == Threads::Some {
                        return Err("some threads leave the program alone".into());
                    }
                }
            }
        }
        Ok(())
    }

    fn stmt(&mut self, s: &Stmt, here: Threads, ends: bool) -> Checked {
        self.note(s);
        match s {
            Stmt::Expr(Expr::Call(call)) if let Effect::Barrier(counted) = effect(call) => {
                self.counted(counted, Some(call), here, ends)
            }
            Stmt::If { cond, then } => {
                let (here, _) = self.parts(cond, here);
                then.iter().try_for_each(|s| self.stmt(s, here, false))
            }
            Stmt::While { cond, body } => {
                let here = if self.is_parted(cond) { Threads::Some } else { here };
                body.iter().try_for_each(|s| self.stmt(s, here, false))
            }
            s => {
                let mut inner = false;
                s.walk(&mut |e| inner |= matches!(e, Expr::Call(c) if matches!(effect(c), Effect::Barrier(_))));
                if inner { Err(format!("a barrier is part of an expression: {s}")) } else { Ok(()) }
            }
        }
    }

    /// Whether all that a barrier counts are here. `ends`: the threads leave the program after it.
    fn counted(&self, counted: Counted, call: Option<&Call>, here: Threads, ends: bool) -> Checked {
        let all = Threads::Range(0, self.threads);
        let arg = |i: usize| call.and_then(|c| c.args.get(i)).and_then(literal);
        let (reached, wanted) = match counted {
            Counted::Block => (here == all, format!("all {} threads", self.threads)),
            // Each thread arrives once, on its way out.
            Counted::Cluster => (here == all || ends && here != Threads::Some, "all threads of a cluster".into()),
            Counted::Named => {
                let count = arg(1).ok_or("a barrier does not say how many threads it counts")?;
                let reached = match (here, arg(0)) {
                    (Threads::Some, _) => false,
                    (Threads::Range(lo, hi), Some(_)) => i128::from(hi - lo) == count,
                    // One for each warpgroup.
                    (Threads::Range(lo, hi), None) => {
                        count == i128::from(WARPGROUP) && lo % WARPGROUP == 0 && hi % WARPGROUP == 0
                    }
                };
                (reached, format!("{count} threads"))
            }
        };
        if reached { Ok(()) } else { Err(format!("a barrier counts {wanted}, but is reached by {here:?}")) }
    }

    /// The threads for which a condition holds, and the others.
    fn parts(&self, cond: &Expr, here: Threads) -> (Threads, Threads) {
        if !self.is_parted(cond) {
            return (here, here);
        }
        let Threads::Range(lo, hi) = here else { return (Threads::Some, Threads::Some) };
        match compared(cond) {
            Some((BinaryOp::Ge, n)) => {
                let n = n.clamp(lo, hi);
                (Threads::Range(n, hi), Threads::Range(lo, n))
            }
            Some((BinaryOp::Eq, n)) if lo <= n && n < hi => (Threads::Range(n, n + 1), Threads::Some),
            _ => (Threads::Some, Threads::Some),
        }
    }

    fn is_parted(&self, e: &Expr) -> bool {
        let mut found = false;
        e.walk(&mut |e| match e {
            Expr::Name(n) => found |= self.parted.contains(n),
            // Steps of the thread alone, whose result may differ.
            Expr::Call(c) => found |= !matches!(effect(c), Effect::None),
            _ => {}
        });
        found
    }

    /// The name that a statement defines, if it differs between threads. A scalar of the kernel does not, unless it is
    /// made of the thread's number itself: a reduced or loaded scalar is the same for all.
    fn note(&mut self, s: &Stmt) {
        let Stmt::Let { name, ty, value, .. } = s else { return };
        let scalar = matches!((name, ty), (Name::Value(_), Some(Ty::Scalar(_))));
        let parted = match value {
            Some(e) if scalar => {
                let mut of_thread = false;
                e.walk(&mut |e| of_thread |= matches!(e, Expr::Name(Name::Tid | Name::ThreadPart(_))));
                of_thread
            }
            Some(e) => matches!(name, Name::Temporary(_) | Name::Value(_) | Name::ThreadPart(_)) && self.is_parted(e),
            None => false,
        };
        if parted {
            self.parted.insert(*name);
        } else {
            self.parted.remove(name);
        }
    }
}

fn effect(c: &Call) -> Effect {
    c.effect()
}

/// The comparison of the thread's number with a constant that a condition is, behind what hides it from LLVM.
pub(super) fn compared(cond: &Expr) -> Option<(BinaryOp, u32)> {
    match cond {
        Expr::Call(Call { function: Function::Device(Device::Opaque), args, .. }) => compared(args.first()?),
        Expr::Group(e) => compared(e),
        Expr::Binary(op, tid, n) if matches!(**tid, Expr::Name(Name::Tid)) => {
            Some((*op, u32::try_from(literal(n)?).ok()?))
        }
        _ => None,
    }
}

fn literal(e: &Expr) -> Option<i128> {
    match e {
        Expr::Literal(Literal::Int { value, .. }) => Some(*value),
        _ => None,
    }
}
