//! Adjoints of branches and loops.

use super::refused::Refused;
use super::{Adjoint, Scope};
use crate::dtype::DType;
use crate::ir::walk::{assigned_vars, values, walk};
use crate::ir::{Binary, LoopOptions, Op, Stmt, StmtKind, Type, Value, Var};
use std::collections::{HashMap, HashSet};

impl<'a> Adjoint<'a> {
    /// The adjoint of a branch is a branch by the same condition.
    pub(super) fn branch(
        &mut self,
        s: &'a Stmt,
        cond: Value,
        blocks: [&'a Vec<Stmt>; 2],
        before: &HashMap<Var, Value>,
        scope: &Scope,
    ) -> Result<(), Refused> {
        let taken = self.take_outer(s);
        let mut of = |block: &'a Vec<Stmt>| {
            self.nested(true, |cx| {
                let mut inner = cx.on_copies(block, before, scope);
                cx.block(block, &mut inner)
            })
        };
        let (then, other) = (of(blocks[0])?, of(blocks[1])?);
        self.push_nested(StmtKind::If { cond: scope.value(cond), then, other });
        self.give_back(taken);
        Ok(())
    }

    /// The adjoint of a loop, from its last iteration to its first.
    pub(super) fn repeat(
        &mut self,
        s: &'a Stmt,
        iv: Value,
        range: [Value; 3],
        body: &'a [Stmt],
        before: &HashMap<Var, Value>,
        scope: &Scope,
    ) -> Result<(), Refused> {
        self.span = self.f.span(iv);
        let [lo, hi, step] = range.map(|v| scope.value(v));
        let taken = self.take_outer(s);
        let count = self.iterations([lo, hi, step]);
        let word = Type::scalar(DType::U64);
        let (first, one) = (self.emit(Op::Int(0), word.clone()), self.emit(Op::Int(1), word.clone()));
        let last = self.binary(Binary::Sub, count, one);
        let back = self.counter();
        let carried: HashSet<Var> = assigned_vars(body).filter(|var| before.contains_key(var)).collect();
        let block = self.nested(false, |cx| {
            cx.span = cx.f.span(iv);
            let from_the_last = !planted!("adjoint-of-a-loop-from-its-first");
            let nth = if from_the_last { cx.binary(Binary::Sub, last, back) } else { back };
            let far = cx.cast(step, DType::U64);
            let far = cx.binary(Binary::Mul, nth, far);
            let far = cx.cast(far, cx.dtype(lo));
            let at = cx.binary(Binary::Add, lo, far);
            let mut inner = cx.on_copies(body, before, scope);
            if !carried.is_empty() && !planted!("adjoint-without-earlier-iterations") {
                // The iterations before this one give the carried variables their contents.
                let counted = cx.loop_var(iv);
                inner.values.insert(iv, counted);
                let body = cx.computed(body, false, &mut inner);
                let options = LoopOptions::default();
                cx.push_nested(StmtKind::For { iv: counted, lo, hi: at, step, body, options });
            }
            inner.values.insert(iv, at);
            cx.block(body, &mut inner)
        })?;
        let options = LoopOptions::default();
        self.push_nested(StmtKind::For { iv: back, lo: first, hi: count, step: one, body: block, options });
        self.give_back(taken);
        Ok(())
    }

    /// A loop variable that counts the iterations.
    fn counter(&mut self) -> Value {
        let mut nowhere = vec![];
        self.g.push(Op::LoopVar, Type::scalar(DType::U64), self.span, &mut nowhere)
    }

    /// The number of iterations of a loop.
    fn iterations(&mut self, range: [Value; 3]) -> Value {
        let word = Type::scalar(DType::U64);
        if let [Op::Int(lo), Op::Int(hi), Op::Int(step)] = range.map(|v| self.g.op(v).clone()) {
            let count = if lo < hi { (hi - lo - 1) / step.max(1) + 1 } else { 0 };
            return self.emit(Op::Int(count), word);
        }
        let runs = self.binary(Binary::Lt, range[0], range[1]);
        let [lo, hi, step] = range.map(|v| self.cast(v, DType::U64));
        let one = self.emit(Op::Int(1), word.clone());
        let far = self.binary(Binary::Sub, hi, lo);
        let far = self.binary(Binary::Sub, far, one);
        let count = self.binary(Binary::Div, far, step);
        let count = self.binary(Binary::Add, count, one);
        let none = self.emit(Op::Int(0), word);
        self.select(runs, count, none)
    }

    /// Makes variables of the adjoints of values that a statement's blocks use and do not define.
    fn take_outer(&mut self, s: &Stmt) -> Vec<Value> {
        let f = self.f;
        let stmts = std::slice::from_ref(s);
        let inside: HashSet<Value> = values(stmts).collect();
        let mut used: Vec<Value> = walk(stmts).flat_map(|s| f.used_by(s)).collect();
        used.sort_unstable();
        used.dedup();
        used.retain(|v| {
            let is_outside = !inside.contains(v) && !self.outer.contains_key(v);
            is_outside && self.is_float(*v) && self.active.value(*v)
        });
        for &v in &used {
            let ty = f.ty(v).clone();
            let sum = match self.adjoints.remove(&v) {
                Some(sum) => sum,
                None => self.zero(&ty),
            };
            let var = self.new_var("adjoint", ty);
            self.assign(var, sum);
            self.outer.insert(v, var);
        }
        used
    }

    /// Behind the statement, the values have their adjoints again.
    fn give_back(&mut self, taken: Vec<Value>) {
        for v in taken {
            let Some(var) = self.outer.remove(&v) else { continue };
            let sum = self.read(var);
            self.adjoints.insert(v, sum);
        }
    }
}
