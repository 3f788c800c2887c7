//! Expressions: literals, names, operators, casts, tuples.

use crate::diag::{Code, Reported, Result, Span};
use crate::dtype::{DType, in_message, rounded, rounded_integer, saturated, wrapped};
use crate::front::ast;
use crate::front::ast::{Expr, ExprKind};
use crate::front::constants;
use crate::front::infer::jumps::Jump;
use crate::front::infer::{Binding, Infer, Range, Val, builtins};
use crate::front::operators::{BinaryOp, UnaryOp};
use crate::front::suggest;
use crate::ir::{Binary, LoopOptions, Op, StmtKind, Type, Unary, Value, Var};
use std::rc::Rc;

/// Values of an array.
const MAX_ELEMENTS: i128 = 1024;
/// Values of an array of arrays, all together.
const MAX_PARTS: i128 = 1 << 14;

impl Infer<'_> {
    pub(super) fn expr(&mut self, e: &Expr) -> Result<Val> {
        let span = e.span;
        Ok(match &e.kind {
            ExprKind::Int(v, Some(t)) => self.suffixed(*v, *t, span)?,
            ExprKind::Int(v, None) => Val::Int(*v, None),
            ExprKind::Float(v, t) => {
                if let Some(t) = t {
                    self.fits(*v, *t, span)?;
                }
                Val::Float(*v, *t)
            }
            ExprKind::Bool(b) => Val::Bool(*b),
            ExprKind::Str(s) => Val::Str(s.clone()),
            ExprKind::Name(n) => self.name(n, span)?,
            ExprKind::Assoc(t, n) => self.assoc(t, n, span)?,
            ExprKind::Unary(op, x) => self.unary_op(*op, x, span)?,
            ExprKind::Binary(op, a, b) => {
                let (x, y) = (self.expr(a), self.expr(b));
                self.binary_op(*op, (x?, a), (y?, b), span)?
            }
            ExprKind::And(a, b) => self.logic(a, b, true, span)?,
            ExprKind::Or(a, b) => self.logic(a, b, false, span)?,
            ExprKind::Cast(x, t) => {
                let v = self.expr(x)?;
                let to = self.dtype(t)?;
                self.cast(v, to, span)?
            }
            ExprKind::ToPointer(x, to) => self.to_pointer(x, to, span)?,
            ExprKind::Call { name, generics, args, method } => self.call(e, name, generics, args, *method)?,
            ExprKind::Tuple(list) if list.is_empty() => Val::Unit,
            ExprKind::Tuple(list) => Val::Tuple(self.exprs(list)?),
            ExprKind::Array(list) => Val::Array(self.exprs(list)?),
            ExprKind::Repeat(x, n) => {
                let (x, n) = (self.expr(x)?, self.expr(n)?);
                let n = self.const_int(&n, span, "a repeat count")?;
                if !(1..=MAX_ELEMENTS).contains(&n) {
                    return self.error(
                        Code::ArrayIndex,
                        span,
                        format!("an array of {n}: it has 1 to {MAX_ELEMENTS} values"),
                    );
                }
                let parts = parts(&x) as i128;
                if n > 1 && parts * n > MAX_PARTS {
                    let why = format!("an array of {n} arrays of {parts} values: all have at most {MAX_PARTS}");
                    return self.error(Code::ArrayIndex, span, why);
                }
                Val::Array(vec![x; n as usize])
            }
            ExprKind::Field(..) | ExprKind::Member(..) | ExprKind::Index(..) => self.part_of_value(e)?,
            ExprKind::Struct { name, fields } => self.new_struct(name, fields)?,
            ExprKind::Range { lo, hi, is_closed } => {
                let (lo, end) = (self.expr(lo)?, self.expr(hi)?);
                let of = self.elem_of(&lo);
                let end = if *is_closed { self.behind(end, of, hi)? } else { end };
                Val::Range(Rc::new(Range {
                    lo,
                    hi: end,
                    step: Val::Int(1, None),
                    reversed: false,
                    unrolled: false,
                    options: LoopOptions::default(),
                }))
            }
            ExprKind::Closure(c) => self.new_closure(c),
            ExprKind::Block(b) => self.block(b)?,
            ExprKind::If { cond, then, other } => self.if_else(cond, then, other.as_deref())?,
            ExprKind::Match { value, arms } => self.match_constant(value, arms, span)?,
            ExprKind::For { label, pattern, over, body } => self.for_loop(label.as_ref(), pattern, over, body)?,
            ExprKind::While { label, cond, body } => self.while_loop(label.as_ref(), Some(cond), body)?,
            ExprKind::Loop { label, body } => self.while_loop(label.as_ref(), None, body)?,
            ExprKind::Assign(to, x) => {
                let v = self.expr(x)?;
                self.assign(to, v, span)?
            }
            ExprKind::AssignOp(op, to, x) => {
                let before = self.assignments;
                let (mut a, b) = (self.expr(to)?, self.expr(x)?);
                // The right side comes first, as it does in Rust.
                if self.assignments != before {
                    a = self.expr(to)?;
                }
                let v = self.binary_op(*op, (a, to), (b, x), span)?;
                self.assign(to, v, span)?
            }
            ExprKind::Break(label) => self.jump(Jump::Break, label.as_ref(), span)?,
            ExprKind::Continue(label) => self.jump(Jump::Continue, label.as_ref(), span)?,
            ExprKind::Return(value) => {
                if let Some(value) = value.as_ref().filter(|_| self.depth == 0) {
                    return self.error(
                        Code::ReturnValue,
                        value.span,
                        "a kernel returns nothing: `return` takes no value here",
                    );
                }
                if self.depth > 0 {
                    return self.error(Code::ReturnPlace, span, "a `return` of a closure stands in its block");
                }
                self.emit(StmtKind::Return);
                Val::Unit
            }
            ExprKind::Typed(x, said) => {
                let v = self.expr(x)?;
                self.as_said(v, said, x.span)?
            }
            ExprKind::Error => return Err(Reported),
        })
    }

    pub(super) fn read_var(&mut self, var: Var, span: Span) -> Value {
        let ty = self.vars[var.0 as usize].ty.clone();
        self.push(Op::ReadVar(var), ty, span)
    }

    pub(super) fn exprs(&mut self, list: &[Expr]) -> Result<Vec<Val>> {
        // All are inferred before the first failure is passed on, so that each mistake is reported.
        let all: Vec<_> = list.iter().map(|e| self.expr(e)).collect();
        all.into_iter().collect()
    }

    pub(super) fn name(&mut self, n: &str, span: Span) -> Result<Val> {
        match self.lookup(n).cloned() {
            Some(Binding::Poisoned) => return Err(Reported),
            Some(b) => return Ok(self.read(&b, span)),
            None if n == "None" => return Ok(Val::Option(None)),
            None => {}
        }
        let kernel = self.kernel;
        if let Some((_, e)) = kernel.scope.consts.iter().find(|(c, _)| c == n) {
            if self.resolving.iter().any(|c| c == n) {
                return self.error(Code::Recursion, span, format!("the constant `{n}` is defined by itself"));
            }
            self.resolving.push(n.to_string());
            // It sees neither locals nor parameters.
            let (scopes, types) = (std::mem::take(&mut self.scopes), std::mem::take(&mut self.types));
            let v = self.expr(e);
            (self.scopes, self.types) = (scopes, types);
            self.resolving.pop();
            return v;
        }
        if let Some(of) = kernel.scope.enums.iter().find(|e| e.position(n).is_some()) {
            return self.error(
                Code::UnknownName,
                span,
                format!("unknown name `{n}`: a variant is named with its enum, `{}::{n}`", of.name),
            );
        }
        // Said once.
        self.poison(n);
        let hint = if builtins::is_builtin(n) {
            "it is an operation, call it".to_string()
        } else if kernel.scope.helpers.iter().any(|h| h.name == n) {
            "it is a helper, call it, or hand on a closure that does".to_string()
        } else if let Some(cure) = suggest::value(n) {
            cure
        } else if n.len() > 1 && n == n.to_uppercase() && n.starts_with(|c: char| c.is_alphabetic()) {
            "a kernel does not see the constants beside it: put both in a #[tile_module], declare the constant in the \
             kernel's body, or make it a const parameter"
                .to_string()
        } else {
            "a kernel sees its parameters, its locals, its const generics, and what its #[tile_module] defines or uses"
                .to_string()
        };
        self.error(Code::UnknownName, span, format!("unknown name `{n}`: {hint}"))
    }

    fn assoc(&mut self, t: &ast::TypeName, n: &str, span: Span) -> Result<Val> {
        if let Some(v) = constants::variant(t, n, span, &self.kernel.scope, self.d) {
            return v.map(Val::from);
        }
        let Some(d) = self.known_type(t) else {
            if let Some(ours) = suggest::element(&t.name) {
                return self.error(Code::UnknownType, t.span, format!("unknown type `{}`: write `{ours}`", t.name));
            }
            let why = format!(
                "unknown type `{}`: an enum that the #[tile_module] declares or uses, or an element type ({}, a type \
                 parameter)",
                t.name,
                DType::NAMES
            );
            return self.error(Code::UnknownType, t.span, why);
        };
        let float = |v: f64| Ok(Val::Float(v, Some(d)));
        let bits = d.size() as u32 * 8;
        if n == "BITS" && d != DType::Bool {
            return Ok(Val::Int(bits as i128, Some(DType::U32)));
        }
        if d.is_float() {
            use std::f64::consts as c;
            let (eps, tiny) = match d {
                DType::F64 => (f64::EPSILON, f64::MIN_POSITIVE),
                DType::F16 => (2f64.powi(-10), 2f64.powi(-14)),
                DType::BF16 => {
                    let exponent = if planted!("bf16-epsilon-is-half-of-it") { -8 } else { -7 };
                    (2f64.powi(exponent), f32::MIN_POSITIVE as f64)
                }
                DType::F8E4M3 => (2f64.powi(-3), 2f64.powi(-6)),
                DType::F8E5M2 => (2f64.powi(-2), 2f64.powi(-14)),
                _ => (f32::EPSILON as f64, f32::MIN_POSITIVE as f64),
            };
            return match n {
                "INFINITY" | "NEG_INFINITY" if d.is_float8() => self.error(
                    Code::UnknownConstant,
                    span,
                    format!("conversions to {d} give no infinity: `{}::MAX` is its greatest number", t.name),
                ),
                "INFINITY" => float(f64::INFINITY),
                "NEG_INFINITY" => float(f64::NEG_INFINITY),
                "NAN" => float(f64::NAN),
                "MAX" => float(d.greatest()),
                "MIN" => float(-d.greatest()),
                "EPSILON" => float(eps),
                "MIN_POSITIVE" => float(tiny),
                "PI" => float(c::PI),
                "TAU" => float(c::TAU),
                "E" => float(c::E),
                "LN_2" => float(c::LN_2),
                "LN_10" => float(c::LN_10),
                "LOG2_E" => float(c::LOG2_E),
                "SQRT_2" => float(c::SQRT_2),
                "FRAC_1_SQRT_2" => float(c::FRAC_1_SQRT_2),
                _ => self.error(
                    Code::UnknownConstant,
                    span,
                    format!(
                        "unknown constant `{}::{n}`: floats have INFINITY, NEG_INFINITY, NAN, MAX, MIN, EPSILON, \
                     MIN_POSITIVE, BITS and consts::PI, ..",
                        t.name
                    ),
                ),
            };
        }
        if d == DType::Bool {
            return self.error(Code::UnknownConstant, span, "bool has no constants");
        }
        let (lo, hi) =
            if d.is_signed() { (-(1i128 << (bits - 1)), (1i128 << (bits - 1)) - 1) } else { (0, (1i128 << bits) - 1) };
        match n {
            "MAX" => Ok(Val::Int(hi, Some(d))),
            "MIN" => Ok(Val::Int(lo, Some(d))),
            _ => self.error(
                Code::UnknownConstant,
                span,
                format!("unknown constant `{}::{n}`: integers have MAX, MIN and BITS", t.name),
            ),
        }
    }

    fn unary_op(&mut self, op: UnaryOp, x: &Expr, span: Span) -> Result<Val> {
        if let (UnaryOp::Neg, ExprKind::Int(n, Some(t))) = (op, &x.kind)
            && t.is_signed()
        {
            return self.suffixed(-*n, *t, span);
        }
        let v = self.expr(x)?;
        if let Some(v) = self.fold_unary(op, &v, span)? {
            return Ok(v);
        }
        let v = self.run(v, x.span)?;
        let ty = self.ty(v).clone();
        self.computes(v, if op == UnaryOp::Neg { "`-`" } else { "`!`" }, span)?;
        let op = match op {
            UnaryOp::Neg if ty.dtype.is_float() || ty.dtype.is_signed() => Unary::Neg,
            UnaryOp::Neg => {
                return self.error(Code::ElementType, span, format!("cannot negate {ty}: it is not signed"));
            }
            UnaryOp::Not if !ty.dtype.is_float() => Unary::Not,
            UnaryOp::Not => {
                return self.error(Code::ElementType, span, format!("`!` takes bool or integers, found {ty}"));
            }
        };
        Ok(Val::Run(self.push(Op::Unary(op, v), ty, span)))
    }

    /// `a && b` on scalars: the right side runs only if it decides.
    fn logic(&mut self, a: &Expr, b: &Expr, and: bool, span: Span) -> Result<Val> {
        let x = self.expr(a)?;
        if let Val::Bool(x) = x {
            if x != and {
                return Ok(Val::Bool(x));
            }
            return match self.expr(b)? {
                Val::Bool(y) => Ok(Val::Bool(y)),
                y => self.condition(y, b.span).map(Val::Run),
            };
        }
        let x = self.condition(x, a.span)?;
        let var = self.new_var("logic", Type::scalar(DType::Bool));
        self.emit(StmtKind::Assign(var, x));
        self.blocks.push(vec![]);
        let y = self.expr(b).and_then(|y| self.condition(y, b.span));
        if let Ok(y) = y {
            self.emit(StmtKind::Assign(var, y));
        }
        let right = self.blocks.pop().expect("pushed");
        y?;
        let (then, other) = if and { (right, vec![]) } else { (vec![], right) };
        self.emit(StmtKind::If { cond: x, then, other });
        Ok(Val::Run(self.push(Op::ReadVar(var), Type::scalar(DType::Bool), span)))
    }

    /// A uniform bool.
    pub(super) fn condition(&mut self, v: Val, span: Span) -> Result<Value> {
        let v = self.run(v, span)?;
        let ty = self.ty(v).clone();
        if !ty.is_scalar() {
            return self.error(Code::ConditionType, span, format!("a condition is a scalar bool, the same in the whole program; found a tile {ty}: choose per element with `where_(c, a, b)`, combine masks with `&` and `|`"));
        }
        if ty.dtype != DType::Bool {
            return self.error(
                Code::ConditionType,
                span,
                format!("a condition is a bool, found {ty}: compare it, as `v != 0`"),
            );
        }
        Ok(v)
    }

    pub(super) fn cast(&mut self, v: Val, to: DType, span: Span) -> Result<Val> {
        match v {
            Val::Int(n, _) if to.is_float() => Ok(Val::Float(rounded_integer(n, to), Some(to))),
            Val::Int(n, _) if to.is_int() => Ok(Val::Int(wrapped(n, to), Some(to))),
            Val::Float(x, from) if to.is_int() => {
                Ok(Val::Int(saturated(rounded(x, from.unwrap_or(DType::F32)), to), Some(to)))
            }
            Val::Float(x, from) if to.is_float() => Ok(Val::Float(from.map_or(x, |t| rounded(x, t)), Some(to))),
            Val::Bool(b) if to.is_int() => Ok(Val::Int(i128::from(b), Some(to))),
            v => {
                let v = self.run(v, span)?;
                Ok(Val::Run(self.converted(v, to, span)))
            }
        }
    }

    /// A value as one of another type.
    pub(super) fn converted(&mut self, v: Value, to: DType, span: Span) -> Value {
        let ty = self.ty(v).clone();
        if ty.dtype == to { v } else { self.push(Op::Cast(v), Type { dtype: to, ..ty }, span) }
    }

    pub(super) fn binary_op(
        &mut self,
        op: BinaryOp,
        (a, ea): (Val, &Expr),
        (b, eb): (Val, &Expr),
        span: Span,
    ) -> Result<Val> {
        if let Some(v) = self.fold(op, &a, &b, span)? {
            return Ok(v);
        }
        // Pointer arithmetic, in elements.
        if let (Val::Ptr(p), BinaryOp::Add) = (&a, op) {
            return self.pointer_add(*p, b, eb.span);
        }
        let what = format!("`{}`", op.symbol());
        let (x, y) = if matches!(op, BinaryOp::Shl | BinaryOp::Shr) {
            // The count of a shift takes the dtype of the shifted operand.
            let is_count = match &b {
                Val::Int(..) => true,
                Val::Run(y) => self.ty(*y).dtype.is_int(),
                _ => false,
            };
            if !is_count {
                let found = self.describe(&b);
                let why = format!("{what} shifts by an integer, found {found}: convert with `.to::<u32>()`");
                return self.error(Code::MixedTypes, eb.span, why);
            }
            let x = self.run(a, ea.span)?;
            let t = self.ty(x).dtype;
            let y = match self.cast(b, t, eb.span)? {
                Val::Run(y) => y,
                literal => self.constant(&literal, t, eb.span)?,
            };
            (x, y)
        } else {
            self.unify(a, b, (ea, eb), &what)?
        };
        self.same_rank((x, ea), (y, eb), &what)?;
        let dtype = self.ty(x).dtype;
        self.computes(x, &what, span)?;
        let allowed = match op {
            BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => !dtype.is_float(),
            BinaryOp::Shl | BinaryOp::Shr => dtype.is_int(),
            BinaryOp::Eq | BinaryOp::Ne => true,
            _ => dtype != DType::Bool,
        };
        if !allowed {
            let need = match op {
                BinaryOp::Shl | BinaryOp::Shr => "integers",
                BinaryOp::And | BinaryOp::Or | BinaryOp::Xor => "integers or bool",
                _ => "numbers",
            };
            return self.error(Code::ElementType, span, format!("{what} takes {need}, found {}", in_message(dtype)));
        }
        let contracted = match op {
            BinaryOp::Add | BinaryOp::Sub if matches!(dtype, DType::F32 | DType::F64) => {
                self.contract(op, (x, ea), (y, eb), span)?
            }
            _ => None,
        };
        match contracted {
            Some(v) => Ok(Val::Run(v)),
            None => self.binary(ir_op(op), x, y, span).map(Val::Run),
        }
    }

    /// 8-bit floats are no numbers to compute with.
    pub(super) fn computes(&self, v: Value, what: &str, span: Span) -> Result<()> {
        match self.ty(v).dtype {
            d if d.is_float8() => self.error(Code::Float8Arithmetic, span, format!("{what} of {d}: convert with `.to::<f32>()` first; {d} is loaded, stored, converted and multiplied by `dot`")),
            _ => Ok(()),
        }
    }

    pub(super) fn binary(&mut self, op: Binary, x: Value, y: Value, span: Span) -> Result<Value> {
        let shape = self.common_shape(&self.ty(x).shape.clone(), &self.ty(y).shape.clone(), span)?;
        let dtype = op.gives(self.ty(x).dtype);
        let (x, y) = (self.broadcast(x, &shape, span), self.broadcast(y, &shape, span));
        Ok(self.push(Op::Binary(op, x, y), Type { dtype, shape }, span))
    }

    /// `a * b + c` is one fused multiply-add where the source writes it so.
    fn contract(
        &mut self,
        op: BinaryOp,
        (x, ex): (Value, &Expr),
        (y, ey): (Value, &Expr),
        span: Span,
    ) -> Result<Option<Value>> {
        let factors = |cx: &Self, v: Value, e: &Expr| match (&e.kind, &cx.values[v.0 as usize].op) {
            (ExprKind::Binary(BinaryOp::Mul, ..), Op::Binary(Binary::Mul, a, b)) => Some((*a, *b)),
            _ => None,
        };
        let negate = |cx: &mut Self, v: Value| {
            let ty = cx.ty(v).clone();
            cx.push(Op::Unary(Unary::Neg, v), ty, span)
        };
        let (a, b, c) = match (factors(self, x, ex), factors(self, y, ey), op) {
            (Some((a, b)), _, BinaryOp::Add) => (a, b, y),
            (Some((a, b)), _, _) => (a, b, negate(self, y)),
            (None, Some((a, b)), BinaryOp::Add) => (a, b, x),
            (None, Some((a, b)), _) => (negate(self, a), b, x),
            (None, None, _) => return Ok(None),
        };
        self.fma(a, b, c, span).map(Some)
    }

    pub(super) fn fma(&mut self, a: Value, b: Value, c: Value, span: Span) -> Result<Value> {
        let shape = self.common_shape(&self.ty(a).shape.clone(), &self.ty(b).shape.clone(), span)?;
        let shape = self.common_shape(&shape, &self.ty(c).shape.clone(), span)?;
        let [a, b, c] = [a, b, c].map(|v| self.broadcast(v, &shape, span));
        let dtype = self.ty(a).dtype;
        Ok(self.push(Op::Fma(a, b, c), Type { dtype, shape }, span))
    }
}

/// How many values an array of arrays, a tuple or a struct has.
fn parts(v: &Val) -> usize {
    match v {
        Val::Tuple(list) | Val::Array(list) | Val::Struct(_, list) => list.iter().map(parts).sum(),
        Val::Option(Some(v)) => parts(v),
        _ => 1,
    }
}

fn ir_op(op: BinaryOp) -> Binary {
    match op {
        BinaryOp::Add => Binary::Add,
        BinaryOp::Sub => Binary::Sub,
        BinaryOp::Mul => Binary::Mul,
        BinaryOp::Div => Binary::Div,
        BinaryOp::Rem => Binary::Rem,
        BinaryOp::And => Binary::And,
        BinaryOp::Or => Binary::Or,
        BinaryOp::Xor => Binary::Xor,
        BinaryOp::Shl => Binary::Shl,
        BinaryOp::Shr => Binary::Shr,
        BinaryOp::Eq => Binary::Eq,
        BinaryOp::Ne => Binary::Ne,
        BinaryOp::Lt => Binary::Lt,
        BinaryOp::Le => Binary::Le,
        BinaryOp::Gt => Binary::Gt,
        BinaryOp::Ge => Binary::Ge,
    }
}
