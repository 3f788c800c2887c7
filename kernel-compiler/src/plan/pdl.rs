//! Programmatic dependent launch: how far a kernel goes before the launch in front of it has ended.

use crate::ir::walk::walk;
use crate::ir::{Func, Op, Stmt, StmtKind};

/// The first statement of the body that has to wait for the launch before: it reads what that may have written, writes
/// what it may read, or ends the program. A launch must not end before the one it follows, so somebody waits in any
/// case.
pub fn first_that_waits(f: &Func, pdl: &[usize]) -> usize {
    let goes_ahead = |s: &Stmt| match &s.kind {
        StmtKind::Let(v) => match f.op(*v) {
            Op::Load { place, .. } => place.param().is_some_and(|p| pdl.contains(&p)),
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
