//! Loops that store to memory that they also load from by another parameter.

use crate::ir::walk::walk;
use crate::ir::{Func, Op, Stmt, StmtKind};
use crate::missed::Missed;

/// The stores in loops that load from an `alias` of the array.
pub fn missed(f: &Func) -> Vec<Missed> {
    let mut out = vec![];
    in_loops(f, &f.body, &[], &mut out);
    out
}

/// `loops` has the bodies of the loops around.
fn in_loops<'f>(f: &'f Func, stmts: &'f [Stmt], loops: &[&'f [Stmt]], out: &mut Vec<Missed>) {
    for s in stmts {
        if let StmtKind::Store { place, span, .. } = &s.kind {
            let (stored, memory) = (place.array(), f.memory(place.array()));
            let is_alias = |s: &Stmt| match s.kind {
                StmtKind::Let(v) => match f.op(v) {
                    Op::Load { place, .. } => place.array() != stored && f.memory(place.array()) == memory,
                    _ => false,
                },
                _ => false,
            };
            if loops.iter().any(|body| walk(body).any(is_alias)) {
                let why = "its loop also loads from an `alias` of the array, so that all threads meet in each \
                           iteration, also where a thread loads and stores the same element";
                out.push(Missed::new("stored without a barrier", why).at(*span));
            }
        }
        let inner: Vec<&[Stmt]> = match &s.kind {
            StmtKind::For { body, .. } | StmtKind::Loop { body } => loops.iter().copied().chain([&body[..]]).collect(),
            _ => loops.to_vec(),
        };
        s.blocks().into_iter().for_each(|block| in_loops(f, block, &inner, out));
    }
}
