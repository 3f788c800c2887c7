//! The forward values, computed again in the backward function.

use super::{Adjoint, Scope};
use crate::ir::walk::{assigned_vars, reads};
use crate::ir::{Address, Base, BlockPointer, Combine, Func, Number, Op, Stmt, StmtKind, Value, ValueInfo, Var};
use std::collections::{HashMap, HashSet};

impl<'a> Adjoint<'a> {
    /// Computes the values of a statement, without its effects.
    pub(super) fn compute(&mut self, s: &'a Stmt, scope: &mut Scope) {
        let f = self.f;
        match &s.kind {
            StmtKind::Let(v) => {
                self.span = f.span(*v);
                let computed = match f.op(*v) {
                    Op::Atomic { .. } => return,
                    Op::ReadVar(var) => self.read(scope.var(*var)),
                    op => {
                        let op = self.mapped(op, scope);
                        self.emit(op, f.ty(*v).clone())
                    }
                };
                scope.values.insert(*v, computed);
            }
            StmtKind::Assign(var, v) => self.assign(scope.var(*var), scope.value(*v)),
            StmtKind::If { cond, then, other } => {
                let cond = scope.value(*cond);
                let [then, other] = [then, other].map(|b| self.computed(b, true, scope));
                self.push_nested(StmtKind::If { cond, then, other });
            }
            StmtKind::For { iv, lo, hi, step, body, options } => {
                let counted = self.loop_var(*iv);
                scope.values.insert(*iv, counted);
                let body = self.computed(body, false, scope);
                let [lo, hi, step] = [lo, hi, step].map(|v| scope.value(*v));
                self.push_nested(StmtKind::For { iv: counted, lo, hi, step, body, options: *options });
            }
            _ => {}
        }
    }

    /// The statements that compute the values of a block.
    pub(super) fn computed(&mut self, stmts: &'a [Stmt], once: bool, scope: &mut Scope) -> Vec<Stmt> {
        let block = self.nested(once, |cx| {
            stmts.iter().for_each(|s| cx.compute(s, scope));
            Ok(())
        });
        block.unwrap_or_default()
    }

    /// A loop variable of the type of another.
    pub(super) fn loop_var(&mut self, iv: Value) -> Value {
        self.defined(Op::LoopVar, iv)
    }

    /// A value that no `Let` defines, of the type of a forward value.
    fn defined(&mut self, op: Op, like: Value) -> Value {
        let info = &self.f.values[like.0 as usize];
        self.g.values.push(ValueInfo { op, ty: info.ty.clone(), span: info.span });
        Value(self.g.values.len() as u32 - 1)
    }

    /// An operation on the values of the backward function.
    pub(super) fn mapped(&mut self, op: &Op, scope: &Scope) -> Op {
        let mut op = op.clone();
        op.operands_mut().into_iter().for_each(|v| *v = scope.value(*v));
        match &mut op {
            Op::Word { word } => *word = self.places.words[*word],
            Op::Load { ptr, block_pointer, .. } => {
                self.place(ptr);
                block_pointer.iter_mut().for_each(|b| self.extents(b));
            }
            Op::Reduce { combine: Combine::Closure { a, b, body, results }, .. }
            | Op::Scan { combine: Combine::Closure { a, b, body, results }, .. } => {
                let inner = self.closure(&[&a[..], &b[..]].concat(), body, scope);
                [a, b, body, results].into_iter().flatten().for_each(|v| *v = inner.value(*v));
            }
            Op::Asm { meaning, .. } => {
                let inner = self.closure(&meaning.params, &meaning.body, scope);
                meaning.params.iter_mut().chain(&mut meaning.body).for_each(|v| *v = inner.value(*v));
                meaning.result = inner.value(meaning.result);
            }
            _ => {}
        }
        op
    }

    /// The arguments and the values of a closure.
    fn closure(&mut self, args: &[Value], body: &[Value], scope: &Scope) -> Scope {
        let f = self.f;
        let mut inner = scope.clone();
        for &v in args {
            let arg = self.defined(Op::LoopVar, v);
            inner.values.insert(v, arg);
        }
        for &v in body {
            let op = self.mapped(f.op(v), &inner);
            let value = self.defined(op, v);
            inner.values.insert(v, value);
        }
        inner
    }

    /// The address in the parameter of the backward function.
    pub(super) fn place(&self, ptr: &mut Address) {
        match &mut ptr.base {
            Base::Slice(p) | Base::Raw(p) => *p = self.places.same[*p],
            Base::Shared(_) | Base::Pointer { .. } => {}
        }
    }

    /// The extents and strides in the words of the backward function.
    pub(super) fn extents(&self, b: &mut BlockPointer) {
        let number = |n: &mut Number| {
            n.words.iter_mut().for_each(|w| *w = self.places.words[*w]);
            n.words.sort_unstable();
        };
        b.dims.iter_mut().for_each(|d| [&mut d.extent, &mut d.stride].into_iter().for_each(number));
    }

    /// The contents, before a statement, of the variables that its blocks read first.
    pub(super) fn contents_before(&mut self, s: &Stmt, scope: &Scope) -> HashMap<Var, Value> {
        if s.blocks().is_empty() {
            return HashMap::new();
        }
        let mut vars: Vec<Var> = read_first(self.f, s).into_iter().collect();
        vars.sort_unstable();
        vars.into_iter().map(|var| (var, self.read(scope.var(var)))).collect()
    }

    /// The scope of a block that runs on variables of its own, which begin with these contents.
    pub(super) fn on_copies(&mut self, stmts: &[Stmt], before: &HashMap<Var, Value>, scope: &Scope) -> Scope {
        let mut inner = scope.clone();
        let mut vars: Vec<Var> = assigned_vars(stmts).chain(reads(self.f, stmts)).collect();
        vars.sort_unstable();
        vars.dedup();
        for var in vars {
            let info = self.f.vars[var.0 as usize].clone();
            let copy = self.new_var(&info.name, info.ty);
            inner.vars.insert(var, copy);
            if let Some(&content) = before.get(&var) {
                self.assign(copy, content);
            }
        }
        inner
    }
}

/// The variables that a statement may read before it assigns them.
fn read_first(f: &Func, s: &Stmt) -> HashSet<Var> {
    let (mut first, mut assigned) = (HashSet::new(), HashSet::new());
    reads_of(f, std::slice::from_ref(s), &mut assigned, &mut first);
    first
}

/// `assigned`: the variables that are assigned on every way to this place.
fn reads_of(f: &Func, stmts: &[Stmt], assigned: &mut HashSet<Var>, first: &mut HashSet<Var>) {
    for s in stmts {
        match &s.kind {
            StmtKind::Let(v) => {
                if let Op::ReadVar(var) = f.op(*v)
                    && !assigned.contains(var)
                {
                    first.insert(*var);
                }
            }
            StmtKind::Assign(var, _) => {
                assigned.insert(*var);
            }
            StmtKind::If { then, other, .. } => {
                let [mut a, mut b] = [assigned.clone(), assigned.clone()];
                reads_of(f, then, &mut a, first);
                reads_of(f, other, &mut b, first);
                assigned.extend(a.intersection(&b));
            }
            // It may not run at all.
            StmtKind::For { body, .. } | StmtKind::Loop { body } => reads_of(f, body, &mut assigned.clone(), first),
            _ => {}
        }
    }
}
