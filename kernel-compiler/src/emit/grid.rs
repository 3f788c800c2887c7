//! Grid expressions: integers over parameters and constants, evaluated on the host before a launch.

use crate::diag::{Code, Diagnostics, Reported, Result, Span};
use crate::dtype::DType;
use crate::front::ast::{
    self, Arm, ArmPattern, Block, Choice, Config, Const, Expr, ExprKind, Param, ParamKind, Pattern, TypeName,
};
use crate::front::constants::{compare, select, select_option, variant};
use crate::front::instance::Kernel;
use crate::front::operators::{BinaryOp, UnaryOp};
use crate::front::print::{self, Level};
use std::fmt;

/// The body of `fn(&GridCtx) -> [u64; 3]`, with the context in `g`.
pub fn body(k: &Kernel, choice: &Choice, config: &Config, d: &Diagnostics) -> Result<String> {
    let cx = Grid { k: &k.ast, choice, config, names: vec![], in_constants: vec![], d };
    let mut extents = k.ast.grid.iter().map(|e| cx.expr(e)).collect::<Result<Vec<_>>>()?;
    extents.resize(3, "1u64".into());
    Ok(format!("[{}]", extents.join(", ")))
}

/// The body of `fn(&GridCtx) -> bool` for the conditions of a configuration on its arguments, and their text; none
/// where it has no conditions.
pub fn condition(k: &Kernel, choice: &Choice, config: &Config, d: &Diagnostics) -> Result<Option<(String, String)>> {
    let cx = Grid { k: &k.ast, choice, config, names: vec![], in_constants: vec![], d };
    let (mut code, mut texts) = (vec![], vec![]);
    for e in &k.ast.requires {
        let e = cx.taken(e)?;
        match cx.condition(e)? {
            Condition::Known(true) => continue,
            of => code.push(format!("({of})")),
        }
        texts.push(print::expr(e, Level::And, 0));
    }
    Ok((!code.is_empty()).then(|| (code.join(" && "), texts.join(" && "))))
}

/// Reports the mistakes in the grid and the conditions of a kernel's first instance.
pub(crate) fn check(k: &Kernel, choice: &Choice, d: &Diagnostics) {
    if let Some(config) = k.ast.configs.first() {
        let (_, _) = (body(k, choice, config, d), condition(k, choice, config, d));
    }
}

/// A condition that constants decide, or the code that asks for it at a launch.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Condition {
    Known(bool),
    Asked(String),
}

impl Condition {
    /// `self && other`, or with `neutral` of false `self || other`.
    fn joined(self, other: Condition, neutral: bool) -> Condition {
        match (self, other) {
            (Condition::Known(k), _) | (_, Condition::Known(k)) if k != neutral => Condition::Known(k),
            (Condition::Known(_), of) | (of, Condition::Known(_)) => of,
            (a, b) => Condition::Asked(format!("({a} {} {b})", if neutral { "&&" } else { "||" })),
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Condition::Known(is) => write!(f, "{is}"),
            Condition::Asked(code) => f.write_str(code),
        }
    }
}

struct Grid<'a> {
    k: &'a ast::Kernel,
    choice: &'a Choice,
    config: &'a Config,
    /// Names that `if let Some(name) = x` and arms of `match` give to parameters, innermost last.
    names: Vec<(String, &'a Param)>,
    /// The constants of a module whose values lead to this expression. They do not see the parameters of a kernel.
    in_constants: Vec<&'a str>,
    d: &'a Diagnostics,
}

const ALLOWED: &str = "a grid is integer arithmetic on `x.len()`, `v.dim(axis)`, scalar parameters, const parameters, \
     cdiv, min, max, next_power_of_two and num_sms(), `if` on comparisons of them, and `match` on const parameters";

const CONDITION: &str = "a condition is a bool: `==`, `!=`, `<`, `<=`, `>` or `>=` of integers that a grid may have, \
     `&&`, `||`, `!`, or a const parameter";

impl<'a> Grid<'a> {
    fn expr(&self, e: &Expr) -> Result<String> {
        let d = self.d;
        Ok(match &e.kind {
            ExprKind::Int(n, _) if *n >= 0 => format!("{n}u64"),
            ExprKind::Typed(x, _) => self.expr(x)?,
            ExprKind::Cast(x, to) if self.dtype(to).is_some_and(|t| t.is_int()) => self.expr(x)?,
            ExprKind::Cast(_, to) => return Err(d.error(Code::GridExpression, to.span, ALLOWED)),
            ExprKind::Name(n) => self.name(n, e)?,
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                match op {
                    BinaryOp::Add => format!("u64::saturating_add({a}, {b})"),
                    BinaryOp::Sub if planted!("grid-difference-wraps") => format!("u64::wrapping_sub({a}, {b})"),
                    BinaryOp::Sub => format!("u64::saturating_sub({a}, {b})"),
                    BinaryOp::Mul => format!("u64::saturating_mul({a}, {b})"),
                    BinaryOp::Div => format!("u64::checked_div({a}, {b}).unwrap_or(0)"),
                    BinaryOp::Rem => format!("u64::checked_rem({a}, {b}).unwrap_or(0)"),
                    _ => return Err(d.error(Code::GridExpression, e.span, ALLOWED)),
                }
            }
            ExprKind::If { cond, then, other: Some(other) } => match self.condition(cond)? {
                Condition::Known(true) => self.block(then)?,
                Condition::Known(false) => self.expr(other)?,
                Condition::Asked(code) => {
                    format!("(if {code} {{ {} }} else {{ {} }})", self.block(then)?, self.expr(other)?)
                }
            },
            ExprKind::Block(b) => self.block(b)?,
            ExprKind::Match { value, arms } => {
                let (cx, body) = self.arm(value, arms, e)?;
                cx.expr(body)?
            }
            ExprKind::Call { name, args, .. } => match (name.to_string().as_str(), &args[..]) {
                ("num_sms", []) if self.config.ctas > 1 => format!("u64::max(1, g.num_sms / {})", self.config.ctas),
                ("num_sms", []) => "g.num_sms".into(),
                ("cdiv", [a, b]) if planted!("grid-rounds-down") => format!("({} / {})", self.expr(a)?, self.expr(b)?),
                ("cdiv", [a, b]) => format!("__k::cdiv({}, {})", self.expr(a)?, self.expr(b)?),
                ("next_power_of_two", [x]) => {
                    format!("u64::checked_next_power_of_two({}).unwrap_or(u64::MAX)", self.expr(x)?)
                }
                ("min", [a, b]) => format!("u64::min({}, {})", self.expr(a)?, self.expr(b)?),
                ("max", [a, b]) => format!("u64::max({}, {})", self.expr(a)?, self.expr(b)?),
                ("len", [x]) => self.word(x, |k| matches!(k, ParamKind::Slice { .. }).then_some(1))?,
                ("dim", [x, axis]) => {
                    let ExprKind::Int(axis, _) = axis.kind else {
                        return Err(d.error(Code::GridExpression, axis.span, "an axis is a literal"));
                    };
                    self.word(x, |k| {
                        matches!(k, ParamKind::View { rank, .. } if axis >= 0 && axis < rank as i128)
                            .then_some(1 + axis as usize)
                    })?
                }
                _ => return Err(d.error(Code::GridExpression, e.span, ALLOWED)),
            },
            ExprKind::Error => return Err(Reported),
            _ => return Err(d.error(Code::GridExpression, e.span, ALLOWED)),
        })
    }

    /// The part of a condition that the constants of the configuration leave.
    fn taken<'e>(&self, e: &'e Expr) -> Result<&'e Expr> {
        match &e.kind {
            ExprKind::If { cond, then, other: Some(other) } => match self.condition(cond)? {
                Condition::Known(true) => self.taken(self.value_of(then)?),
                Condition::Known(false) => self.taken(other),
                Condition::Asked(_) => Ok(e),
            },
            ExprKind::Block(Block { stmts, value: Some(value), .. }) if stmts.is_empty() => self.taken(value),
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                let neutral = matches!(e.kind, ExprKind::And(..));
                match self.condition(a)? {
                    Condition::Known(is) if is == neutral => self.taken(b),
                    Condition::Known(_) => Ok(e),
                    Condition::Asked(_) if self.condition(b)? == Condition::Known(neutral) => self.taken(a),
                    Condition::Asked(_) => Ok(e),
                }
            }
            _ => Ok(e),
        }
    }

    fn condition(&self, e: &Expr) -> Result<Condition> {
        match &e.kind {
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                let neutral = matches!(e.kind, ExprKind::And(..));
                match self.condition(a)? {
                    // A condition that `a` decides alone may be about an absent parameter.
                    Condition::Known(is) if is != neutral => Ok(Condition::Known(is)),
                    a => Ok(a.joined(self.condition(b)?, neutral)),
                }
            }
            ExprKind::Match { value, arms } => {
                let (cx, body) = self.arm(value, arms, e)?;
                cx.condition(body)
            }
            ExprKind::If { cond, then, other: Some(other) } => {
                let then = self.value_of(then)?;
                match self.condition(cond)? {
                    Condition::Known(true) => self.condition(then),
                    Condition::Known(false) => self.condition(other),
                    Condition::Asked(cond) => Ok(match (self.condition(then)?, self.condition(other)?) {
                        (Condition::Known(a), Condition::Known(b)) if a == b => Condition::Known(a),
                        (a, b) => Condition::Asked(format!("(if {cond} {{ {a} }} else {{ {b} }})")),
                    }),
                }
            }
            ExprKind::Block(Block { stmts, value: Some(value), .. }) if stmts.is_empty() => self.condition(value),
            ExprKind::Typed(x, _) => self.condition(x),
            ExprKind::Unary(UnaryOp::Not, a) => Ok(match self.condition(a)? {
                Condition::Known(is) => Condition::Known(!is),
                Condition::Asked(code) => Condition::Asked(format!("!({code})")),
            }),
            ExprKind::Binary(op, a, b) if op.is_compare() => match (self.constant(a)?, self.constant(b)?) {
                (a @ Some(Const::Variant(..)), b) | (a, b @ Some(Const::Variant(..))) => {
                    compare(*op, a.as_ref(), b.as_ref(), e.span, self.d).map(Condition::Known)
                }
                (Some(Const::Int(a)), Some(Const::Int(b))) => Ok(Condition::Known(op.compare(a, b))),
                _ => Ok(Condition::Asked(format!("{} {} {}", self.expr(a)?, op.symbol(), self.expr(b)?))),
            },
            _ => match self.constant(e)? {
                Some(Const::Bool(b)) => Ok(Condition::Known(b)),
                _ if matches!(e.kind, ExprKind::Error) => Err(Reported),
                _ => Err(self.d.error(Code::RequiresCondition, e.span, CONDITION)),
            },
        }
    }

    /// The arm of a `match` on a constant or an optional parameter, with the names that it sees.
    fn arm<'e>(&self, value: &Expr, arms: &'e [Arm], e: &Expr) -> Result<(Self, &'e Expr)> {
        if let Some(of) = self.constant(value)? {
            return Ok((self.with(None), select(&of, arms, |e| self.constant(e), e.span, self.d)?));
        }
        let Some(p) = self.optional(value) else { return Err(self.d.error(Code::GridExpression, value.span, ALLOWED)) };
        let Arm { pattern, body, .. } = select_option(self.choice.has(p), arms, e.span, self.d)?;
        match pattern {
            ArmPattern::Some(Pattern::Name { name, .. }) => Ok((self.with(Some((name.to_string(), p))), body)),
            ArmPattern::Some(Pattern::Tuple(_) | Pattern::Struct { .. }) => {
                Err(self.d.error(Code::GridExpression, value.span, ALLOWED))
            }
            _ => Ok((self.with(None), body)),
        }
    }

    /// With one more name.
    fn with(&self, name: Option<(String, &'a Param)>) -> Self {
        let names = self.names.iter().cloned().chain(name).collect();
        Grid { names, in_constants: self.in_constants.clone(), ..*self }
    }

    /// For the value of a module's constant.
    fn of_constant(&self, name: &'a str, at: Span) -> Result<Self> {
        if self.in_constants.contains(&name) {
            let why = format!("the constant `{name}` is defined by itself");
            return Err(self.d.error(Code::Recursion, at, why));
        }
        let in_constants = self.in_constants.iter().copied().chain([name]).collect();
        Ok(Grid { in_constants, ..self.with(None) })
    }

    /// The value of a const parameter.
    fn const_param(&self, name: &str) -> Option<&'a Const> {
        let mut all = self.config.consts.iter().chain(&self.k.given.consts).filter(|_| self.in_constants.is_empty());
        all.find(|(c, _)| c == name).map(|(_, v)| v)
    }

    /// The parameter of a name.
    fn param(&self, name: &str) -> Option<&'a Param> {
        let renamed = self.names.iter().rev().find(|(n, _)| n == name).map(|(_, p)| *p);
        renamed.or_else(|| self.k.param(name)).filter(|_| self.in_constants.is_empty())
    }

    /// A module's constant, which a parameter of its name hides, and what its value sees.
    fn module_const(&self, name: &str, at: Span) -> Result<Option<(Self, &'a Expr)>> {
        let mut all = self.k.scope.consts.iter().filter(|_| self.param(name).is_none());
        let found = all.find(|(c, _)| c == name);
        found.map(|(name, value)| Ok((self.of_constant(name, at)?, value))).transpose()
    }

    /// An optional parameter as it is declared.
    fn optional(&self, e: &Expr) -> Option<&'a Param> {
        match &e.kind {
            ExprKind::Name(n) if !self.names.iter().any(|(name, _)| name == n) => {
                self.k.param(n).filter(|p| p.is_optional)
            }
            _ => None,
        }
    }

    /// A literal, a variant, a const parameter, or whether an optional parameter is there.
    fn constant(&self, e: &Expr) -> Result<Option<Const>> {
        Ok(match &e.kind {
            ExprKind::Int(n, _) => Some(Const::Int(*n)),
            ExprKind::Typed(x, _) => self.constant(x)?,
            ExprKind::Bool(b) => Some(Const::Bool(*b)),
            ExprKind::Call { name, args, method: true, .. } if name == "is_some" || name == "is_none" => {
                match &args[..] {
                    [x] => match self.optional(x) {
                        Some(p) => Some(Const::Bool(self.choice.has(p) == (name == "is_some"))),
                        None => {
                            return Err(self.d.error(
                                Code::OptionalValue,
                                x.span,
                                "this is no optional parameter of the kernel",
                            ));
                        }
                    },
                    _ => None,
                }
            }
            ExprKind::Assoc(of, name) => variant(of, name, e.span, &self.k.scope, self.d).transpose()?,
            ExprKind::Name(n) => match self.const_param(n) {
                Some(v) => Some(v.clone()),
                None => match self.module_const(n, e.span)? {
                    Some((cx, value)) => cx.constant(value)?,
                    None => None,
                },
            },
            _ => None,
        })
    }

    fn block(&self, b: &Block) -> Result<String> {
        self.expr(self.value_of(b)?)
    }

    /// The value of a block, which has nothing else.
    fn value_of<'e>(&self, b: &'e Block) -> Result<&'e Expr> {
        match (&b.stmts[..], &b.value) {
            ([], Some(value)) => Ok(value),
            _ => Err(self.d.error(Code::GridExpression, b.span, ALLOWED)),
        }
    }

    /// The type that a name stands for.
    fn dtype(&self, t: &TypeName) -> Option<DType> {
        self.k.given.dtype(t, &self.choice.types, &self.k.scope)
    }

    fn name(&self, n: &str, e: &Expr) -> Result<String> {
        match self.const_param(n) {
            Some(Const::Int(v)) => return Ok(format!("{v}u64")),
            Some(_) => return Err(self.d.error(Code::GridExpression, e.span, ALLOWED)),
            None => {}
        }
        if let Some((cx, value)) = self.module_const(n, e.span)? {
            return cx.expr(value);
        }
        let Some(p) = self.param(n).filter(|p| p.kind == ParamKind::Scalar) else {
            return Err(self.d.error(Code::UnknownName, e.span, format!("unknown name `{n}` in the grid: {ALLOWED}")));
        };
        let word = self.first_word(p, e)?;
        match self.dtype(&p.elem) {
            Some(t) if t.is_int() && t.is_signed() && !planted!("grid-of-a-negative-number") => {
                Ok(format!("u64::try_from(g.words[{word}] as {}).unwrap_or(0)", t.name()))
            }
            Some(t) if t.is_int() => Ok(format!("(g.words[{word}] as {} as u64)", t.name())),
            _ => Err(self.d.error(Code::GridExpression, e.span, format!("`{n}` is no integer: {ALLOWED}"))),
        }
    }

    /// The first argument word of a parameter that is named somewhere.
    fn first_word(&self, p: &Param, at: &Expr) -> Result<usize> {
        if self.optional(at).is_some() {
            return Err(self.d.error(
                Code::OptionalValue,
                at.span,
                format!("`{0}` is optional: take it with `if let Some({0}) = {0} {{ .. }} else {{ .. }}`", p.name),
            ));
        }
        let before = self.k.params.iter().take_while(|q| q.name != p.name);
        Ok(before.filter(|q| self.choice.has(q)).map(|q| q.kind.words()).sum())
    }

    fn word(&self, x: &Expr, offset: impl Fn(ParamKind) -> Option<usize>) -> Result<String> {
        let ExprKind::Name(n) = &x.kind else { return Err(self.d.error(Code::GridExpression, x.span, ALLOWED)) };
        let found = self.param(n).and_then(|p| Some((p, offset(p.kind)?)));
        match found {
            Some((p, offset)) => Ok(format!("g.words[{}]", self.first_word(p, x)? + offset)),
            None => Err(self.d.error(Code::GridExpression, x.span, format!("`{n}` has no such extent: {ALLOWED}"))),
        }
    }
}
