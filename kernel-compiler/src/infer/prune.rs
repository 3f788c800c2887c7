//! Drops values that nothing uses.

use crate::ir::*;

pub fn dead_values(f: &mut Func) {
    let mut live = vec![false; f.values.len()];
    let body = std::mem::take(&mut f.body);
    mark_effects(f, &body, &mut live);
    f.body = sweep(body, &live);
}

fn mark(f: &Func, v: Value, live: &mut [bool]) {
    if std::mem::replace(&mut live[v.0 as usize], true) {
        return;
    }
    let op = f.op(v).clone();
    op.operands().into_iter().for_each(|o| mark(f, o, live));
    if let Op::Reduce { combine: Combine::Closure { body, result, .. }, .. } = &op {
        mark(f, *result, live);
        body.iter().for_each(|b| mark(f, *b, live));
    }
}

fn mark_effects(f: &Func, stmts: &[Stmt], live: &mut [bool]) {
    for s in stmts {
        match s {
            Stmt::Let(v) if f.op(*v).has_effect() => mark(f, *v, live),
            Stmt::Let(_) | Stmt::Break | Stmt::Continue | Stmt::Return => {}
            Stmt::Assign(_, v) | Stmt::Print { value: v, .. } | Stmt::Assert { cond: v, .. } => mark(f, *v, live),
            Stmt::Store { place, value, mask, window, .. } => [Some(place.index()), Some(*value), *mask]
                .into_iter()
                .flatten()
                .chain(window.iter().flat_map(|w| w.at.iter().copied()))
                .for_each(|v| mark(f, v, live)),
            Stmt::If { cond, then, other } => {
                mark(f, *cond, live);
                mark_effects(f, then, live);
                mark_effects(f, other, live);
            }
            Stmt::For { lo, hi, step, iv, body, .. } => {
                [lo, hi, step, iv].into_iter().for_each(|v| mark(f, *v, live));
                mark_effects(f, body, live);
            }
            Stmt::Loop { body } => mark_effects(f, body, live),
        }
    }
}

fn sweep(stmts: Vec<Stmt>, live: &[bool]) -> Vec<Stmt> {
    stmts
        .into_iter()
        .filter_map(|s| match s {
            Stmt::Let(v) if !live[v.0 as usize] => None,
            Stmt::If { cond, then, other } => {
                Some(Stmt::If { cond, then: sweep(then, live), other: sweep(other, live) })
            }
            Stmt::For { iv, lo, hi, step, body, options } => {
                Some(Stmt::For { iv, lo, hi, step, body: sweep(body, live), options })
            }
            Stmt::Loop { body } => Some(Stmt::Loop { body: sweep(body, live) }),
            s => Some(s),
        })
        .collect()
}
