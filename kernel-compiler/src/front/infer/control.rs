//! Statements and control flow. Conditions and trip counts are uniform, so all threads take them together.

use crate::diag::{Reported, Result, Span};
use crate::dtype::{DType, in_message};
use crate::front::ast;
use crate::front::ast::{Block, Expr, ExprKind, Pattern, Said};
use crate::front::infer::{Binding, Infer, Range, Val};
use crate::ir::{Op, Stmt, StmtKind, Type, Var};
use std::collections::HashMap;

/// Iterations that `static_range` may unroll.
pub(super) const MAX_UNROLL: i128 = 1024;

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
            };
            if let Err(r) = r {
                failed = Some(r);
                if self.restart || is_static_assert(s) {
                    break;
                }
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
            Some(init) => self
                .expr(init)
                .and_then(|v| self.as_said(v, ty, init.span))
                .and_then(|v| self.bind_pattern(pattern, v, init.span)),
            None => self.error(span, "a variable starts with a value: `let mut x = ..`"),
        };
        bound.inspect_err(|_| self.poison_pattern(pattern))
    }

    fn poison_pattern(&mut self, p: &Pattern) {
        match p {
            Pattern::Name { name, .. } => self.poison(&name.to_string()),
            Pattern::Tuple(list) => list.iter().for_each(|p| self.poison_pattern(p)),
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
                self.error(span, format!("expected a tuple of {}, found {found}", ps.len()))
            }
            (Said::Option(said), Val::Option(v)) => {
                let v = v.map(|v| self.as_said(*v, said, span)).transpose()?;
                Ok(Val::Option(v.map(Box::new)))
            }
            (Said::Option(_), other) => {
                let found = self.describe(&other);
                self.error(span, format!("expected `Some(..)` or `None`, found {found}"))
            }
            (Said::Elem(t), v) => {
                if let Some(is_one) = self.as_enum(&v, &t.name, span) {
                    return is_one.map(|()| v);
                }
                let t = self.dtype(t)?;
                if let Some(v) = self.typed(&v, t, span)? {
                    return Ok(v);
                }
                Ok(match v {
                    // Memory and pointers go by their parameter.
                    Val::Param(_) | Val::Ptr(..) if self.elem_of(&v) == Some(t) => v,
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
                    self.error(span, format!("expected a tuple of {}, found {found}", ps.len()))
                }
            },
            Pattern::Name { name, mutable: false } => {
                if matches!(v, Val::Unit) {
                    return self.error(span, "this expression has no value: a block ends with its value, without `;`, and an `if` with a value has an `else`");
                }
                self.bind(&name.to_string(), Binding::Val(v));
                Ok(())
            }
            // An `impl FnMut` changes what it captures, and memory is written through its parameter.
            Pattern::Name { name, mutable: true } if matches!(v, Val::Closure(_) | Val::Param(_)) => {
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
    fn cell(&mut self, name: &str, v: Val, span: Span) -> Result<Binding> {
        if let Val::Ptr(p, offset) = v {
            let offset = match offset {
                Some(o) => o,
                None => self.constant(&Val::Int(0, None), DType::U64, span)?,
            };
            let var = self.new_var(name, self.ty(offset).clone());
            self.emit(StmtKind::Assign(var, offset));
            return Ok(Binding::PtrVar(p, var));
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
            let Val::Tuple(values) = v else { return self.error(span, "only a tuple can be assigned to a tuple") };
            if values.len() != places.len() {
                return self.error(
                    span,
                    format!("a tuple of {} values is assigned to a tuple of {} variables", values.len(), places.len()),
                );
            }
            for (to, v) in places.iter().zip(values) {
                self.assign(to, v, span)?;
            }
            return Ok(Val::Unit);
        }
        let ExprKind::Name(name) = &to.kind else {
            return self
                .error(to.span, "only variables and tuples of variables are assigned: `store(y, i, v)` writes memory");
        };
        match (self.lookup(name).cloned(), v) {
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
                    return self.error(span, format!("`{name}` is a scalar and cannot become a tile {found}: start it as a tile, `zeros::<{}>({:?})`", found.dtype.name(), found.shape));
                }
                let v = self.broadcast_to(v, &ty.shape, span, &format!("a value for `{name}`"))?;
                self.emit(StmtKind::Assign(var, v));
                Ok(Val::Unit)
            }
            (Some(Binding::PtrVar(p, var)), Val::Ptr(q, offset)) => {
                if p != q {
                    return self.error(
                        span,
                        format!(
                            "`{name}` is a pointer into `{}`: no pointer into another array is assigned to it",
                            self.params[p].name
                        ),
                    );
                }
                let offset = match offset {
                    Some(o) => o,
                    None => self.constant(&Val::Int(0, None), DType::U64, span)?,
                };
                let ty = self.vars[var.0 as usize].ty.clone();
                let offset = self.broadcast_to(offset, &ty.shape, span, "an offset")?;
                self.emit(StmtKind::Assign(var, offset));
                Ok(Val::Unit)
            }
            (Some(Binding::PtrVar(..)), _) => self.error(
                span,
                format!("`{name}` is a pointer: only pointers are assigned to it, as in `{name} = {name}.add(n)`"),
            ),
            (Some(Binding::Val(_)), _) => {
                self.error(to.span, format!("`{name}` is not mutable: declare it with `let mut {name}`"))
            }
            (Some(Binding::Poisoned), _) => Err(Reported),
            (None, _) => {
                self.poison(name);
                self.error(to.span, format!("unknown name `{name}`: a variable starts with `let mut {name} = ..`"))
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
        let (mut then_stmts, a) = self.nested(|cx| cx.block(then));
        let (mut other_stmts, b) = self.nested(|cx| match other {
            Some(e) => cx.expr(e),
            None => Ok(Val::Unit),
        });
        let (a, b) = (a?, b?);
        let out = self.merge(a, b, &mut then_stmts, &mut other_stmts, then.span, cond.span)?;
        self.emit(StmtKind::If { cond: c, then: then_stmts, other: other_stmts });
        self.read_merged(out, cond.span)
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
                let list = x
                    .into_iter()
                    .zip(y)
                    .map(|(x, y)| self.merge(x, y, then, other, sa, span))
                    .collect::<Result<_>>()?;
                Ok(Merged::Tuple(list))
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
                self.choices.insert(var);
                if open {
                    self.open_vars.insert(var, literal);
                }
                then.push(StmtKind::Assign(var, x?).into());
                other.push(StmtKind::Assign(var, y?).into());
                Ok(Merged::Var(var))
            }
        }
    }

    fn read_merged(&mut self, m: Merged, span: Span) -> Result<Val> {
        Ok(match m {
            Merged::Unit => Val::Unit,
            Merged::Var(v) => {
                let ty = self.vars[v.0 as usize].ty.clone();
                Val::Run(self.push(Op::ReadVar(v), ty, span))
            }
            Merged::Tuple(list) => {
                Val::Tuple(list.into_iter().map(|m| self.read_merged(m, span)).collect::<Result<_>>()?)
            }
        })
    }

    pub(super) fn for_loop(&mut self, pattern: &Pattern, over: &Expr, body: &Block) -> Result<Val> {
        let r = match self.expr(over) {
            Ok(Val::Range(r)) => r,
            Ok(_) => {
                let why = "a loop runs over `a..b`, `(a..b).step_by(s)`, `range(a, b, s)` or `static_range(a..b)`";
                let _ = self.d.error(over.span, why);
                return self.body_of_no_range(pattern, body);
            }
            Err(_) => return self.body_of_no_range(pattern, body),
        };
        if r.unrolled {
            return self.unrolled(pattern, &r, over.span, body);
        }
        let span = over.span;
        let dtype = [&r.lo, &r.hi, &r.step].into_iter().find_map(|v| match v {
            Val::Run(v) => Some(self.ty(*v).dtype),
            Val::Int(_, t) => *t,
            _ => None,
        });
        let dtype = dtype.unwrap_or(DType::U64);
        if !dtype.is_int() {
            return self.error(span, format!("a range is of integers, found {}", in_message(dtype)));
        }
        if let Val::Int(step, _) = r.step
            && step < 1
        {
            return self.error(span, format!("a step is at least 1, found {step}"));
        }
        let lo = self.run_as(r.lo.clone(), dtype, span)?;
        let hi = self.run_as(r.hi.clone(), dtype, span)?;
        let step = self.run_as(r.step.clone(), dtype, span)?;
        for v in [lo, hi, step] {
            if !self.ty(v).is_scalar() {
                let ty = self.ty(v).clone();
                return self.error(span, format!("a range is of scalars, found a tile {ty}"));
            }
        }
        let iv = self.define(Op::LoopVar, Type::scalar(dtype), span);
        self.loops += 1;
        let (stmts, done) = self.nested(|cx| {
            cx.scopes.push(HashMap::new());
            let r = cx.bind_pattern(pattern, Val::Run(iv), span).and_then(|_| cx.block(body));
            cx.scopes.pop();
            r
        });
        self.loops -= 1;
        done?;
        self.emit(StmtKind::For { iv, lo, hi, step, body: stmts, options: r.options });
        Ok(Val::Unit)
    }

    /// The body of a loop whose range has a mistake is looked at for its own.
    fn body_of_no_range(&mut self, pattern: &Pattern, body: &Block) -> Result<Val> {
        if !self.restart {
            self.loops += 1;
            self.scopes.push(HashMap::new());
            self.poison_pattern(pattern);
            let (_, found) = self.nested(|cx| cx.block(body));
            drop(found);
            self.scopes.pop();
            self.loops -= 1;
        }
        Err(Reported)
    }

    fn unrolled(&mut self, pattern: &Pattern, r: &Range, span: Span, body: &Block) -> Result<Val> {
        let lo = self.const_int(&r.lo, span, "a bound of static_range")?;
        let hi = self.const_int(&r.hi, span, "a bound of static_range")?;
        let step = self.const_int(&r.step, span, "the step of static_range")?;
        if step < 1 {
            return self.error(span, "a step is at least 1");
        }
        if (hi - lo) / step > MAX_UNROLL {
            return self
                .error(span, format!("static_range unrolls {} iterations: at most {MAX_UNROLL}", (hi - lo) / step));
        }
        // `break` would have to leave code that is already laid out in a row.
        let loops = std::mem::take(&mut self.loops);
        let mut i = lo;
        let mut result = Ok(Val::Unit);
        while i < hi && result.is_ok() {
            self.scopes.push(HashMap::new());
            result = self.bind_pattern(pattern, Val::Int(i, Some(DType::U64)), span).and_then(|_| self.block(body));
            self.scopes.pop();
            i += step;
        }
        self.loops = loops;
        result.map(|_| Val::Unit)
    }

    pub(super) fn while_loop(&mut self, cond: Option<&Expr>, body: &Block) -> Result<Val> {
        self.loops += 1;
        let (stmts, r) = self.nested(|cx| {
            if let Some(cond) = cond {
                match cx.expr(cond)? {
                    Val::Bool(true) => {}
                    c => {
                        let c = cx.condition(c, cond.span)?;
                        cx.emit(StmtKind::If { cond: c, then: vec![], other: vec![StmtKind::Break.into()] });
                    }
                }
            }
            cx.block(body)
        });
        self.loops -= 1;
        r?;
        self.emit(StmtKind::Loop { body: stmts });
        Ok(Val::Unit)
    }

    pub(super) fn jump(&mut self, s: StmtKind, span: Span) -> Result<Val> {
        if self.loops == 0 {
            return self
                .error(span, "`break` and `continue` stand inside a loop; `static_range` is unrolled and leaves none");
        }
        self.emit(s);
        Ok(Val::Unit)
    }
}

/// What follows a static assertion may count on it.
fn is_static_assert(s: &ast::Stmt) -> bool {
    matches!(s, ast::Stmt::Expr(Expr { kind: ExprKind::Call { name, .. }, .. }) if name == "static_assert")
}

enum Merged {
    Unit,
    Var(Var),
    Tuple(Vec<Merged>),
}
