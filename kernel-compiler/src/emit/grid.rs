//! Grid expressions: integers over parameters and constants, evaluated on the host before a launch.

use crate::diag::{Diagnostics, Reported, Result};
use crate::front::ast::{BinaryOp, Block, Config, Const, Expr, ExprKind, Kernel, ParamKind, UnaryOp};
use crate::front::constants::{compare, select, variant};
use crate::front::print::{self, Level};
use std::fmt;

/// The body of `fn(&GridCtx) -> [u64; 3]`, with the context in `g`.
pub fn body(k: &Kernel, config: &Config, d: &Diagnostics) -> Result<String> {
    let cx = Grid { k, config, d };
    let mut extents = k.grid.iter().map(|e| cx.expr(e)).collect::<Result<Vec<_>>>()?;
    extents.resize(3, "1u64".into());
    Ok(format!("[{}]", extents.join(", ")))
}

/// The body of `fn(&GridCtx) -> bool` for what a configuration requires of its arguments, and its text; none where it
/// requires nothing.
pub fn condition(k: &Kernel, config: &Config, d: &Diagnostics) -> Result<Option<(String, String)>> {
    let cx = Grid { k, config, d };
    let (mut code, mut texts) = (vec![], vec![]);
    for e in &k.requires {
        let e = cx.taken(e)?;
        match cx.condition(e)? {
            Condition::Known(true) => continue,
            of => code.push(format!("({of})")),
        }
        texts.push(print::expr(e, Level::And, 0));
    }
    Ok((!code.is_empty()).then(|| (code.join(" && "), texts.join(" && "))))
}

/// Reports the mistakes in what a kernel's first configuration has for a grid and requires.
pub fn check(k: &Kernel, d: &Diagnostics) {
    if let Some(config) = k.configs.first() {
        let (_, _) = (body(k, config, d), condition(k, config, d));
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
    k: &'a Kernel,
    config: &'a Config,
    d: &'a Diagnostics,
}

const ALLOWED: &str = "a grid is integer arithmetic on `x.len()`, `v.dim(axis)`, scalar parameters, const parameters, \
     cdiv, min, max and num_sms(), `if` on comparisons of them, and `match` on const parameters";

const CONDITION: &str = "a condition is a bool: `==`, `!=`, `<`, `<=`, `>` or `>=` of integers that a grid may have, \
     `&&`, `||`, `!`, or a const parameter";

impl Grid<'_> {
    fn expr(&self, e: &Expr) -> Result<String> {
        let d = self.d;
        Ok(match &e.kind {
            ExprKind::Int(n, _) if *n >= 0 => format!("{n}u64"),
            ExprKind::Cast(x, to) if crate::dtype::DType::parse(&to.name).is_some_and(|t| t.is_int()) => {
                self.expr(x)?
            }
            ExprKind::Cast(_, to) => return Err(d.error(to.span, ALLOWED)),
            ExprKind::Name(n) => self.name(n, e)?,
            ExprKind::Binary(op, a, b) => {
                let (a, b) = (self.expr(a)?, self.expr(b)?);
                match op {
                    BinaryOp::Add => format!("u64::saturating_add({a}, {b})"),
                    BinaryOp::Sub => format!("u64::saturating_sub({a}, {b})"),
                    BinaryOp::Mul => format!("u64::saturating_mul({a}, {b})"),
                    BinaryOp::Div => format!("u64::checked_div({a}, {b}).unwrap_or(0)"),
                    BinaryOp::Rem => format!("u64::checked_rem({a}, {b}).unwrap_or(0)"),
                    _ => return Err(d.error(e.span, ALLOWED)),
                }
            }
            ExprKind::If { cond, then, other: Some(other) } => {
                format!("(if {} {{ {} }} else {{ {} }})", self.condition(cond)?, self.block(then)?, self.expr(other)?)
            }
            ExprKind::Block(b) => self.block(b)?,
            ExprKind::Match { value, arms } => match self.constant(value)? {
                Some(of) => self.expr(select(&of, arms, |e| self.constant(e), e.span, d)?)?,
                None => return Err(d.error(value.span, ALLOWED)),
            },
            ExprKind::Call { name, args, .. } => match (name.to_string().as_str(), &args[..]) {
                ("num_sms", []) if self.config.ctas > 1 => format!("u64::max(1, g.num_sms / {})", self.config.ctas),
                ("num_sms", []) => "g.num_sms".into(),
                ("cdiv", [a, b]) if planted!("grid-rounds-down") => format!("({} / {})", self.expr(a)?, self.expr(b)?),
                ("cdiv", [a, b]) => format!("__k::cdiv({}, {})", self.expr(a)?, self.expr(b)?),
                ("min", [a, b]) => format!("u64::min({}, {})", self.expr(a)?, self.expr(b)?),
                ("max", [a, b]) => format!("u64::max({}, {})", self.expr(a)?, self.expr(b)?),
                ("len", [x]) => self.slot(x, |k| matches!(k, ParamKind::Slice { .. }).then_some(1))?,
                ("dim", [x, axis]) => {
                    let ExprKind::Int(axis, _) = axis.kind else {
                        return Err(d.error(axis.span, "an axis is a literal"));
                    };
                    self.slot(x, |k| {
                        matches!(k, ParamKind::View { rank, .. } if axis >= 0 && axis < rank as i128)
                            .then_some(1 + axis as usize)
                    })?
                }
                _ => return Err(d.error(e.span, ALLOWED)),
            },
            ExprKind::Error => return Err(Reported),
            _ => return Err(d.error(e.span, ALLOWED)),
        })
    }

    /// The part of a condition that the constants of the configuration leave.
    fn taken<'e>(&self, e: &'e Expr) -> Result<&'e Expr> {
        match &e.kind {
            ExprKind::If { cond, then, other: Some(other) } => match self.condition(cond)? {
                Condition::Known(true) => match (&then.stmts[..], &then.value) {
                    ([], Some(value)) => self.taken(value),
                    _ => Err(self.d.error(then.span, ALLOWED)),
                },
                Condition::Known(false) => self.taken(other),
                Condition::Asked(_) => Ok(e),
            },
            ExprKind::Block(Block { stmts, value: Some(value), .. }) if stmts.is_empty() => self.taken(value),
            ExprKind::And(a, b) | ExprKind::Or(a, b) => {
                let neutral = Condition::Known(matches!(e.kind, ExprKind::And(..)));
                match (self.condition(a)? == neutral, self.condition(b)? == neutral) {
                    (true, _) => self.taken(b),
                    (_, true) => self.taken(a),
                    _ => Ok(e),
                }
            }
            _ => Ok(e),
        }
    }

    fn condition(&self, e: &Expr) -> Result<Condition> {
        match &e.kind {
            ExprKind::And(a, b) => Ok(self.condition(a)?.joined(self.condition(b)?, true)),
            ExprKind::Or(a, b) => Ok(self.condition(a)?.joined(self.condition(b)?, false)),
            ExprKind::Unary(UnaryOp::Not, a) => Ok(match self.condition(a)? {
                Condition::Known(is) => Condition::Known(!is),
                Condition::Asked(code) => Condition::Asked(format!("!({code})")),
            }),
            ExprKind::Binary(op, a, b) if op.is_compare() => match (self.constant(a)?, self.constant(b)?) {
                (a @ Some(Const::Variant(..)), b) | (a, b @ Some(Const::Variant(..))) => {
                    compare(*op, a.as_ref(), b.as_ref(), e.span, self.d).map(Condition::Known)
                }
                _ => Ok(Condition::Asked(format!("{} {} {}", self.expr(a)?, op.symbol(), self.expr(b)?))),
            },
            _ => match self.constant(e)? {
                Some(Const::Bool(b)) => Ok(Condition::Known(b)),
                _ if matches!(e.kind, ExprKind::Error) => Err(Reported),
                _ => Err(self.d.error(e.span, CONDITION)),
            },
        }
    }

    /// A literal, a variant or a const parameter.
    fn constant(&self, e: &Expr) -> Result<Option<Const>> {
        Ok(match &e.kind {
            ExprKind::Int(n, _) => Some(Const::Int(*n)),
            ExprKind::Bool(b) => Some(Const::Bool(*b)),
            ExprKind::Assoc(of, name) => variant(of, name, e.span, &self.k.scope, self.d).transpose()?,
            ExprKind::Name(n) => match self.config.consts.iter().find(|(c, _)| c == n) {
                Some((_, v)) => Some(v.clone()),
                None => match self.k.scope.consts.iter().find(|(c, _)| c == n) {
                    Some((_, e)) => self.constant(e)?,
                    None => None,
                },
            },
            _ => None,
        })
    }

    fn block(&self, b: &Block) -> Result<String> {
        match (&b.stmts[..], &b.value) {
            ([], Some(value)) => self.expr(value),
            _ => Err(self.d.error(b.span, ALLOWED)),
        }
    }

    fn name(&self, n: &str, e: &Expr) -> Result<String> {
        match self.config.consts.iter().find(|(c, _)| c == n) {
            Some((_, Const::Int(v))) => return Ok(format!("{v}u64")),
            Some(_) => return Err(self.d.error(e.span, ALLOWED)),
            None => {}
        }
        if let Some((_, v)) = self.k.scope.consts.iter().find(|(c, _)| c == n) {
            return self.expr(v);
        }
        let param = self.k.params.iter().position(|p| p.name == n && p.kind == ParamKind::Scalar);
        let Some(i) = param else {
            return Err(self.d.error(e.span, format!("unknown name `{n}` in the grid: {ALLOWED}")));
        };
        let p = &self.k.params[i];
        match crate::dtype::DType::parse(&p.elem.name) {
            Some(t) if t.is_int() && t.is_signed() => {
                Ok(format!("u64::try_from(g.slots[{}] as {}).unwrap_or(0)", self.first_slot(i), t.name()))
            }
            Some(t) if t.is_int() => Ok(format!("(g.slots[{}] as {} as u64)", self.first_slot(i), t.name())),
            _ => Err(self.d.error(e.span, format!("`{n}` is no integer: {ALLOWED}"))),
        }
    }

    fn first_slot(&self, param: usize) -> usize {
        self.k.params[..param].iter().map(|p| p.kind.slots()).sum()
    }

    fn slot(&self, x: &Expr, offset: impl Fn(ParamKind) -> Option<usize>) -> Result<String> {
        let ExprKind::Name(n) = &x.kind else { return Err(self.d.error(x.span, ALLOWED)) };
        let found = self.k.params.iter().position(|p| p.name == n);
        match found.and_then(|i| offset(self.k.params[i].kind).map(|o| self.first_slot(i) + o)) {
            Some(slot) => Ok(format!("g.slots[{slot}]")),
            None => Err(self.d.error(x.span, format!("`{n}` has no such extent: {ALLOWED}"))),
        }
    }
}
