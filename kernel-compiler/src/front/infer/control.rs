//! Statements and control flow. Conditions and trip counts are uniform, so all threads take them together.

use crate::diag::{Code, Reported, Result, Span};
use crate::dtype::DType;
use crate::front::ast;
use crate::front::ast::{Block, Expr, ExprKind, Pattern, Said};
use crate::front::infer::{Binding, Infer, Val, Whole};
use crate::front::suggest;
use crate::ir::{Op, Stmt, StmtKind, Type, Value, Var};
use std::collections::HashMap;
use std::rc::Rc;

impl Infer<'_> {
    pub(super) fn block(&mut self, b: &Block) -> Result<Val> {
        self.scopes.push(HashMap::new());
        let v = self.block_inner(b);
        self.scopes.pop();
        v
    }

    fn block_inner(&mut self, b: &Block) -> Result<Val> {
        let mut failed = None;
        for s in &b.stmts {
            let r = match s {
                ast::Stmt::Let { pattern, ty, init, span } => self.let_stmt(pattern, ty, init.as_ref(), *span),
                ast::Stmt::Const { name, ty, value } => {
                    self.const_item(name, ty, value).inspect_err(|_| self.poison(&name.to_string()))
                }
                ast::Stmt::Expr(e) => self.expr(e).map(|_| ()),
                ast::Stmt::Watch { names, is_chosen, span } => self.watch(names, *is_chosen, *span),
            };
            if let Err(r) = r {
                failed = Some(r);
                if self.restart || is_static_assert(s) {
                    break;
                }
            }
            // Statements after a jump are not reached.
            if failed.is_none() && self.has_left() {
                return Ok(Val::Unit);
            }
        }
        match (failed, &b.value) {
            (None, Some(e)) => self.expr(e),
            (None, None) => Ok(Val::Unit),
            (Some(r), Some(e)) if !self.restart => self.expr(e).and(Err(r)),
            (Some(r), _) => Err(r),
        }
    }

    /// On a mistake the names of the pattern are poisoned.
    fn let_stmt(&mut self, pattern: &Pattern, ty: &Said, init: Option<&Expr>, span: Span) -> Result<()> {
        let bound = match init {
            Some(init) => self.expr(init).and_then(|v| self.as_said(v, ty, init.span)).and_then(|v| {
                match suggest::indices_of(pattern, init).filter(|_| matches!(v, Val::Run(_))) {
                    Some(cure) => self.error(Code::TypeMismatch, init.span, cure),
                    None => self.bind_pattern(pattern, v, init.span),
                }
            }),
            None => self.error(Code::NoValue, span, "a variable starts with a value: `let mut x = ..`"),
        };
        bound.inspect_err(|_| self.poison_pattern(pattern))
    }

    pub(super) fn poison_pattern(&mut self, p: &Pattern) {
        match p {
            Pattern::Name { name, .. } => self.poison(&name.to_string()),
            Pattern::Tuple(list) => list.iter().for_each(|p| self.poison_pattern(p)),
            Pattern::Struct { fields, .. } => fields.iter().for_each(|(_, p)| self.poison_pattern(p)),
            Pattern::Ignore => {}
        }
    }

    /// A value of the type that is said of it; literals take it.
    pub(super) fn as_said(&mut self, v: Val, said: &Said, span: Span) -> Result<Val> {
        match (said, v) {
            (Said::Nothing, v) => Ok(v),
            (Said::Tuple(ps), Val::Unit) if ps.is_empty() => Ok(Val::Unit),
            (Said::Tuple(ps), Val::Tuple(vs)) if vs.len() == ps.len() => {
                Ok(Val::Tuple(vs.into_iter().zip(ps).map(|(v, p)| self.as_said(v, p, span)).collect::<Result<_>>()?))
            }
            (Said::Tuple(ps), other) => {
                let found = self.describe(&other);
                self.error(Code::TypeMismatch, span, format!("expected a tuple of {}, found {found}", ps.len()))
            }
            (Said::Option(said), Val::Option(v)) => {
                let v = v.map(|v| self.as_said(*v, said, span)).transpose()?;
                Ok(Val::Option(v.map(Box::new)))
            }
            (Said::Option(_), other) => {
                let found = self.describe(&other);
                self.error(Code::TypeMismatch, span, format!("expected `Some(..)` or `None`, found {found}"))
            }
            (Said::Array(said), Val::Array(list)) => {
                let list = list.into_iter().map(|v| self.as_said(v, said, span));
                list.collect::<Result<_>>().map(Val::Array)
            }
            (Said::Array(_), other) => {
                let found = self.describe(&other);
                self.error(Code::TypeMismatch, span, format!("expected an array, found {found}"))
            }
            (Said::Elem(t), v) => {
                if let Some(is_one) = self.as_named(&v, &t.name, span) {
                    return is_one.map(|()| v);
                }
                let t = self.dtype(t)?;
                if let Some(v) = self.typed(&v, t, span)? {
                    return Ok(v);
                }
                Ok(match v {
                    // Memory and pointers go by their parameter.
                    Val::Param(_) | Val::Shared(_) | Val::View(_) | Val::Ptr(_) if self.elem_of(&v) == Some(t) => v,
                    Val::Bool(_) if t == DType::Bool => v,
                    v => Val::Run(self.run_as(v, t, span)?),
                })
            }
        }
    }

    pub(super) fn bind_pattern(&mut self, p: &Pattern, v: Val, span: Span) -> Result<()> {
        match p {
            Pattern::Ignore => Ok(()),
            Pattern::Tuple(ps) => match v {
                Val::Tuple(vs) if vs.len() == ps.len() => {
                    ps.iter().zip(vs).try_for_each(|(p, v)| self.bind_pattern(p, v, span))
                }
                other => {
                    let found = self.describe(&other);
                    self.error(Code::TypeMismatch, span, format!("expected a tuple of {}, found {found}", ps.len()))
                }
            },
            Pattern::Struct { name, fields, is_open } => self.bind_fields(name, fields, *is_open, v, span),
            Pattern::Name { name, mutable: false } => {
                if matches!(v, Val::Unit) {
                    return self.error(Code::NoValue, span, "this expression has no value: a block ends with its value, without `;`, and an `if` with a value has an `else`");
                }
                self.bind(&name.to_string(), Binding::Val(v));
                Ok(())
            }
            // An `impl FnMut` changes its captured variables, and memory is written through its parameter.
            Pattern::Name { name, mutable: true }
                if matches!(v, Val::Closure(_) | Val::Param(_) | Val::Shared(_) | Val::View(_)) =>
            {
                self.bind(&name.to_string(), Binding::Val(v));
                Ok(())
            }
            Pattern::Name { name, mutable: true } => {
                let b = self.cell(&name.to_string(), v, span)?;
                self.bind(&name.to_string(), b);
                Ok(())
            }
        }
    }

    /// A mutable variable with its first value.
    pub(super) fn cell(&mut self, name: &str, v: Val, span: Span) -> Result<Binding> {
        let v = match v {
            Val::Tuple(list) => return self.cells(name, Whole::Tuple, list, span),
            Val::Array(list) => return self.cells(name, Whole::Array, list, span),
            Val::Struct(of, list) => return self.cells(name, Whole::Struct(of), list, span),
            v => v,
        };
        if let Val::Ptr(p) = v {
            return self.pointer_cell(name, p, span);
        }
        let open = matches!(v, Val::Int(_, None) | Val::Float(_, None));
        self.literals += usize::from(open);
        let literal = self.literals;
        let v = match (open, self.literal_types.get(&literal)) {
            (true, Some(&t)) => self.constant(&v, t, span)?,
            _ => self.run(v, span)?,
        };
        let var = self.new_var(name, self.ty(v).clone());
        if open {
            self.open_vars.insert(var, literal);
        }
        self.emit(StmtKind::Assign(var, v));
        Ok(Binding::Var(var))
    }

    pub(super) fn assign(&mut self, to: &Expr, v: Val, span: Span) -> Result<Val> {
        // All values are there before the first is assigned.
        if let ExprKind::Tuple(places) = &to.kind {
            let Val::Tuple(values) = v else {
                return self.error(Code::TypeMismatch, span, "only a tuple can be assigned to a tuple");
            };
            if values.len() != places.len() {
                return self.error(
                    Code::TypeMismatch,
                    span,
                    format!("a tuple of {} values is assigned to a tuple of {} variables", values.len(), places.len()),
                );
            }
            for (to, v) in places.iter().zip(values) {
                self.assign(to, v, span)?;
            }
            return Ok(Val::Unit);
        }
        let (name, place) = match &to.kind {
            ExprKind::Name(name) => (name.clone(), self.lookup(name).cloned()),
            ExprKind::Field(..) | ExprKind::Member(..) | ExprKind::Index(..) => match self.part(to)? {
                Some((name, place)) => (name, Some(place)),
                None => return self.not_assigned(to),
            },
            _ => return self.error(Code::NotAssignable, to.span, ASSIGNED),
        };
        let name = &name;
        match (place, v) {
            (Some(Binding::Parts(whole, parts)), v) => self.assign_parts(name, &whole, parts, v, span),
            (place, v) => self.assign_one(to, name, place, v, span),
        }
    }

    /// Reports an assignment to a part of an expression that is no variable.
    fn not_assigned(&self, to: &Expr) -> Result<Val> {
        let mut whole = to;
        while let ExprKind::Field(of, _) | ExprKind::Member(of, _) | ExprKind::Index(of, _) = &whole.kind {
            whole = of;
        }
        match &whole.kind {
            ExprKind::Name(n) if matches!(self.lookup(n), Some(Binding::Val(_))) => {
                self.error(Code::NotMutable, whole.span, format!("`{n}` is not mutable: declare it with `let mut {n}`"))
            }
            _ => self.error(Code::NotAssignable, to.span, ASSIGNED),
        }
    }

    /// Assigns to a variable of one value.
    pub(super) fn assign_one(
        &mut self,
        to: &Expr,
        name: &str,
        place: Option<Binding>,
        v: Val,
        span: Span,
    ) -> Result<Val> {
        match (place, v) {
            (Some(Binding::Parts(..)), _) => unreachable!("its parts are assigned"),
            (Some(Binding::Var(var)), v) => {
                let ty = self.vars[var.0 as usize].ty.clone();
                if let (Val::Run(x), true) = (&v, self.open_vars.contains_key(&var))
                    && self.ty(*x).dtype != ty.dtype
                    && !self.literal_types.contains_key(&self.open_vars[&var])
                {
                    self.restart_with(self.open_vars[&var], self.ty(*x).dtype);
                    return Err(Reported);
                }
                let v = self.run_as(v, ty.dtype, span)?;
                let found = self.ty(v).clone();
                if ty.is_scalar() && !found.is_scalar() {
                    return self.error(Code::VariableType, span, format!("`{name}` is a scalar and cannot become a tile {found}: start it as a tile, `zeros::<{}>({:?})`", found.dtype.name(), found.shape));
                }
                let v = self.broadcast_to(v, &ty.shape, span, &format!("a value for `{name}`"))?;
                self.emit(StmtKind::Assign(var, v));
                Ok(Val::Unit)
            }
            (Some(Binding::PtrVar(var)), Val::Ptr(p)) => self.assign_pointer(name, var, p, span),
            (Some(Binding::PtrVar(..)), _) => self.error(
                Code::VariableType,
                span,
                format!("`{name}` is a pointer: only pointers are assigned to it, as in `{name} = {name}.add(n)`"),
            ),
            (Some(Binding::Val(_)), _) => self.error(
                Code::NotMutable,
                to.span,
                format!("`{name}` is not mutable: declare it with `let mut {name}`"),
            ),
            (Some(Binding::Poisoned), _) => Err(Reported),
            (None, _) => {
                self.poison(name);
                self.error(
                    Code::UnknownName,
                    to.span,
                    format!("unknown name `{name}`: a variable starts with `let mut {name} = ..`"),
                )
            }
        }
    }

    /// Runs `f` into a block of its own.
    pub(super) fn nested<T>(&mut self, f: impl FnOnce(&mut Self) -> Result<T>) -> (Vec<Stmt>, Result<T>) {
        self.blocks.push(vec![]);
        let r = f(self);
        (self.blocks.pop().expect("pushed"), r)
    }

    pub(super) fn if_else(&mut self, cond: &Expr, then: &Block, other: Option<&Expr>) -> Result<Val> {
        let c = self.expr(cond)?;
        if let Val::Bool(c) = c {
            // Decided at compile time: the other branch is not looked at.
            return match (c, other) {
                (true, _) => self.block(then),
                (false, Some(e)) => self.expr(e),
                (false, None) => Ok(Val::Unit),
            };
        }
        let c = self.condition(c, cond.span)?;
        let other = |cx: &mut Self| match other {
            Some(e) => cx.expr(e),
            None => Ok(Val::Unit),
        };
        self.choose(c, |cx| cx.block(then), other, then.span, cond.span)
    }

    /// One of two values, by a condition that is known when the kernel runs.
    pub(super) fn choose(
        &mut self,
        cond: Value,
        then: impl FnOnce(&mut Self) -> Result<Val>,
        other: impl FnOnce(&mut Self) -> Result<Val>,
        then_span: Span,
        span: Span,
    ) -> Result<Val> {
        let (mut then_stmts, a) = self.nested(then);
        let (mut other_stmts, b) = self.nested(other);
        let (a, b) = (a?, b?);
        // The value of the branch that goes on, whose statements follow.
        match (&a, &b) {
            (Val::Unit, v) if !matches!(v, Val::Unit) && leaves(&then_stmts) => {
                self.emit(StmtKind::If { cond, then: then_stmts, other: vec![] });
                self.blocks.last_mut().expect("a block").extend(other_stmts);
                return Ok(b);
            }
            (v, Val::Unit) if !matches!(v, Val::Unit) && leaves(&other_stmts) => {
                self.emit(StmtKind::If { cond, then: vec![], other: other_stmts });
                self.blocks.last_mut().expect("a block").extend(then_stmts);
                return Ok(a);
            }
            _ => {}
        }
        let out = self.merge(a, b, &mut then_stmts, &mut other_stmts, then_span, span)?;
        self.emit(StmtKind::If { cond, then: then_stmts, other: other_stmts });
        self.read_merged(out, span)
    }

    /// Cells for the values of two branches.
    fn merge(
        &mut self,
        a: Val,
        b: Val,
        then: &mut Vec<Stmt>,
        other: &mut Vec<Stmt>,
        sa: Span,
        span: Span,
    ) -> Result<Merged> {
        match (a, b) {
            (Val::Unit, _) | (_, Val::Unit) => Ok(Merged::Unit),
            (Val::Tuple(x), Val::Tuple(y)) if x.len() == y.len() => {
                self.merge_all(Whole::Tuple, x, y, then, other, sa, span)
            }
            (Val::Array(x), Val::Array(y)) if x.len() == y.len() => {
                self.merge_all(Whole::Array, x, y, then, other, sa, span)
            }
            (Val::Struct(of, x), Val::Struct(other_of, y)) if Rc::ptr_eq(&of, &other_of) => {
                self.merge_all(Whole::Struct(of), x, y, then, other, sa, span)
            }
            (Val::Option(None), Val::Option(None)) => Ok(Merged::None),
            (Val::Option(Some(x)), Val::Option(Some(y))) => {
                self.merge(*x, *y, then, other, sa, span).map(|m| Merged::Some(Box::new(m)))
            }
            (a, b) => {
                // Literals of the branches are made inside the branches; two of them take the type that is asked of the
                // choice.
                let open = [&a, &b].iter().all(|v| matches!(v, Val::Int(_, None) | Val::Float(_, None)));
                self.literals += usize::from(open);
                let literal = self.literals;
                let dtype = match (&a, &b) {
                    _ if open && self.literal_types.contains_key(&literal) => self.literal_types[&literal],
                    (Val::Run(v), _) | (_, Val::Run(v)) => self.ty(*v).dtype,
                    (Val::Int(_, Some(t)) | Val::Float(_, Some(t)), _)
                    | (_, Val::Int(_, Some(t)) | Val::Float(_, Some(t))) => *t,
                    (Val::Bool(_), _) => DType::Bool,
                    (Val::Float(..), _) | (_, Val::Float(..)) => DType::F32,
                    _ => DType::I32,
                };
                let (extra, x) = self.nested(|cx| cx.run_as(a, dtype, sa));
                then.extend(extra);
                let (extra, y) = self.nested(|cx| cx.run_as(b, dtype, span));
                other.extend(extra);
                let (x, y) = (x?, y?);
                let (tx, ty) = (self.ty(x).clone(), self.ty(y).clone());
                let shape = self.common_shape(&tx.shape, &ty.shape, span)?;
                let (extra, x) = self.nested(|cx| Ok(cx.broadcast(x, &shape, sa)));
                then.extend(extra);
                let (extra, y) = self.nested(|cx| Ok(cx.broadcast(y, &shape, span)));
                other.extend(extra);
                let var = self.new_var("choice", Type { dtype, shape });
                if open {
                    self.open_vars.insert(var, literal);
                }
                let (x, y) = (x?, y?);
                self.choices.insert(var, [x, y]);
                then.push(StmtKind::Assign(var, x).into());
                other.push(StmtKind::Assign(var, y).into());
                Ok(Merged::Var(var))
            }
        }
    }

    /// The same of the parts of two values.
    fn merge_all(
        &mut self,
        whole: Whole,
        a: Vec<Val>,
        b: Vec<Val>,
        then: &mut Vec<Stmt>,
        other: &mut Vec<Stmt>,
        sa: Span,
        span: Span,
    ) -> Result<Merged> {
        let parts = a.into_iter().zip(b).map(|(x, y)| self.merge(x, y, then, other, sa, span));
        Ok(Merged::Parts(whole, parts.collect::<Result<_>>()?))
    }

    fn read_merged(&mut self, m: Merged, span: Span) -> Result<Val> {
        Ok(match m {
            Merged::Unit => Val::Unit,
            Merged::Var(v) => {
                let ty = self.vars[v.0 as usize].ty.clone();
                Val::Run(self.push(Op::ReadVar(v), ty, span))
            }
            Merged::Parts(whole, list) => {
                whole.of(list.into_iter().map(|m| self.read_merged(m, span)).collect::<Result<_>>()?)
            }
            Merged::None => Val::Option(None),
            Merged::Some(of) => Val::Option(Some(Box::new(self.read_merged(*of, span)?))),
        })
    }
}

const ASSIGNED: &str = "variables are assigned, their fields and elements, and tuples of variables: `store(y, i, v)` writes \
     memory";

/// Whether every way through statements leaves them.
fn leaves(stmts: &[Stmt]) -> bool {
    match stmts.last().map(|s| &s.kind) {
        Some(StmtKind::Break | StmtKind::Continue | StmtKind::Return) => true,
        Some(StmtKind::If { then, other, .. }) => leaves(then) && leaves(other),
        _ => false,
    }
}

/// Later statements may count on a static assertion.
fn is_static_assert(s: &ast::Stmt) -> bool {
    matches!(s, ast::Stmt::Expr(Expr { kind: ExprKind::Call { name, .. }, .. }) if name == "static_assert")
}

enum Merged {
    Unit,
    Var(Var),
    Parts(Whole, Vec<Merged>),
    None,
    Some(Box<Merged>),
}
