//! Statements and expressions of a kernel body.

use crate::diag::{Diagnostics, Result};
use crate::dtype::DType;
use crate::front::ast::{
    Arm, BinaryOp, Block, Closure, ClosureParam, Expr, ExprKind, Generic, Pattern, Said, Stmt, TypeName, UnaryOp,
};
use crate::front::parse::types::{said, type_name};
use proc_macro2::Ident;
use std::rc::Rc;
use syn::spanned::Spanned;

pub fn block(b: &syn::Block, d: &Diagnostics) -> Result<Block> {
    let mut stmts = vec![];
    let mut value = None;
    let mut failed = None;
    for (i, s) in b.stmts.iter().enumerate() {
        let last = i + 1 == b.stmts.len();
        match stmt(s, last, d) {
            Ok((s, None)) => stmts.extend(s),
            Ok((_, v)) => value = v.map(Box::new),
            Err(r) => failed = Some(r),
        }
    }
    match failed {
        Some(r) => Err(r),
        None => Ok(Block { stmts, value, span: b.brace_token.span.join() }),
    }
}

fn stmt(s: &syn::Stmt, last: bool, d: &Diagnostics) -> Result<(Option<Stmt>, Option<Expr>)> {
    Ok(match s {
        syn::Stmt::Local(l) => {
            let (pat, ty) = match &l.pat {
                syn::Pat::Type(t) => (pattern(&t.pat, d)?, local_type(&t.ty, d)?),
                p => (pattern(p, d)?, Said::Nothing),
            };
            let init = match &l.init {
                None => None,
                Some(i) => {
                    if let Some((e, _)) = &i.diverge {
                        return Err(d.error(e.span(), "`let .. else` is not part of the tile language"));
                    }
                    Some(expr(&i.expr, d)?)
                }
            };
            (Some(Stmt::Let { pattern: pat, ty, init, span: l.span() }), None)
        }
        syn::Stmt::Expr(e, semi) => {
            let parsed = expr(e, d)?;
            if last && semi.is_none() { (None, Some(parsed)) } else { (Some(Stmt::Expr(parsed)), None) }
        }
        syn::Stmt::Macro(m) => {
            let parsed = macro_call(&m.mac, d)?;
            (Some(Stmt::Expr(parsed)), None)
        }
        syn::Stmt::Item(syn::Item::Const(c)) => {
            let (ty, value) = (local_type(&c.ty, d)?, expr(&c.expr, d)?);
            (Some(Stmt::Const { name: c.ident.clone(), ty, value }), None)
        }
        syn::Stmt::Item(i) => {
            return Err(d.error(
                i.span(),
                "no items but constants inside a kernel: put helpers and enums beside it, in a `#[tile_module]`",
            ));
        }
    })
}

/// The type of a `let`.
fn local_type(ty: &syn::Type, d: &Diagnostics) -> Result<Said> {
    match ty {
        syn::Type::Infer(_) => Ok(Said::Nothing),
        syn::Type::Tuple(t) => Ok(Said::Tuple(t.elems.iter().map(|t| local_type(t, d)).collect::<Result<_>>()?)),
        syn::Type::Path(p) if p.path.segments.last().is_some_and(|s| s.ident == "Tile") => Ok(said(ty, d)),
        ty => type_name(ty, d).map(Said::Elem),
    }
}

pub fn pattern(p: &syn::Pat, d: &Diagnostics) -> Result<Pattern> {
    match p {
        syn::Pat::Ident(i) if i.subpat.is_none() && i.by_ref.is_none() => {
            Ok(Pattern::Name { name: i.ident.clone(), mutable: i.mutability.is_some() })
        }
        syn::Pat::Tuple(t) => Ok(Pattern::Tuple(t.elems.iter().map(|e| pattern(e, d)).collect::<Result<_>>()?)),
        syn::Pat::Wild(_) => Ok(Pattern::Ignore),
        syn::Pat::Type(t) => pattern(&t.pat, d),
        syn::Pat::Paren(t) => pattern(&t.pat, d),
        _ => Err(d.error(p.span(), "a pattern here is a name, `mut` name, `_` or a tuple of these")),
    }
}

fn boxed(e: &syn::Expr, d: &Diagnostics) -> Result<Box<Expr>> {
    Ok(Box::new(expr(e, d)?))
}

fn exprs<'a>(list: impl Iterator<Item = &'a syn::Expr>, d: &Diagnostics) -> Result<Vec<Expr>> {
    // All are parsed before the first failure is passed on, so that each mistake is reported.
    list.map(|e| expr(e, d)).collect::<Vec<_>>().into_iter().collect()
}

pub fn expr(e: &syn::Expr, d: &Diagnostics) -> Result<Expr> {
    let span = e.span();
    let kind = match e {
        syn::Expr::Lit(l) => literal(&l.lit, d)?,
        syn::Expr::Path(p) => path(&p.path, d)?,
        syn::Expr::Paren(p) => return expr(&p.expr, d),
        syn::Expr::Group(g) => return expr(&g.expr, d),
        syn::Expr::Unsafe(u) => ExprKind::Block(block(&u.block, d)?),
        syn::Expr::Block(b) => ExprKind::Block(block(&b.block, d)?),
        syn::Expr::Unary(u) => match u.op {
            syn::UnOp::Neg(_) => match expr(&u.expr, d)? {
                // `-1` is a literal: its sign counts when it takes a type.
                Expr { kind: ExprKind::Int(v, t), .. } => ExprKind::Int(-v, t),
                Expr { kind: ExprKind::Float(v, t), .. } => ExprKind::Float(-v, t),
                inner => ExprKind::Unary(UnaryOp::Neg, Box::new(inner)),
            },
            syn::UnOp::Not(_) => ExprKind::Unary(UnaryOp::Not, boxed(&u.expr, d)?),
            _ => return Err(d.error(span, "no dereference: read memory with `load`")),
        },
        syn::Expr::Binary(b) => binary(b, d)?,
        syn::Expr::Assign(a) => ExprKind::Assign(boxed(&a.left, d)?, boxed(&a.right, d)?),
        syn::Expr::Cast(c) => ExprKind::Cast(boxed(&c.expr, d)?, type_name(&c.ty, d)?),
        syn::Expr::Call(c) => {
            let syn::Expr::Path(p) = &*c.func else {
                return Err(d.error(c.func.span(), "call a function by its name"));
            };
            let last = p.path.segments.last().expect("a path has a segment");
            ExprKind::Call {
                name: last.ident.clone(),
                generics: generics(&last.arguments, d)?,
                args: exprs(c.args.iter(), d)?,
                method: false,
            }
        }
        syn::Expr::MethodCall(m) => {
            let generics = match &m.turbofish {
                Some(t) => angle(t, d)?,
                None => vec![],
            };
            ExprKind::Call {
                name: m.method.clone(),
                generics,
                args: exprs(std::iter::once(&*m.receiver).chain(m.args.iter()), d)?,
                method: true,
            }
        }
        syn::Expr::Macro(m) => return macro_call(&m.mac, d),
        syn::Expr::Tuple(t) => ExprKind::Tuple(exprs(t.elems.iter(), d)?),
        syn::Expr::Array(a) => ExprKind::Array(exprs(a.elems.iter(), d)?),
        syn::Expr::Repeat(r) => ExprKind::Repeat(boxed(&r.expr, d)?, boxed(&r.len, d)?),
        syn::Expr::Field(f) => match &f.member {
            syn::Member::Unnamed(i) => ExprKind::Field(boxed(&f.base, d)?, i.index as usize),
            syn::Member::Named(n) => {
                return Err(d.error(n.span(), format!("no field `{n}`: only tuples have fields, `.0`, `.1`, ..")));
            }
        },
        syn::Expr::Range(r) => {
            let (Some(lo), Some(hi), syn::RangeLimits::HalfOpen(_)) = (&r.start, &r.end, &r.limits) else {
                return Err(d.error(span, "a range here is `a..b`"));
            };
            ExprKind::Range(boxed(lo, d)?, boxed(hi, d)?)
        }
        syn::Expr::Closure(c) => ExprKind::Closure(Rc::new(closure(c, d)?)),
        syn::Expr::If(i) => {
            if let syn::Expr::Let(l) = &*i.cond {
                return Err(d.error(l.span(), "`if let` is not part of the tile language"));
            }
            let other = match &i.else_branch {
                Some((_, e)) => Some(boxed(e, d)?),
                None => None,
            };
            ExprKind::If { cond: boxed(&i.cond, d)?, then: block(&i.then_branch, d)?, other }
        }
        syn::Expr::ForLoop(f) => {
            ExprKind::For { pattern: pattern(&f.pat, d)?, over: boxed(&f.expr, d)?, body: block(&f.body, d)? }
        }
        syn::Expr::While(w) => {
            if let syn::Expr::Let(l) = &*w.cond {
                return Err(d.error(l.span(), "`while let` is not part of the tile language"));
            }
            ExprKind::While { cond: boxed(&w.cond, d)?, body: block(&w.body, d)? }
        }
        syn::Expr::Loop(l) => ExprKind::Loop { body: block(&l.body, d)? },
        syn::Expr::Break(b) if b.label.is_none() && b.expr.is_none() => ExprKind::Break,
        syn::Expr::Continue(c) if c.label.is_none() => ExprKind::Continue,
        syn::Expr::Break(_) | syn::Expr::Continue(_) => {
            return Err(d.error(span, "`break` and `continue` take no label and no value"));
        }
        syn::Expr::Return(r) if r.expr.is_none() => ExprKind::Return,
        syn::Expr::Return(r) => return Err(d.error(r.span(), "`return` takes no value: end a helper with its value")),
        syn::Expr::Reference(r) => return expr(&r.expr, d),
        syn::Expr::Index(i) => return Err(d.error(
            i.span(),
            "no indexing: `load(x, i)` reads elements, `.expand(axis)` adds a dimension, `.0` takes a tuple's field",
        )),
        syn::Expr::Match(m) => ExprKind::Match {
            value: boxed(&m.expr, d)?,
            arms: m.arms.iter().map(|a| arm(a, d)).collect::<Result<_>>()?,
        },
        syn::Expr::Try(t) => {
            return Err(d.error(t.question_token.span(), "`?` is not part of the tile language: kernels do not fail"));
        }
        _ => return Err(d.error(span, "this syntax is not part of the tile language (docs/language.md)")),
    };
    Ok(Expr { kind, span })
}

fn closure(c: &syn::ExprClosure, d: &Diagnostics) -> Result<Closure> {
    let param = |p: &syn::Pat| {
        let ty = match p {
            syn::Pat::Type(t) => said(&t.ty, d),
            _ => Said::Nothing,
        };
        Ok(ClosureParam { pattern: pattern(p, d)?, ty, span: p.span() })
    };
    let returns = match &c.output {
        syn::ReturnType::Default => Said::Nothing,
        syn::ReturnType::Type(_, ty) => said(ty, d),
    };
    Ok(Closure { params: c.inputs.iter().map(param).collect::<Result<_>>()?, returns, body: expr(&c.body, d)? })
}

fn arm(a: &syn::Arm, d: &Diagnostics) -> Result<Arm> {
    if let Some((token, _)) = &a.guard {
        return Err(d.error(token.span(), "an arm of a `match` has no `if`: write an `if` in its body"));
    }
    Ok(Arm { of: arm_pattern(&a.pat, d)?, body: expr(&a.body, d)? })
}

/// The constants that an arm takes; none for `_`.
fn arm_pattern(p: &syn::Pat, d: &Diagnostics) -> Result<Option<Vec<Expr>>> {
    let one = |kind| Ok(Some(vec![Expr { kind, span: p.span() }]));
    match p {
        syn::Pat::Wild(_) => Ok(None),
        syn::Pat::Paren(p) => arm_pattern(&p.pat, d),
        syn::Pat::Path(p) if p.path.segments.len() > 1 => one(path(&p.path, d)?),
        syn::Pat::Lit(l) if matches!(l.lit, syn::Lit::Int(_) | syn::Lit::Bool(_)) => one(literal(&l.lit, d)?),
        syn::Pat::Or(or) => {
            let cases = or.cases.iter().map(|p| arm_pattern(p, d)).collect::<Result<Option<Vec<_>>>>()?;
            Ok(cases.map(|list| list.into_iter().flatten().collect()))
        }
        _ => Err(d.error(
            p.span(),
            "an arm of a `match` takes `Enum::Variant`, `true`, `false`, an integer, several of these with `|`, or `_`",
        )),
    }
}

fn literal(l: &syn::Lit, d: &Diagnostics) -> Result<ExprKind> {
    let suffix = |s: &str, span| match s {
        "" => Ok(None),
        s => DType::parse(s).map(Some).ok_or_else(|| d.error(span, format!("unknown literal suffix `{s}`"))),
    };
    Ok(match l {
        syn::Lit::Int(i) => {
            let ty = suffix(i.suffix(), i.span())?;
            let v = i.base10_parse::<i128>().map_err(|e| d.syn(e))?;
            match ty {
                Some(t) if t.is_float() => ExprKind::Float(v as f64, ty),
                _ => ExprKind::Int(v, ty),
            }
        }
        syn::Lit::Float(f) => match f.base10_parse::<f64>().map_err(|e| d.syn(e))? {
            v if v.is_infinite() => return Err(d.error(f.span(), "more than any float holds")),
            v => ExprKind::Float(v, suffix(f.suffix(), f.span())?),
        },
        syn::Lit::Bool(b) => ExprKind::Bool(b.value),
        syn::Lit::Str(s) => ExprKind::Str(s.value()),
        other => return Err(d.error(other.span(), "a literal here is an integer, a float or a bool")),
    })
}

fn path(p: &syn::Path, d: &Diagnostics) -> Result<ExprKind> {
    let s: Vec<&Ident> = p.segments.iter().map(|s| &s.ident).collect();
    match s[..] {
        [name] => Ok(ExprKind::Name(name.to_string())),
        // f32::INFINITY, core::f32::consts::PI
        [ty, name] => Ok(ExprKind::Assoc(TypeName { name: ty.to_string(), span: ty.span() }, name.to_string())),
        [.., ty, module, name] if module == "consts" => {
            Ok(ExprKind::Assoc(TypeName { name: ty.to_string(), span: ty.span() }, name.to_string()))
        }
        _ => Err(d.error(
            p.span(),
            "unknown path: a kernel sees its parameters, its constants and `f32::INFINITY`-like constants",
        )),
    }
}

fn generics(a: &syn::PathArguments, d: &Diagnostics) -> Result<Vec<Generic>> {
    match a {
        syn::PathArguments::AngleBracketed(a) => angle(a, d),
        _ => Ok(vec![]),
    }
}

fn angle(a: &syn::AngleBracketedGenericArguments, d: &Diagnostics) -> Result<Vec<Generic>> {
    a.args
        .iter()
        .filter(|g| !matches!(g, syn::GenericArgument::Type(syn::Type::Infer(_))))
        .map(|g| match g {
            syn::GenericArgument::Type(t) => type_name(t, d).map(Generic::Type),
            syn::GenericArgument::Const(e) => expr(e, d).map(Generic::Const),
            other => Err(d.error(other.span(), "a type or a constant is expected here")),
        })
        .collect()
}

fn binary(b: &syn::ExprBinary, d: &Diagnostics) -> Result<ExprKind> {
    use syn::BinOp::*;
    let (l, r) = (boxed(&b.left, d), boxed(&b.right, d));
    let (l, r) = (l?, r?);
    let op = match b.op {
        Add(_) | AddAssign(_) => BinaryOp::Add,
        Sub(_) | SubAssign(_) => BinaryOp::Sub,
        Mul(_) | MulAssign(_) => BinaryOp::Mul,
        Div(_) | DivAssign(_) => BinaryOp::Div,
        Rem(_) | RemAssign(_) => BinaryOp::Rem,
        BitAnd(_) | BitAndAssign(_) => BinaryOp::And,
        BitOr(_) | BitOrAssign(_) => BinaryOp::Or,
        BitXor(_) | BitXorAssign(_) => BinaryOp::Xor,
        Shl(_) | ShlAssign(_) => BinaryOp::Shl,
        Shr(_) | ShrAssign(_) => BinaryOp::Shr,
        Eq(_) => BinaryOp::Eq,
        Ne(_) => BinaryOp::Ne,
        Lt(_) => BinaryOp::Lt,
        Le(_) => BinaryOp::Le,
        Gt(_) => BinaryOp::Gt,
        Ge(_) => BinaryOp::Ge,
        And(_) => return Ok(ExprKind::And(l, r)),
        Or(_) => return Ok(ExprKind::Or(l, r)),
        _ => return Err(d.error(b.op.span(), "unknown operator")),
    };
    let assigns = matches!(
        b.op,
        AddAssign(_)
            | SubAssign(_)
            | MulAssign(_)
            | DivAssign(_)
            | RemAssign(_)
            | BitAndAssign(_)
            | BitOrAssign(_)
            | BitXorAssign(_)
            | ShlAssign(_)
            | ShrAssign(_)
    );
    Ok(if assigns { ExprKind::AssignOp(op, l, r) } else { ExprKind::Binary(op, l, r) })
}

/// `static_assert!(c, "..")` and its like: a call of the same name.
fn macro_call(m: &syn::Macro, d: &Diagnostics) -> Result<Expr> {
    let name = m.path.segments.last().expect("a path has a segment").ident.clone();
    if !["static_assert", "device_assert", "device_print"].contains(&name.to_string().as_str()) {
        return Err(d.error(
            m.path.span(),
            format!("unknown macro `{name}!`: a kernel has static_assert!, device_assert! and device_print!"),
        ));
    }
    let args = m
        .parse_body_with(syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated)
        .map_err(|e| d.syn(e))?;
    Ok(Expr {
        kind: ExprKind::Call { name, generics: vec![], args: exprs(args.iter(), d)?, method: false },
        span: m.span(),
    })
}
