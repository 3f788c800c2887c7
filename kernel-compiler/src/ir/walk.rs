//! Walks over the statements of a function.

use super::{Array, Func, Op, Stmt, StmtKind, Value, Var};
use std::collections::HashSet;

/// The values assigned to a variable, anywhere.
pub(crate) fn assigned(body: &[Stmt], var: Var) -> Vec<Value> {
    walk(body)
        .filter_map(|s| if let StmtKind::Assign(to, v) = &s.kind { (*to == var).then_some(*v) } else { None })
        .collect()
}

/// The variables that statements assign, as often as they do.
pub(crate) fn assigned_vars(body: &[Stmt]) -> impl Iterator<Item = Var> {
    walk(body).filter_map(|s| if let StmtKind::Assign(var, _) = s.kind { Some(var) } else { None })
}

/// The values that statements compute, in order.
pub(crate) fn values(body: &[Stmt]) -> impl Iterator<Item = Value> {
    walk(body).filter_map(|s| if let StmtKind::Let(v) = &s.kind { Some(*v) } else { None })
}

/// The variables that are read, as often as they are.
pub(crate) fn reads<'a>(f: &'a Func, body: &'a [Stmt]) -> impl Iterator<Item = Var> + 'a {
    values(body).filter_map(move |v| if let Op::ReadVar(var) = f.op(v) { Some(*var) } else { None })
}

/// A value and the values that it is computed from, as far as `follow` holds.
pub(crate) fn made_of(f: &Func, v: Value, follow: impl Fn(Value) -> bool) -> HashSet<Value> {
    let (mut todo, mut seen) = (vec![v], HashSet::new());
    while let Some(v) = todo.pop() {
        if follow(v) && seen.insert(v) {
            todo.extend(f.op(v).operands());
        }
    }
    seen
}

/// The products of a function's statements, in order.
pub(crate) fn dots<'a>(f: &'a Func, body: &'a [Stmt]) -> impl Iterator<Item = Value> + 'a {
    values(body).filter(move |v| matches!(f.op(*v), Op::Dot { .. }))
}

/// The load of which a value has the elements, as they are or in another order.
pub(crate) fn loaded(f: &Func, v: Value) -> Option<Value> {
    match f.op(v) {
        Op::Load { .. } => Some(v),
        Op::Permute(x, _) | Op::Reshape(x) => loaded(f, *x),
        _ => None,
    }
}

/// Arrays that the function writes.
pub(crate) fn written(f: &Func) -> HashSet<Array> {
    written_in(f, &f.body)
}

/// Arrays that statements write.
pub(crate) fn written_in(f: &Func, body: &[Stmt]) -> HashSet<Array> {
    let of = |s: &Stmt| match &s.kind {
        StmtKind::Store { ptr, .. } => Some(ptr.array()),
        StmtKind::Clear { array, .. } => Some(Array::Shared(*array)),
        StmtKind::Let(v) => match f.op(*v) {
            Op::Atomic { ptr, .. } => Some(ptr.array()),
            _ => None,
        },
        _ => None,
    };
    walk(body).filter_map(of).collect()
}

/// Every statement, outer before inner.
pub fn walk(body: &[Stmt]) -> impl Iterator<Item = &Stmt> {
    let mut stack: Vec<&Stmt> = body.iter().rev().collect();
    std::iter::from_fn(move || {
        let s = stack.pop()?;
        match &s.kind {
            StmtKind::If { then, other, .. } => {
                stack.extend(then.iter().chain(other).collect::<Vec<_>>().into_iter().rev())
            }
            StmtKind::For { body, .. } | StmtKind::Loop { body } => stack.extend(body.iter().rev()),
            _ => {}
        }
        Some(s)
    })
}

/// How often each value is an operand or a statement's.
pub(crate) fn uses(f: &Func) -> Vec<u32> {
    let mut n = vec![0; f.values.len()];
    walk(&f.body).flat_map(|s| f.used_by(s)).for_each(|v| n[v.0 as usize] += 1);
    n
}

/// The value whose elements others only rename.
pub(crate) fn behind(f: &Func, v: Value) -> Value {
    if f.op(v).is_view() { behind(f, f.op(v).operands()[0]) } else { v }
}
