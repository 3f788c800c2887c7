//! Loops that one warp runs for the whole program, such as a search for a word that another program stores. If every
//! warp ran them, each warp would load the same words.

use crate::ir::walk::{reads, uses, walk};
use crate::ir::{Array, Base, Func, Op, Stmt, StmtId, StmtKind, Type, Value, Var, padded_elements};
use std::collections::{HashMap, HashSet};

/// The most elements of a tile in a loop of one warp.
const MAX_ELEMENTS: usize = 256;

/// The loops that one warp runs.
#[derive(Default)]
pub struct OneWarpLoops {
    /// The scalar variables that all threads get after each loop.
    pub results: HashMap<StmtId, Vec<Var>>,
    /// The tiles that these loops define, and the variables that they assign.
    pub values: HashSet<Value>,
    pub vars: HashSet<Var>,
}

impl OneWarpLoops {
    /// Some of the loops.
    pub fn only(&self, loops: &HashSet<StmtId>) -> OneWarpLoops {
        let results = self.results.iter().filter(|(s, _)| loops.contains(s)).map(|(s, vars)| (*s, vars.clone()));
        OneWarpLoops { results: results.collect(), values: self.values.clone(), vars: self.vars.clone() }
    }
}

pub fn loops(f: &Func) -> OneWarpLoops {
    let mut out = OneWarpLoops::default();
    if f.warps == 1 {
        return out;
    }
    let (by_atomics, uses) = (arrays_of_atomics(f), uses(f));
    for s in walk(&f.body).filter(|s| matches!(s.kind, StmtKind::Loop { .. } | StmtKind::For { .. })) {
        let Some(Work { values, vars, results }) = work(f, &by_atomics, &uses, s) else { continue };
        out.results.insert(s.id, results);
        out.values.extend(values);
        out.vars.extend(vars);
    }
    out
}

/// Arrays in global memory that only atomics reach: no barrier orders accesses to them.
fn arrays_of_atomics(f: &Func) -> HashSet<Array> {
    let (mut atomics, mut others) = (HashSet::new(), HashSet::new());
    for s in walk(&f.body) {
        match &s.kind {
            StmtKind::Let(v) => match f.op(*v) {
                Op::Atomic { ptr, .. } if !matches!(ptr.base, Base::Shared(_)) => _ = atomics.insert(ptr.array()),
                Op::Load { ptr, .. } => _ = others.insert(ptr.array()),
                _ => {}
            },
            StmtKind::Store { ptr, .. } => _ = others.insert(ptr.array()),
            _ => {}
        }
    }
    &atomics - &others
}

/// The effects of a loop.
struct Work {
    values: Vec<Value>,
    vars: Vec<Var>,
    results: Vec<Var>,
}

/// The effects of a loop that one warp can run: its tiles are small, it accesses memory by relaxed atomics alone, and
/// its results are scalars. A loop without an atomic that returns a value gains nothing.
fn work(f: &Func, by_atomics: &HashSet<Array>, uses: &[u32], s: &Stmt) -> Option<Work> {
    let body = std::slice::from_ref(s);
    let small = |ty: &Type| padded_elements(&ty.shape) <= MAX_ELEMENTS;
    let (mut asks, mut values, mut vars) = (false, vec![], vec![]);
    for inner in walk(body) {
        match &inner.kind {
            StmtKind::Let(v) => {
                match f.op(*v) {
                    Op::Atomic { ptr, relaxed: true, .. }
                        if by_atomics.contains(&ptr.array()) && !f.ty(*v).is_scalar() =>
                    {
                        asks |= uses[v.0 as usize] > 0
                    }
                    Op::Load { .. } | Op::Dot { .. } | Op::ClusterGather { .. } | Op::Cumcount { .. } => return None,
                    op if op.has_effect() => return None,
                    _ => {}
                }
                if !small(f.ty(*v)) {
                    return None;
                }
                values.extend((!f.ty(*v).is_scalar()).then_some(*v));
            }
            StmtKind::Assign(var, _) if !vars.contains(var) => vars.push(*var),
            StmtKind::Assign(..) | StmtKind::If { .. } | StmtKind::For { .. } | StmtKind::Loop { .. } => {}
            StmtKind::Break | StmtKind::Continue => {}
            StmtKind::Return if planted!("one-warp-loop-that-returns") => {}
            _ => return None,
        }
    }
    let mut outside: HashMap<Var, usize> = HashMap::new();
    reads(f, &f.body).for_each(|v| *outside.entry(v).or_default() += 1);
    reads(f, body).for_each(|v| *outside.get_mut(&v).expect("it is read in the function") -= 1);
    let least = usize::from(planted!("one-warp-result-that-is-read-once"));
    let results: Vec<Var> = vars.iter().copied().filter(|v| outside.get(v).is_some_and(|n| *n > least)).collect();
    let is_scalar = |v: &Var| f.vars[v.0 as usize].ty.is_scalar();
    let all_small = vars.iter().all(|v| small(&f.vars[v.0 as usize].ty));
    (asks && all_small && results.iter().all(is_scalar)).then_some(Work { values, vars, results })
}
