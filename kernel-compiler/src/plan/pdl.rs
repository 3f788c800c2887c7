//! Programmatic dependent launch: the place in a kernel where it waits for the end of the previous launch.

use crate::ir::walk::walk;
use crate::ir::{Func, Op, Stmt, StmtKind};

/// The statement of the body before which a kernel waits for the end of the previous launch, if it begins earlier. Not
/// every role of a warp-specialized program runs every statement, so each role waits at its beginning.
pub fn wait(f: &Func, is_specialized: bool) -> Option<usize> {
    f.pdl.as_ref().map(|pdl| if is_specialized { 0 } else { first_that_waits(f, pdl) })
}

/// The first statement of the body that must wait for the previous launch: it reads memory that the launch may have
/// written, writes memory that the launch may read, or ends the program. A launch must not end before the previous one,
/// so every program waits.
pub fn first_that_waits(f: &Func, pdl: &[usize]) -> usize {
    let goes_ahead = |s: &Stmt| match &s.kind {
        StmtKind::Let(v) => match f.op(*v) {
            Op::Load { ptr, .. } => ptr.param().is_some_and(|p| pdl.contains(&p)),
            op => !op.has_effect(),
        },
        StmtKind::Store { .. } | StmtKind::Return | StmtKind::Assert { .. } | StmtKind::Print { .. } => false,
        _ => true,
    };
    f.body
        .iter()
        .position(|s| !walk(std::slice::from_ref(s)).all(goes_ahead))
        .map_or(f.body.len(), |i| i + usize::from(planted!("pdl-waits-one-statement-late")))
}
