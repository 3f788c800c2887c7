//! `return` of helpers and closures, which are inlined: a block with an early `return` becomes a block whose value is
//! the returned one. The statements after `if c { return a; }` become its `else`.

use std::cell::Cell;

use crate::diag::{Code, Diagnostics, Reported, Result, Span};
use crate::front::ast::{Arm, ArmPattern, Block, Expr, ExprKind, Pattern, Said, Stmt};

/// The body of a helper or a closure without `return`. `said` is the type that it says that it returns.
pub fn as_values(b: Block, said: &Said, d: &Diagnostics) -> Block {
    if in_block(&b).is_none() {
        return b;
    }
    let span = b.span;
    let lost = |_: Reported| {
        let mistake = Expr { kind: ExprKind::Error, span };
        Block { stmts: vec![], value: Some(Box::new(mistake)), span }
    };
    Returns { said, d, copied: Cell::new(0) }.block(b).unwrap_or_else(lost)
}

struct Returns<'a> {
    said: &'a Said,
    d: &'a Diagnostics,
    /// Statements that stand behind branches that go on, each of which has a copy.
    copied: Cell<usize>,
}

/// The first `return` in an expression, but for those of closures, which leave these.
fn found(e: &Expr) -> Option<Span> {
    let any = |list: &[&Expr]| list.iter().find_map(|e| found(e));
    match &e.kind {
        ExprKind::Return(_) => Some(e.span),
        ExprKind::Int(..)
        | ExprKind::Float(..)
        | ExprKind::Bool(_)
        | ExprKind::Str(_)
        | ExprKind::Name(_)
        | ExprKind::Assoc(..)
        | ExprKind::Closure(_)
        | ExprKind::Break(_)
        | ExprKind::Continue(_)
        | ExprKind::Error => None,
        ExprKind::Typed(x, _)
        | ExprKind::Unary(_, x)
        | ExprKind::Cast(x, _)
        | ExprKind::ToPointer(x, _)
        | ExprKind::Field(x, _)
        | ExprKind::Member(x, _) => found(x),
        ExprKind::Binary(_, a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b)
        | ExprKind::Repeat(a, b)
        | ExprKind::Index(a, b)
        | ExprKind::Assign(a, b)
        | ExprKind::AssignOp(_, a, b)
        | ExprKind::Range { lo: a, hi: b, .. } => any(&[a, b]),
        ExprKind::Call { args: list, .. } | ExprKind::Tuple(list) | ExprKind::Array(list) => {
            list.iter().find_map(found)
        }
        ExprKind::Struct { fields, .. } => fields.iter().find_map(|(_, e)| found(e)),
        ExprKind::Block(b) | ExprKind::Loop { body: b, .. } => in_block(b),
        ExprKind::If { cond, then, other } => {
            found(cond).or_else(|| in_block(then)).or_else(|| other.as_ref().and_then(|e| found(e)))
        }
        ExprKind::Match { value, arms } => found(value).or_else(|| arms.iter().find_map(|a| found(&a.body))),
        ExprKind::For { over: e, body, .. } | ExprKind::While { cond: e, body, .. } => {
            found(e).or_else(|| in_block(body))
        }
    }
}

fn in_stmt(s: &Stmt) -> Option<Span> {
    match s {
        Stmt::Let { init, .. } => init.as_ref().and_then(found),
        Stmt::Const { value, .. } => found(value),
        Stmt::Expr(e) => found(e),
        Stmt::Watch { .. } => None,
    }
}

fn in_block(b: &Block) -> Option<Span> {
    b.stmts.iter().find_map(in_stmt).or_else(|| b.value.as_ref().and_then(|e| found(e)))
}

/// Whether every way through an expression ends with a `return`.
fn returns(e: &Expr) -> bool {
    match &e.kind {
        ExprKind::Return(_) => true,
        ExprKind::Block(b) => block_returns(b),
        ExprKind::If { then, other: Some(other), .. } => block_returns(then) && returns(other),
        ExprKind::Match { arms, .. } => arms.iter().all(|a| returns(&a.body)),
        _ => false,
    }
}

fn block_returns(b: &Block) -> bool {
    let in_stmts = b.stmts.iter().any(|s| matches!(s, Stmt::Expr(e) if returns(e)));
    in_stmts || b.value.as_ref().is_some_and(|e| returns(e))
}

/// Branches that go on double the rest of a function each time.
const MAX_COPIED: usize = 1 << 14;

impl Returns<'_> {
    /// The rest of a function behind one more branch that goes on.
    fn copy(&self, rest: &Block) -> Result<Block> {
        self.copied.set(self.copied.get() + rest.stmts.len() + 1);
        match self.copied.get() > MAX_COPIED {
            false => Ok(rest.clone()),
            true => Err(self.d.error(
                Code::TooManyOperations,
                rest.span,
                format!(
                    "early returns repeat the rest of a function in each branch that goes on: more than {MAX_COPIED} \
                     statements here; let branches without a `return` end, or put the rest into a helper"
                ),
            )),
        }
    }

    fn block(&self, mut b: Block) -> Result<Block> {
        let Some(at) = b.stmts.iter().position(|s| in_stmt(s).is_some()) else {
            b.value = b.value.map(|e| self.value(*e).map(Box::new)).transpose()?;
            return Ok(b);
        };
        let mut rest = b.stmts.split_off(at);
        let first = rest.remove(0);
        let rest = Block { stmts: rest, value: b.value, span: b.span };
        let last = match first {
            Stmt::Expr(e) => self.split(e, &|e| e.map_or_else(|| self.copy(&rest), |e| self.after(e, &rest)))?,
            Stmt::Let { pattern, ty, init: Some(init), span } => {
                let continued = |e: Option<Expr>| {
                    let e = e.map(unwrapped);
                    if let Some(Expr { kind: ExprKind::Block(inner), .. }) = &e
                        && let Some(at) = in_block(inner)
                    {
                        return Err(misplaced(at, self.d));
                    }
                    let bound = Stmt::Let { pattern: pattern.clone(), ty: ty.clone(), init: e, span };
                    let rest = self.copy(&rest)?;
                    Ok(Block { stmts: [vec![bound], rest.stmts].concat(), ..rest })
                };
                self.split(init, &continued)?
            }
            s => return Err(misplaced(in_stmt(&s).unwrap_or(b.span), self.d)),
        };
        Ok(Block { stmts: b.stmts, value: last.map(Box::new), span: b.span })
    }

    /// A statement that goes on, before the rest of its block. The names that it defines are not those of the rest.
    fn after(&self, e: Expr, rest: &Block) -> Result<Block> {
        match (&e.kind, found(&e)) {
            (ExprKind::Block(inner), Some(at)) if inner.stmts.iter().any(|s| !matches!(s, Stmt::Expr(_))) => {
                Err(declares(at, self.d))
            }
            // Its statements first, so that each `return` in them is seen.
            (ExprKind::Block(inner), Some(_)) => {
                let value = inner.value.iter().map(|v| Stmt::Expr((**v).clone()));
                let rest = self.copy(rest)?;
                let stmts = inner.stmts.iter().cloned().chain(value).chain(rest.stmts);
                Ok(Block { stmts: stmts.collect(), ..rest })
            }
            _ => {
                let rest = self.copy(rest)?;
                Ok(Block { stmts: [vec![Stmt::Expr(e)], rest.stmts].concat(), ..rest })
            }
        }
    }

    /// The value of a statement with a `return` and of the statements after it. `continued` gives the code after a
    /// branch that goes on.
    fn split(&self, e: Expr, continued: &dyn Fn(Option<Expr>) -> Result<Block>) -> Result<Option<Expr>> {
        let span = e.span;
        let branch = |b: Expr| -> Result<Block> {
            match returns(&b) {
                true => self.block(of_expr(b)),
                false => self.block(continued(Some(b))?),
            }
        };
        let kind = match e.kind {
            ExprKind::Return(v) => return v.map(|v| self.value(*v)).transpose(),
            ExprKind::If { cond, then, other } if found(&cond).is_none() => {
                let then = branch(Expr { span: then.span, kind: ExprKind::Block(then) })?;
                let other = match other {
                    Some(other) => branch(*other)?,
                    None => self.block(continued(None)?)?,
                };
                let other = Expr { span: other.span, kind: ExprKind::Block(other) };
                ExprKind::If { cond, then, other: Some(Box::new(other)) }
            }
            ExprKind::Match { value, arms } if found(&value).is_none() => {
                let arm = |a: Arm| {
                    if matches!(a.pattern, ArmPattern::Some(_)) && found(&a.body).is_none() {
                        let value = Expr { span: a.body.span, kind: ExprKind::Name(Arm::VALUE.into()) };
                        return Ok(Arm { rest: Some(self.block(continued(Some(value))?)?), ..a });
                    }
                    if let (ArmPattern::Some(pattern), Some(at)) = (&a.pattern, found(&a.body))
                        && !matches!(pattern, Pattern::Ignore)
                        && !returns(&a.body)
                    {
                        return Err(declares(at, self.d));
                    }
                    let body = branch(a.body)?;
                    Ok(Arm { body: Expr { span: body.span, kind: ExprKind::Block(body) }, ..a })
                };
                ExprKind::Match { value, arms: arms.into_iter().map(arm).collect::<Result<_>>()? }
            }
            ExprKind::Block(b) => ExprKind::Block(branch(Expr { span, kind: ExprKind::Block(b) })?),
            kind => return Err(misplaced(found(&Expr { kind, span }).unwrap_or(span), self.d)),
        };
        Ok(Some(Expr { kind, span }))
    }

    /// The last expression of a block, whose branches may return.
    fn value(&self, e: Expr) -> Result<Expr> {
        if found(&e).is_none() {
            return Ok(self.typed(e));
        }
        let span = e.span;
        let nothing = Block { stmts: vec![], value: None, span };
        let last = |e: Option<Expr>| Ok(e.map_or(nothing.clone(), of_expr));
        let unit = Expr { kind: ExprKind::Tuple(vec![]), span };
        self.split(e, &last).map(|e| e.unwrap_or(unit))
    }

    /// A value that is returned, of the type that is said of it.
    fn typed(&self, e: Expr) -> Expr {
        match self.said {
            Said::Nothing => e,
            said => Expr { span: e.span, kind: ExprKind::Typed(Box::new(e), said.clone()) },
        }
    }
}

/// The rest of the function would see the names that the branch declares.
fn declares(at: Span, d: &Diagnostics) -> Reported {
    d.error(
        Code::ReturnPlace,
        at,
        "this `return` stands in a branch that declares variables and may go on: end the branch with `return`, or write \
         the rest of the function in an `else`",
    )
}

/// An expression without the braces around it.
fn unwrapped(e: Expr) -> Expr {
    match e.kind {
        ExprKind::Block(Block { stmts, value: Some(value), .. }) if stmts.is_empty() => unwrapped(*value),
        _ => e,
    }
}

/// An expression as a block.
fn of_expr(e: Expr) -> Block {
    match e.kind {
        ExprKind::Block(b) => b,
        kind => Block { span: e.span, stmts: vec![], value: Some(Box::new(Expr { kind, span: e.span })) },
    }
}

fn misplaced(at: Span, d: &Diagnostics) -> Reported {
    d.error(
        Code::ReturnPlace,
        at,
        "a `return` of a helper or a closure stands in a block, in branches of `if` and `match`, not in a loop or inside of \
         an operation: a loop assigns to a variable, and leaves with `break`",
    )
}
