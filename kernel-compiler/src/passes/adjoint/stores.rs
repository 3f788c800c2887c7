//! Stores to elements that another store of the program overwrites. The first one has no gradient then.

use super::refused::Refused;
use crate::ir::walk::walk;
use crate::ir::{Func, Op, Stmt, StmtKind, Value};
use std::collections::{HashMap, HashSet};

/// A store of floats: its parameter, and the first values that are equal to its index and its mask.
#[derive(Clone)]
struct Stored {
    param: usize,
    index: Value,
    mask: Option<Value>,
}

/// Refuses a second store to the same elements, where the code shows that they are the same.
pub fn check(f: &Func) -> Result<(), Refused> {
    let (mut summed, equal) = (HashSet::new(), equal(f));
    for s in walk(&f.body) {
        match &s.kind {
            StmtKind::Let(v) if let Op::Atomic { ptr, .. } = f.op(*v) => summed.extend(ptr.param()),
            StmtKind::For { iv, body, .. } => in_each_iteration(f, body, &varying(f, *iv, body))?,
            _ => {}
        }
    }
    stores(f, &f.body, &summed, &equal, &mut vec![])
}

/// `seen`: the stores before.
fn stores(
    f: &Func,
    stmts: &[Stmt],
    summed: &HashSet<usize>,
    equal: &HashMap<Value, Value>,
    seen: &mut Vec<Stored>,
) -> Result<(), Refused> {
    for s in stmts {
        if let StmtKind::If { then, other, .. } = &s.kind {
            // One of both runs.
            let mut branch = seen.clone();
            stores(f, then, summed, equal, &mut branch)?;
            stores(f, other, summed, equal, seen)?;
            seen.extend(branch);
            continue;
        }
        for b in s.blocks() {
            stores(f, b, summed, equal, seen)?;
        }
        let StmtKind::Store { ptr, mask, span, .. } = &s.kind else { continue };
        let Some(param) = ptr.param().filter(|&p| f.params[p].dtype.is_float()) else { continue };
        let name = &f.params[param].name;
        if summed.contains(&param) {
            let why = format!("`{name}` is stored to and added to: a kernel with an adjoint does one of both");
            return Err(Refused::new(*span, why));
        }
        let stored = Stored { param, index: equal[&ptr.index], mask: mask.map(|m| equal[&m]) };
        let is_same = |o: &Stored| {
            let masks = o.mask == stored.mask || o.mask.is_none() || stored.mask.is_none();
            o.param == param && o.index == stored.index && masks
        };
        if seen.iter().any(is_same) {
            return Err(Refused::new(*span, again(name)));
        }
        seen.push(stored);
    }
    Ok(())
}

fn again(name: &str) -> String {
    format!("elements of `{name}` are stored again: a kernel with an adjoint stores each element once")
}

/// The first value that is computed by the same operation of the same operands.
fn equal(f: &Func) -> HashMap<Value, Value> {
    let (mut equal, mut first) = (HashMap::new(), HashMap::new());
    for s in walk(&f.body) {
        let v = match s.kind {
            StmtKind::Let(v) => v,
            StmtKind::For { iv, .. } => {
                equal.insert(iv, iv);
                continue;
            }
            _ => continue,
        };
        let mut op = f.op(v).clone();
        let is_own = matches!(op, Op::ReadVar(_) | Op::Load { .. } | Op::Atomic { .. }) || op.closure().is_some();
        op.operands_mut().into_iter().for_each(|o| *o = *equal.get(o).unwrap_or(o));
        let is = if is_own { v } else { *first.entry(format!("{op:?} {}", f.ty(v))).or_insert(v) };
        equal.insert(v, is);
    }
    equal
}

/// Refuses stores of a loop to places that are the same in each iteration.
fn in_each_iteration(f: &Func, body: &[Stmt], varying: &HashSet<Value>) -> Result<(), Refused> {
    for s in body {
        match &s.kind {
            // It may store in one iteration alone.
            StmtKind::If { cond, .. } if varying.contains(cond) => {}
            StmtKind::Store { ptr, mask, span, .. } => {
                let Some(param) = ptr.param().filter(|&p| f.params[p].dtype.is_float()) else { continue };
                if !varying.contains(&ptr.index) && !mask.is_some_and(|m| varying.contains(&m)) {
                    return Err(Refused::new(*span, again(&f.params[param].name)));
                }
            }
            _ => s.blocks().into_iter().try_for_each(|b| in_each_iteration(f, b, varying))?,
        }
    }
    Ok(())
}

/// The values of a loop's body that may differ from iteration to iteration.
fn varying(f: &Func, iv: Value, body: &[Stmt]) -> HashSet<Value> {
    let (mut values, mut vars) = (HashSet::from([iv]), HashSet::new());
    loop {
        let before = (values.len(), vars.len());
        for s in walk(body) {
            match &s.kind {
                StmtKind::Let(v) => {
                    let read = matches!(f.op(*v), Op::ReadVar(var) if vars.contains(var));
                    if read || f.op(*v).operands().iter().any(|o| values.contains(o)) {
                        values.insert(*v);
                    }
                }
                // The content of a variable that the body assigns may be that of an earlier iteration.
                StmtKind::Assign(var, _) => {
                    vars.insert(*var);
                }
                StmtKind::For { iv, lo, hi, .. } if values.contains(lo) || values.contains(hi) => {
                    values.insert(*iv);
                }
                _ => {}
            }
        }
        if before == (values.len(), vars.len()) {
            return values;
        }
    }
}
