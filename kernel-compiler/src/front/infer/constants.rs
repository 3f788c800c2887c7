//! Constants: variants, `match`, `const` items, the const arguments of helpers.

use crate::diag::{Code, Result, Span};
use crate::dtype::DType;
use crate::front::ast::{Arm, ArmPattern, Const, ConstParam, ConstType, Expr, ExprKind, Helper, Said};
use crate::front::constants::{OPTIONAL, compare, select, select_option};
use crate::front::infer::{Binding, Infer, Val};
use crate::front::operators::BinaryOp;
use crate::ir::{Binary, Op, Value};
use proc_macro2::Ident;
use std::collections::{HashMap, HashSet};
use std::rc::Rc;

impl From<Const> for Val {
    fn from(c: Const) -> Val {
        match c {
            Const::Int(n) => Val::Int(n, Some(DType::U64)),
            Const::Bool(b) => Val::Bool(b),
            Const::Variant(of, i) => Val::Variant(of, i),
        }
    }
}

impl Val {
    fn as_const(&self) -> Option<Const> {
        match self {
            Val::Int(n, _) => Some(Const::Int(*n)),
            Val::Bool(b) => Some(Const::Bool(*b)),
            Val::Variant(of, i) => Some(Const::Variant(of.clone(), *i)),
            _ => None,
        }
    }
}

impl Infer<'_> {
    /// `match value { .. }`: the arms that are not taken are not looked at.
    pub(super) fn match_constant(&mut self, value: &Expr, arms: &[Arm], span: Span) -> Result<Val> {
        let v = self.expr(value)?;
        if let Val::Option(v) = v {
            return self.match_option(v, arms, span);
        }
        let Some(v) = v.as_const() else {
            let found = self.describe(&v);
            if let Some(arm) = arms.iter().find(|a| matches!(a.pattern, ArmPattern::Some(_) | ArmPattern::None)) {
                return self.error(Code::OptionalValue, arm.span, format!("{OPTIONAL}; found {found}"));
            }
            if let Val::Run(x) = v
                && self.ty(x).is_scalar()
                && (self.ty(x).dtype.is_int() || self.ty(x).dtype == DType::Bool)
            {
                return self.match_scalar(x, value.span, arms, span);
            }
            return self.error(
                Code::MatchValue,
                value.span,
                format!(
                    "`match` takes an integer, a bool, an enum or an optional value; found {found}: use `if` on \
                     scalars, `where_` on tiles"
                ),
            );
        };
        let d = self.d;
        let body = select(&v, arms, |e| Ok(self.expr(e)?.as_const()), span, d)?;
        self.expr(body)
    }

    /// `match` on a scalar that is known when the kernel runs: `if` and `else` for one arm after the other.
    fn match_scalar(&mut self, x: Value, at: Span, arms: &[Arm], span: Span) -> Result<Val> {
        let is_bool = self.ty(x).dtype == DType::Bool;
        let Some((arm, rest)) = arms.split_first() else {
            let missing =
                if is_bool { "has an arm for `true` and for `false`" } else { "on an integer ends with an arm `_`" };
            return self.error(Code::MatchNotExhaustive, span, format!("a `match` {missing}"));
        };
        let ArmPattern::Constants(list) = &arm.pattern else { return self.expr(&arm.body) };
        let mut taken: Option<Value> = None;
        let (mut holds, mut fails) = (false, false);
        for pattern in list {
            let v = self.expr(pattern)?;
            (holds, fails) = (holds || matches!(v, Val::Bool(true)), fails || matches!(v, Val::Bool(false)));
            let v = self.run_as(v, self.ty(x).dtype, pattern.span)?;
            let is = self.binary(Binary::Eq, x, v, pattern.span)?;
            taken = Some(match taken {
                Some(before) => self.binary(Binary::Or, before, is, pattern.span)?,
                None => is,
            });
        }
        let Some(taken) = taken else { return self.match_scalar(x, at, rest, span) };
        // The arm takes both bools, as in `true | false`.
        if holds && fails {
            return self.expr(&arm.body);
        }
        let is_other = |a: &Arm| match &a.pattern {
            ArmPattern::Constants(list) => list.iter().any(|e| matches!(e.kind, ExprKind::Bool(b) if b != holds)),
            _ => false,
        };
        // An arm for all stands before those behind it.
        let mut of_constants = rest.iter().take_while(|a| matches!(a.pattern, ArmPattern::Constants(_)));
        let other_arm = of_constants.find(|a| is_bool && is_other(a));
        let other = |cx: &mut Self| match other_arm {
            Some(arm) => cx.expr(&arm.body),
            None => cx.match_scalar(x, at, rest, span),
        };
        self.choose(taken, |cx| cx.expr(&arm.body), other, arm.body.span, at)
    }

    /// `match value { Some(v) => .., None => .. }`: only the arm that is taken is looked at.
    fn match_option(&mut self, value: Option<Box<Val>>, arms: &[Arm], span: Span) -> Result<Val> {
        let Arm { pattern, body, rest, .. } = select_option(value.is_some(), arms, span, self.d)?;
        self.scopes.push(HashMap::new());
        let bound = match (pattern, value) {
            (ArmPattern::Some(p), Some(v)) => self.bind_pattern(p, *v, body.span),
            _ => Ok(()),
        };
        let v = bound.and_then(|()| self.expr(body));
        self.scopes.pop();
        let Some(rest) = rest else { return v };
        self.scopes.push(HashMap::from([(Arm::VALUE.to_string(), Binding::Val(v?))]));
        let v = self.block(rest);
        self.scopes.pop();
        v
    }

    /// `x.is_some()` and `x.is_none()`.
    pub(super) fn is_present(&mut self, name: &str, args: &[Expr], span: Span) -> Result<Val> {
        let [x] = args else { return self.error(Code::ArgumentCount, span, format!("`.{name}()` takes no arguments")) };
        match self.expr(x)? {
            Val::Option(v) => Ok(Val::Bool(v.is_some() == (name == "is_some"))),
            other => {
                let found = self.describe(&other);
                self.error(
                    Code::OptionalValue,
                    span,
                    format!("`.{name}()` asks an optional value, as of a parameter `x: Option<&[T]>`; found {found}"),
                )
            }
        }
    }

    /// `a op b` where one is a variant.
    pub(super) fn compare_variants(&self, op: BinaryOp, a: &Val, b: &Val, span: Span) -> Result<Option<Val>> {
        if !matches!(a, Val::Variant(..)) && !matches!(b, Val::Variant(..)) {
            return Ok(None);
        }
        compare(op, a.as_const().as_ref(), b.as_const().as_ref(), span, self.d).map(|is| Some(Val::Bool(is)))
    }

    /// A value where the name of an enum or a struct stands for its type; none: the name is that of neither.
    pub(super) fn as_named(&self, v: &Val, ty: &str, span: Span) -> Option<Result<()>> {
        if let Some(of) = self.kernel.scope.structure(ty) {
            return Some(match v {
                Val::Struct(found, _) if Rc::ptr_eq(found, of) => Ok(()),
                other => self.error(
                    Code::TypeMismatch,
                    span,
                    format!("expected a `{}`, found {}", of.name, self.describe(other)),
                ),
            });
        }
        let of = self.kernel.scope.enumeration(ty)?;
        Some(match v {
            Val::Variant(found, _) if found == of => Ok(()),
            other => self.error(
                Code::TypeMismatch,
                span,
                format!("expected {}, found {}", ConstType::Enum(of.clone()), self.describe(other)),
            ),
        })
    }

    /// `const NAME: ty = value;`
    pub(super) fn const_item(&mut self, name: &Ident, ty: &Said, value: &Expr) -> Result<()> {
        let v = self.expr(value)?;
        self.known(&v, value.span, &format!("the constant `{name}`"))?;
        let v = self.as_said(v, ty, value.span)?;
        self.bind(&name.to_string(), Binding::Val(v));
        Ok(())
    }

    /// A const argument of a helper.
    pub(super) fn const_arg(&self, of: &Helper, param: &ConstParam, v: Val, span: Span) -> Result<Val> {
        self.known(&v, span, &format!("the const argument `{}` of `{}`", param.name, of.name))?;
        match v.as_const() {
            Some(c) if c.ty() == param.ty => match v {
                Val::Int(..) => self.checked_literal(v, param.int, span),
                v => Ok(v),
            },
            _ => {
                let found = self.describe(&v);
                self.error(
                    Code::ConstValue,
                    span,
                    format!("the const parameter `{}` of `{}` is {}; found {found}", param.name, of.name, param.ty),
                )
            }
        }
    }

    /// Reports a value that is known only when the kernel runs: at the condition of the `if` that makes it so, if any.
    pub(super) fn known(&self, v: &Val, span: Span, what: &str) -> Result<()> {
        match v {
            Val::Run(v) => match self.run_time_choice(*v) {
                Some(cond) => self.error(
                    Code::NotConstant,
                    cond,
                    format!(
                        "{what} must be known at compile time, and so must this condition: compare literals and const \
                         parameters"
                    ),
                ),
                None => self.error(
                    Code::NotConstant,
                    span,
                    format!(
                        "{what} must be known at compile time (a literal, a const parameter, or arithmetic on them), \
                         found {}",
                        self.describe(&Val::Run(*v))
                    ),
                ),
            },
            Val::Tuple(list) | Val::Array(list) | Val::Struct(_, list) => {
                list.iter().try_for_each(|v| self.known(v, span, what))
            }
            Val::Option(Some(v)) => self.known(v, span, what),
            _ => Ok(()),
        }
    }

    /// The condition of an `if` that a value depends on.
    fn run_time_choice(&self, v: Value) -> Option<Span> {
        let (mut seen, mut left) = (HashSet::new(), vec![v]);
        while let Some(v) = left.pop() {
            let info = &self.values[v.0 as usize];
            match &info.op {
                // The read of a choice is where its condition is.
                Op::ReadVar(var) if self.choices.contains_key(var) => return Some(info.span.into()),
                op if seen.insert(v) => left.extend(op.operands()),
                _ => {}
            }
        }
        None
    }
}
