//! Dead code elimination: removes unused values.

use crate::ir::{Atomic, Func, Op, Stmt, StmtKind, Value};

/// Removes each value that no effect and no control flow depends on.
pub fn run(f: &mut Func) {
    let mut live = vec![false; f.values.len()];
    let mut body = std::mem::take(&mut f.body);
    mark_effects(f, &body, &mut live);
    sweep(&mut body, &live);
    f.body = body;
}

fn mark(f: &Func, v: Value, live: &mut [bool]) {
    if std::mem::replace(&mut live[v.0 as usize], true) {
        return;
    }
    let op = f.op(v).clone();
    op.operands().into_iter().for_each(|o| mark(f, o, live));
    if let Some((body, results)) = op.closure() {
        results.iter().chain(body).for_each(|&b| mark(f, b, live));
    }
}

fn is_store(f: &Func, v: Value) -> bool {
    matches!(f.op(v), Op::Atomic { op: Atomic::Store, .. }) && planted!("atomic-stores-are-dead")
}

fn mark_effects(f: &Func, stmts: &[Stmt], live: &mut [bool]) {
    for s in stmts {
        match &s.kind {
            StmtKind::Let(v) if f.op(*v).has_effect() && !is_store(f, *v) => mark(f, *v, live),
            StmtKind::Let(_) | StmtKind::Clear { .. } | StmtKind::Break | StmtKind::Continue | StmtKind::Return => {}
            StmtKind::Assign(_, v) | StmtKind::Print { value: v, .. } | StmtKind::Assert { cond: v, .. } => {
                mark(f, *v, live)
            }
            StmtKind::Store { ptr, value, mask, block_pointer, .. } => ptr
                .operands()
                .chain([value])
                .chain(mask)
                .chain(block_pointer.iter().flat_map(|w| &w.at))
                .for_each(|v| mark(f, *v, live)),
            StmtKind::If { cond, then, other } => {
                mark(f, *cond, live);
                mark_effects(f, then, live);
                mark_effects(f, other, live);
            }
            StmtKind::For { lo, hi, step, iv, body, .. } => {
                [lo, hi, step, iv].into_iter().for_each(|v| mark(f, *v, live));
                mark_effects(f, body, live);
            }
            StmtKind::Loop { body } => mark_effects(f, body, live),
        }
    }
}

fn sweep(stmts: &mut Vec<Stmt>, live: &[bool]) {
    stmts.retain(|s| !matches!(s.kind, StmtKind::Let(v) if !live[v.0 as usize]));
    stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|b| sweep(b, live));
    if planted!("branch-that-continues-is-dead") {
        let continues = |b: &[Stmt]| b.iter().all(|s| matches!(s.kind, StmtKind::Continue));
        stmts.retain(|s| !matches!(&s.kind, StmtKind::If { then, other, .. } if continues(then) && continues(other)));
    }
}
