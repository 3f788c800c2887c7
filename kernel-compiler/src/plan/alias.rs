//! Loops that store to memory that they also load from by another parameter.

use crate::ir::walk::values;
use crate::ir::{Func, Op, Stmt, StmtKind, Value};
use crate::missed::Missed;

/// The stores in loops that load from an `alias` of the array.
pub fn missed(f: &Func) -> Vec<Missed> {
    let mut out = vec![];
    in_loop(f, &f.body, None, &mut out);
    out
}

/// `outermost` is the body of the outermost loop around.
fn in_loop<'f>(f: &'f Func, stmts: &'f [Stmt], outermost: Option<&'f [Stmt]>, out: &mut Vec<Missed>) {
    for s in stmts {
        if let (StmtKind::Store { ptr, span, .. }, Some(body)) = (&s.kind, outermost) {
            let (stored, memory) = (ptr.array(), f.memory(ptr.array()));
            let is_alias = |v: Value| match f.op(v) {
                Op::Load { ptr, .. } => ptr.array() != stored && f.memory(ptr.array()) == memory,
                _ => false,
            };
            if values(body).any(is_alias) {
                let why = why!(
                    "its loop also loads from an `alias` of the array, so that all threads meet in each iteration, \
                     also where a thread loads and stores the same element: load before the loop, where the tiles fit"
                );
                out.push(Missed::new("stored without a barrier", why).at(*span));
            }
        }
        let inner = match &s.kind {
            StmtKind::For { body, .. } | StmtKind::Loop { body } => outermost.or(Some(body)),
            _ => outermost,
        };
        s.blocks().into_iter().for_each(|block| in_loop(f, block, inner, out));
    }
}
