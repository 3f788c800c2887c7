//! Breakpoints: a line of a kernel, and the variables that are shown there.
//!
//! A breakpoint becomes a statement of the kernel's body, [`Stmt::Watch`]. It stands after the statement of its line,
//! so that it shows what this statement defines. It stands before a jump and before a branch, and at the beginning of
//! the body of a loop. It is at the first line of its statement.

use crate::front::ast::{Block, Expr, ExprKind, Helper, Kernel, Pattern, Scope, Stmt};
use proc_macro2::Ident;
use std::rc::Rc;

/// A line of a kernel's file, and the names of variables; without names, the variables that the line defines or
/// mentions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Breakpoint {
    /// The line in the file, from 1.
    pub line: usize,
    /// The variables that are shown.
    pub names: Vec<String>,
}

/// Inserts the statement of a breakpoint into a kernel, or into a helper of the same file, of which `text` is the
/// source. The line that it is at: `None` where no statement is on the breakpoint's line.
pub fn insert(k: &mut Kernel, text: &str, at: &Breakpoint) -> Option<usize> {
    if let Some(line) = insert_in(&mut k.body, at) {
        return Some(line);
    }
    let changed = k.scope.helpers.iter().enumerate().filter(|(_, h)| is_in(h, text)).find_map(|(i, h)| {
        let mut helper = Helper::clone(h);
        insert_in(&mut helper.body, at).map(|line| (i, helper, line))
    });
    let (i, helper, line) = changed?;
    let mut scope = Scope::clone(&k.scope);
    scope.helpers[i] = Rc::new(helper);
    k.scope = Rc::new(scope);
    Some(line)
}

/// Whether a helper is written in a file: those of libraries have lines of other files.
fn is_in(h: &Helper, text: &str) -> bool {
    let line = h.name.span().start().line.checked_sub(1).and_then(|i| text.lines().nth(i));
    !h.is_standard && line.is_some_and(|l| l.contains(&format!("fn {}", h.name)))
}

/// The lines on which statements of a body begin, in order.
pub fn lines(body: &Block) -> Vec<usize> {
    let mut found = vec![];
    collect(body, &mut found);
    found.sort_unstable();
    found.dedup();
    found
}

fn collect(b: &Block, out: &mut Vec<usize>) {
    for s in &b.stmts {
        out.push(lines_of(s).0);
        expr_of(s).into_iter().for_each(|e| blocks(e).into_iter().for_each(|b| collect(b, out)));
    }
    if let Some(e) = &b.value {
        out.push(e.span.first.start().line);
        blocks(e).into_iter().for_each(|b| collect(b, out));
    }
}

/// Inserts the statement of a breakpoint, and gives the first line of the statement on its line, if there is one. A
/// statement that begins on the line comes before those inside it.
fn insert_in(b: &mut Block, at: &Breakpoint) -> Option<usize> {
    for i in (0..b.stmts.len()).rev() {
        let (first, last) = lines_of(&b.stmts[i]);
        if matches!(b.stmts[i], Stmt::Watch { .. }) || !(first..=last).contains(&at.line) {
            continue;
        }
        let e = expr_of_mut(&mut b.stmts[i])?;
        if first != at.line
            && let Some(line) = blocks_mut(e).into_iter().find_map(|b| insert_in(b, at))
        {
            return Some(line);
        }
        match &mut b.stmts[i] {
            Stmt::Expr(e) if nests(e) => {
                if first != at.line {
                    return None;
                }
                if !at_start(e, at) {
                    b.stmts.insert(i, watch(&b.stmts[i], at));
                }
            }
            Stmt::Expr(Expr { kind: ExprKind::Break(_) | ExprKind::Continue(_) | ExprKind::Return(_), .. }) => {
                b.stmts.insert(i, watch(&b.stmts[i], at));
            }
            _ => b.stmts.insert(i + 1, watch(&b.stmts[i], at)),
        }
        return Some(first);
    }
    // The value of a block comes last: nothing stands behind it.
    let mut value = b.value.take()?;
    let (first, last) = (value.span.first.start().line, value.span.last.end().line);
    let mut found = None;
    if (first..=last).contains(&at.line) {
        if first != at.line {
            found = blocks_mut(&mut value).into_iter().find_map(|b| insert_in(b, at));
        }
        if found.is_none() && (first == at.line || !nests(&value)) {
            found = Some(first);
            if !at_start(&mut value, at) {
                b.stmts.push(watch(&Stmt::Expr((*value).clone()), at));
            }
        }
    }
    b.value = Some(value);
    found
}

/// Whether it is control flow, with statements of its own.
fn nests(e: &Expr) -> bool {
    matches!(
        e.kind,
        ExprKind::Block(_)
            | ExprKind::If { .. }
            | ExprKind::Match { .. }
            | ExprKind::For { .. }
            | ExprKind::While { .. }
            | ExprKind::Loop { .. }
    )
}

/// At the beginning of the body of a loop; `false` for any other expression.
fn at_start(e: &mut Expr, at: &Breakpoint) -> bool {
    let span = e.span;
    let (names, body) = match &mut e.kind {
        ExprKind::For { pattern, body, .. } => (names_of(pattern), body),
        ExprKind::While { cond, body, .. } => (mentioned(cond), body),
        ExprKind::Loop { body, .. } => (vec![], body),
        _ => return false,
    };
    let one = chosen(at, names, span);
    body.stmts.insert(0, one);
    true
}

fn watch(s: &Stmt, at: &Breakpoint) -> Stmt {
    let (names, span) = match s {
        Stmt::Let { pattern, span, .. } => (names_of(pattern), *span),
        Stmt::Const { name, value, .. } => (vec![name.to_string()], value.span),
        Stmt::Watch { span, .. } => (vec![], *span),
        Stmt::Expr(e) => match &e.kind {
            ExprKind::Assign(to, _) | ExprKind::AssignOp(_, to, _) => (mentioned(to), e.span),
            _ => (mentioned(e), e.span),
        },
    };
    chosen(at, names, span)
}

fn chosen(at: &Breakpoint, own: Vec<String>, span: crate::diag::Span) -> Stmt {
    let is_chosen = !at.names.is_empty();
    Stmt::Watch { names: if is_chosen { at.names.clone() } else { own }, is_chosen, span }
}

fn lines_of(s: &Stmt) -> (usize, usize) {
    let span = match s {
        Stmt::Let { span, .. } | Stmt::Watch { span, .. } => *span,
        Stmt::Const { value, .. } => value.span,
        Stmt::Expr(e) => e.span,
    };
    (span.first.start().line, span.last.end().line)
}

fn expr_of(s: &Stmt) -> Option<&Expr> {
    match s {
        Stmt::Let { init, .. } => init.as_ref(),
        Stmt::Const { value: e, .. } | Stmt::Expr(e) => Some(e),
        Stmt::Watch { .. } => None,
    }
}

fn expr_of_mut(s: &mut Stmt) -> Option<&mut Expr> {
    match s {
        Stmt::Let { init, .. } => init.as_mut(),
        Stmt::Const { value: e, .. } | Stmt::Expr(e) => Some(e),
        Stmt::Watch { .. } => None,
    }
}

/// The blocks that are a part of control flow; those of closures are not.
fn blocks(e: &Expr) -> Vec<&Block> {
    match &e.kind {
        ExprKind::Block(b) => vec![b],
        ExprKind::If { then, other, .. } => std::iter::once(then).chain(other.iter().flat_map(|e| blocks(e))).collect(),
        ExprKind::Match { arms, .. } => arms.iter().flat_map(|a| blocks(&a.body).into_iter().chain(&a.rest)).collect(),
        ExprKind::For { body, .. } | ExprKind::While { body, .. } | ExprKind::Loop { body, .. } => vec![body],
        ExprKind::Assign(_, e) | ExprKind::AssignOp(_, _, e) | ExprKind::Typed(e, _) => blocks(e),
        _ => vec![],
    }
}

fn blocks_mut(e: &mut Expr) -> Vec<&mut Block> {
    match &mut e.kind {
        ExprKind::Block(b) => vec![b],
        ExprKind::If { then, other, .. } => {
            std::iter::once(then).chain(other.iter_mut().flat_map(|e| blocks_mut(e))).collect()
        }
        ExprKind::Match { arms, .. } => {
            arms.iter_mut().flat_map(|a| blocks_mut(&mut a.body).into_iter().chain(&mut a.rest)).collect()
        }
        ExprKind::For { body, .. } | ExprKind::While { body, .. } | ExprKind::Loop { body, .. } => vec![body],
        ExprKind::Assign(_, e) | ExprKind::AssignOp(_, _, e) | ExprKind::Typed(e, _) => blocks_mut(e),
        _ => vec![],
    }
}

/// The names that a pattern defines.
fn names_of(p: &Pattern) -> Vec<String> {
    match p {
        Pattern::Name { name, .. } => vec![name.to_string()],
        Pattern::Tuple(parts) => parts.iter().flat_map(names_of).collect(),
        Pattern::Struct { fields, .. } => fields.iter().flat_map(|(_, p): &(Ident, Pattern)| names_of(p)).collect(),
        Pattern::Ignore => vec![],
    }
}

/// The names in an expression, each once, in order.
fn mentioned(e: &Expr) -> Vec<String> {
    let mut out = vec![];
    mention(e, &mut out);
    out
}

fn mention(e: &Expr, out: &mut Vec<String>) {
    match &e.kind {
        ExprKind::Name(name) if !out.contains(name) => out.push(name.clone()),
        ExprKind::Unary(_, a)
        | ExprKind::Cast(a, _)
        | ExprKind::ToPointer(a, _)
        | ExprKind::Field(a, _)
        | ExprKind::Member(a, _)
        | ExprKind::Return(Some(a))
        | ExprKind::If { cond: a, .. }
        | ExprKind::Match { value: a, .. }
        | ExprKind::Typed(a, _) => mention(a, out),
        ExprKind::Binary(_, a, b)
        | ExprKind::And(a, b)
        | ExprKind::Or(a, b)
        | ExprKind::Index(a, b)
        | ExprKind::Repeat(a, b)
        | ExprKind::Assign(a, b)
        | ExprKind::AssignOp(_, a, b)
        | ExprKind::Range { lo: a, hi: b, .. } => [a, b].into_iter().for_each(|e| mention(e, out)),
        ExprKind::Call { args: parts, .. } | ExprKind::Tuple(parts) | ExprKind::Array(parts) => {
            parts.iter().for_each(|e| mention(e, out));
        }
        _ => {}
    }
}
