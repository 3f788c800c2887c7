//! Copy propagation: a read of a variable after its assignment becomes the assigned value. Assignments that are never
//! read are removed.
//!
//! `acc = dot(..); acc = dot(.., acc)` becomes one chain of products, without a variable between them.

use crate::ir::walk::{reads, walk};
use crate::ir::{Func, Op, Stmt, StmtKind, Value, Var};
use std::collections::{HashMap, HashSet};

/// Propagates copies, and removes the values and assignments that nothing reads.
pub fn run(f: &mut Func) {
    let mut body = std::mem::take(&mut f.body);
    let mut alias = HashMap::new();
    block(f, &mut body, &mut HashMap::new(), &mut alias);
    f.body = body;
    super::dce::run(f);
    let mut body = std::mem::take(&mut f.body);
    overwritten(f, &mut body);
    let read: HashSet<Var> = reads(f, &body).collect();
    unread(&mut body, &read);
    f.body = body;
}

/// Removes assignments to variables that are never read.
fn unread(stmts: &mut Vec<Stmt>, read: &HashSet<Var>) {
    stmts.retain(|s| !matches!(&s.kind, StmtKind::Assign(var, _) if !read.contains(var)));
    stmts.iter_mut().flat_map(Stmt::blocks_mut).for_each(|b| unread(b, read));
}

/// `known` has the values of variables at this place, `alias` the replacements of values.
fn block(f: &mut Func, stmts: &mut [Stmt], known: &mut HashMap<Var, Value>, alias: &mut HashMap<Value, Value>) {
    for s in stmts {
        s.uses_mut().into_iter().for_each(|v| *v = *alias.get(v).unwrap_or(v));
        match &mut s.kind {
            StmtKind::Let(v) => {
                let op = &mut f.values[v.0 as usize].op;
                op.operands_mut().into_iter().for_each(|o| *o = *alias.get(o).unwrap_or(o));
                if let Op::ReadVar(var) = op
                    && let Some(&value) = known.get(var)
                {
                    alias.insert(*v, value);
                }
            }
            StmtKind::Assign(var, v) => {
                known.insert(*var, *v);
            }
            StmtKind::If { then, other, .. } => {
                for branch in [&mut *then, &mut *other] {
                    block(f, branch, &mut known.clone(), alias);
                }
                if !planted!("copy-prop-keeps-after-branch") {
                    forget(then, known);
                }
                forget(other, known);
            }
            StmtKind::For { body, .. } | StmtKind::Loop { body } => {
                // An iteration begins with the assignments of the previous one.
                if !planted!("copy-prop-keeps-loop-carried") {
                    forget(body, known);
                }
                block(f, body, &mut known.clone(), alias);
            }
            _ => {}
        }
    }
}

fn forget(stmts: &[Stmt], known: &mut HashMap<Var, Value>) {
    for s in walk(stmts) {
        if let StmtKind::Assign(var, _) = &s.kind {
            known.remove(var);
        }
    }
}

/// Removes assignments that another assignment in the same block overwrites, with no read and no exit between them.
fn overwritten(f: &Func, stmts: &mut Vec<Stmt>) {
    let reads = |s: &Stmt, var: Var| reads(f, std::slice::from_ref(s)).any(|r| r == var);
    let leaves = |s: &Stmt| {
        walk(std::slice::from_ref(s))
            .any(|s| matches!(&s.kind, StmtKind::Break | StmtKind::Continue | StmtKind::Return))
    };
    // From the end, so that the reads for which an assignment is kept are known.
    for i in (0..stmts.len()).rev() {
        let StmtKind::Assign(var, _) = stmts[i].kind else {
            stmts[i].blocks_mut().into_iter().for_each(|b| overwritten(f, b));
            continue;
        };
        let next = stmts[i + 1..].iter().find(|s| {
            reads(s, var)
                || leaves(s) && !planted!("copy-prop-drops-before-break")
                || matches!(&s.kind, StmtKind::Assign(v, _) if *v == var)
        });
        if matches!(next.map(|s| &s.kind), Some(StmtKind::Assign(v, _)) if *v == var) {
            stmts.remove(i);
        }
    }
}
