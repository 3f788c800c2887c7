//! Removes the statements that no effect depends on, also assignments and loops, and numbers values and variables anew.

use crate::ir::walk::walk;
use crate::ir::{Combine, Func, Op, Stmt, StmtKind, Value, ValueInfo, Var};
use std::collections::HashMap;

/// Keeps the atomics, the stores, and all that they depend on.
pub fn run(f: &mut Func) {
    let body = std::mem::take(&mut f.body);
    let mut live = Live { f, values: vec![false; f.values.len()], vars: vec![false; f.vars.len()] };
    while live.block(&body).changed {}
    let Live { values, vars, .. } = live;
    f.body = swept(body, &values, &vars);
    renumber(f);
}

struct Live<'a> {
    f: &'a Func,
    values: Vec<bool>,
    vars: Vec<bool>,
}

/// The state of a block.
#[derive(Clone, Copy, Default)]
struct Found {
    /// It has a live statement.
    is_live: bool,
    /// More has been found to be live.
    changed: bool,
}

impl Live<'_> {
    /// Marks a value and all that it depends on. It says whether it was not known to be live.
    fn value(&mut self, v: Value) -> bool {
        if std::mem::replace(&mut self.values[v.0 as usize], true) {
            return false;
        }
        let f = self.f;
        if let Op::ReadVar(var) = f.op(v) {
            self.vars[var.0 as usize] = true;
        }
        for o in f.op(v).operands() {
            self.value(o);
        }
        true
    }

    fn block(&mut self, stmts: &[Stmt]) -> Found {
        let mut all = Found::default();
        for s in stmts {
            let is_live = match &s.kind {
                StmtKind::Let(v) => self.values[v.0 as usize] || self.f.op(*v).has_effect(),
                StmtKind::Assign(var, _) => self.vars[var.0 as usize],
                _ => {
                    let inner: Vec<Found> = s.blocks().into_iter().map(|b| self.block(b)).collect();
                    all.changed |= inner.iter().any(|i| i.changed);
                    s.blocks().is_empty() || inner.iter().any(|i| i.is_live)
                }
            };
            if !is_live {
                continue;
            }
            all.is_live = true;
            let needed = match s.kind {
                StmtKind::Let(v) => vec![v],
                _ => self.f.used_by(s),
            };
            for v in needed {
                all.changed |= self.value(v);
            }
        }
        all
    }
}

fn swept(stmts: Vec<Stmt>, values: &[bool], vars: &[bool]) -> Vec<Stmt> {
    let mut out = vec![];
    for mut s in stmts {
        for b in s.blocks_mut() {
            *b = swept(std::mem::take(b), values, vars);
        }
        let is_live = match &s.kind {
            StmtKind::Let(v) => values[v.0 as usize],
            StmtKind::Assign(var, _) => vars[var.0 as usize],
            _ => s.blocks().is_empty() || s.blocks().iter().any(|b| !b.is_empty()),
        };
        if is_live {
            out.push(s);
        }
    }
    out
}

/// Gives values and variables numbers in the order of their statements.
fn renumber(f: &mut Func) {
    let mut n = Numbers { values: HashMap::new(), vars: HashMap::new(), order: vec![], vars_in_order: vec![] };
    for s in walk(&f.body) {
        match &s.kind {
            StmtKind::Let(v) => {
                if let Op::ReadVar(var) = f.op(*v) {
                    n.var(*var);
                }
                if let Some((body, _)) = f.op(*v).closure() {
                    arguments(f.op(*v)).iter().chain(body).for_each(|&v| n.value(v));
                }
                n.value(*v);
            }
            StmtKind::Assign(var, _) => n.var(*var),
            StmtKind::For { iv, .. } => n.value(*iv),
            _ => {}
        }
    }
    let Numbers { values, vars, order, vars_in_order } = n;
    let renamed = |v: &Value| {
        let ValueInfo { ty, op, span } = f.values[v.0 as usize].clone();
        let mut op = op;
        op.operands_mut().into_iter().for_each(|o| *o = values[o]);
        if let Op::ReadVar(var) = &mut op {
            *var = vars[var];
        }
        in_closure(&mut op, |v| *v = values[v]);
        ValueInfo { ty, op, span }
    };
    let infos: Vec<ValueInfo> = order.iter().map(renamed).collect();
    f.vars = vars_in_order.iter().map(|v| f.vars[v.0 as usize].clone()).collect();
    f.values = infos;
    rename(&mut f.body, &values, &vars);
}

struct Numbers {
    values: HashMap<Value, Value>,
    vars: HashMap<Var, Var>,
    order: Vec<Value>,
    vars_in_order: Vec<Var>,
}

impl Numbers {
    fn value(&mut self, v: Value) {
        self.values.insert(v, Value(self.order.len() as u32));
        self.order.push(v);
    }

    fn var(&mut self, var: Var) {
        if !self.vars.contains_key(&var) {
            self.vars.insert(var, Var(self.vars_in_order.len() as u32));
            self.vars_in_order.push(var);
        }
    }
}

/// The arguments of an operation's closure.
fn arguments(op: &Op) -> Vec<Value> {
    match (op, op.combine()) {
        (Op::Asm { meaning, .. }, _) => meaning.params.clone(),
        (_, Some(Combine::Closure { a, b, .. })) => [&a[..], b].concat(),
        _ => vec![],
    }
}

/// The values of an operation's closure.
fn in_closure(op: &mut Op, mut change: impl FnMut(&mut Value)) {
    match op {
        Op::Asm { meaning, .. } => {
            meaning.params.iter_mut().chain(&mut meaning.body).chain([&mut meaning.result]).for_each(change);
        }
        Op::Reduce { combine: Combine::Closure { a, b, body, results }, .. }
        | Op::Scan { combine: Combine::Closure { a, b, body, results }, .. } => {
            [a, b, body, results].into_iter().flatten().for_each(&mut change);
        }
        _ => {}
    }
}

fn rename(stmts: &mut [Stmt], values: &HashMap<Value, Value>, vars: &HashMap<Var, Var>) {
    for s in stmts {
        s.uses_mut().into_iter().for_each(|v| *v = values[v]);
        match &mut s.kind {
            StmtKind::Let(v) | StmtKind::For { iv: v, .. } => *v = values[v],
            StmtKind::Assign(var, _) => *var = vars[var],
            _ => {}
        }
        s.blocks_mut().into_iter().for_each(|b| rename(b, values, vars));
    }
}
