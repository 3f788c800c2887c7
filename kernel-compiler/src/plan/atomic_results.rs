//! Atomics: their order with other accesses of the program, and the places where all threads get a result that one
//! thread has.

use crate::ir::walk::{uses, walk};
use crate::ir::{Base, Func, Op, Stmt, StmtId, StmtKind, Value};
use std::collections::BTreeMap;
use std::fmt;

/// The plan of an atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AtomicPlan {
    /// Earlier accesses of all threads come before it.
    pub releases: bool,
    /// Later accesses of all threads come after it.
    pub acquires: bool,
    /// Of a scalar, which one thread executes for the program: where all threads get the result, if any of them needs
    /// it.
    pub result: Option<ResultAt>,
}

/// Where all threads get the result of a scalar atomic.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultAt {
    /// Behind the atomic.
    Once,
    /// Before the first statement that uses it. Until then no thread waits for memory.
    Use(StmtId),
}

/// The plans of the atomics of a function.
pub fn plan(f: &Func) -> BTreeMap<Value, AtomicPlan> {
    let (uses, mut out) = (uses(f), BTreeMap::new());
    block(f, &uses, &f.body, &mut out);
    out
}

fn block(f: &Func, uses: &[u32], stmts: &[Stmt], out: &mut BTreeMap<Value, AtomicPlan>) {
    for (i, s) in stmts.iter().enumerate() {
        s.blocks().into_iter().for_each(|inner| block(f, uses, inner, out));
        let StmtKind::Let(v) = s.kind else { continue };
        let Op::Atomic { op, ptr, relaxed, .. } = f.op(v) else { continue };
        // Barriers order the accesses of the program to its shared memory.
        let relaxed = *relaxed || matches!(ptr.base, Base::Shared(_)) || planted!("atomic-is-relaxed");
        let (releases, acquires) = (!relaxed && op.releases(), !relaxed && op.acquires());
        let takes = |s: &&Stmt| walk(std::slice::from_ref(*s)).any(|s| f.used_by(s).contains(&v));
        let result = match f.ty(v).is_scalar() {
            true if acquires => Some(ResultAt::Once),
            true if uses[v.0 as usize] > 0 => stmts[i + 1..].iter().find(takes).map(|s| ResultAt::Use(s.id)),
            _ => None,
        };
        out.insert(v, AtomicPlan { releases, acquires, result });
    }
}

impl fmt::Display for AtomicPlan {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(match (self.releases, self.acquires) {
            (true, true) => "atomic, releases and acquires",
            (true, false) => "atomic, releases",
            (false, true) => "atomic, acquires",
            (false, false) => "atomic, relaxed",
        })?;
        match self.result {
            Some(ResultAt::Once) => f.write_str(", all threads get its result at once"),
            Some(ResultAt::Use(s)) => write!(f, ", all threads get its result before {s:?}"),
            None => Ok(()),
        }
    }
}
