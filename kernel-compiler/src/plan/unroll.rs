//! The forms of loops over a range.

use crate::ir::walk::walk;
use crate::ir::{Func, Op, Stmt, StmtId, StmtKind, Value};
use std::collections::HashMap;
use std::fmt;

/// The form of a loop. The producer of a warp-specialized program runs all loops one by one: its iterations are a few
/// scalars and copies, and gain nothing from unrolling.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unroll {
    /// One iteration after the other.
    OneByOne,
    /// All iterations one after the other, without a loop.
    Whole { iterations: usize },
    /// Rounds of so many iterations, then the `rest` one by one.
    Rounds { iterations: usize, rest: bool },
}

/// The forms of the loops of a function.
pub fn plan(f: &Func) -> HashMap<StmtId, Unroll> {
    walk(&f.body).filter_map(|s| Some((s.id, of_loop(f, s)?))).collect()
}

fn of_loop(f: &Func, s: &Stmt) -> Option<Unroll> {
    let StmtKind::For { lo, hi, step, options, .. } = &s.kind else { return None };
    let n = options.unroll.max(1) as usize;
    if n == 1 {
        return Some(Unroll::OneByOne);
    }
    Some(match trips(f, *lo, *hi, *step) {
        Some(trips) if trips <= n as i128 => Unroll::Whole { iterations: trips as usize },
        trips => Unroll::Rounds { iterations: n, rest: trips.is_none_or(|t| t % n as i128 != 0) },
    })
}

/// The number of iterations, where it is known.
fn trips(f: &Func, lo: Value, hi: Value, step: Value) -> Option<i128> {
    let (Op::Int(lo), Op::Int(hi), Op::Int(step), dtype) = (f.op(lo), f.op(hi), f.op(step), f.ty(lo).dtype) else {
        return None;
    };
    if lo >= hi {
        return Some(0);
    }
    let more = if planted!("unrolled-whole-without-a-short-step") { 0 } else { step - 1 };
    let n = (*step > 0).then(|| (hi - lo + more) / step)?;
    // If the last step wraps around, the loop goes on.
    dtype.holds(lo + n * step).then_some(n)
}

impl fmt::Display for Unroll {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Unroll::OneByOne => write!(f, "iterations one by one"),
            Unroll::Whole { iterations } => write!(f, "{iterations} iterations without a loop"),
            Unroll::Rounds { iterations, rest } => {
                write!(f, "rounds of {iterations} iterations{}", if *rest { ", and the rest one by one" } else { "" })
            }
        }
    }
}
