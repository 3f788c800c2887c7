//! Statements and expressions of a kernel body.

use crate::diag::{Code, Diagnostics, Result, Span};
use crate::dtype::DType;
use crate::front::ast::{
    Arm, ArmPattern, Block, Closure, ClosureParam, Expr, ExprKind, Generic, Pattern, PointerType, Said, Stmt, TypeName,
};
use crate::front::operators::{BinaryOp, UnaryOp};
use crate::front::parse::returns;
use crate::front::parse::types::{option_of, said, type_name};
use crate::front::suggest;
use proc_macro2::Ident;
use std::rc::Rc;
use syn::spanned::Spanned;
use syn::visit::Visit;

/// A part that cannot be parsed is reported, and becomes an [`ExprKind::Error`]. The parts beside it are still checked.
pub fn block(b: &syn::Block, d: &Diagnostics) -> Block {
    let mut stmts = vec![];
    let mut value = None;
    for (i, s) in b.stmts.iter().enumerate() {
        match s {
            syn::Stmt::Expr(e, None) if i + 1 == b.stmts.len() => value = Some(Box::new(expr(e, d))),
            s => stmts.push(stmt(s, d)),
        }
    }
    Block { stmts, value, span: b.brace_token.span.join().into() }
}

fn stmt(s: &syn::Stmt, d: &Diagnostics) -> Stmt {
    match s {
        syn::Stmt::Local(l) => local(l, d).unwrap_or_else(|_| lost(names_in(&l.pat), Span::of(l))),
        syn::Stmt::Expr(e, _) => Stmt::Expr(expr(e, d)),
        syn::Stmt::Macro(m) => Stmt::Expr(or_error(macro_call(&m.mac, d), Span::of(&m.mac))),
        syn::Stmt::Item(syn::Item::Const(c)) => match local_type(&c.ty, d) {
            Ok(ty) => Stmt::Const { name: c.ident.clone(), ty, value: expr(&c.expr, d) },
            Err(_) => lost(vec![c.ident.clone()], Span::of(c)),
        },
        syn::Stmt::Item(i) => {
            let (name, what) = match i {
                syn::Item::Fn(f) => (Some(&f.sig.ident), Span::of(&f.sig)),
                syn::Item::Enum(e) => (Some(&e.ident), e.ident.span().into()),
                syn::Item::Struct(s) => (Some(&s.ident), s.ident.span().into()),
                syn::Item::Type(t) => (Some(&t.ident), Span::of(t)),
                i => (None, Span::of(i)),
            };
            d.error(Code::ItemInBody, what, ITEMS);
            lost(name.into_iter().cloned().collect(), what)
        }
    }
}

const ITEMS: &str =
    "the only items inside a kernel are constants: put helpers, enums and structs beside it, in a #[tile_module]";

/// A statement with a mistake, and the names that it defines.
fn lost(names: Vec<Ident>, span: Span) -> Stmt {
    let names = names.into_iter().map(|name| Pattern::Name { name, mutable: false }).collect();
    let init = Some(Expr { kind: ExprKind::Error, span });
    Stmt::Let { pattern: Pattern::Tuple(names), ty: Said::Nothing, init, span }
}

/// Every name that a pattern defines, also where the language does not have such patterns.
fn names_in(p: &syn::Pat) -> Vec<Ident> {
    struct Names(Vec<Ident>);
    impl<'a> Visit<'a> for Names {
        fn visit_pat_ident(&mut self, i: &'a syn::PatIdent) {
            self.0.push(i.ident.clone());
            syn::visit::visit_pat_ident(self, i);
        }
    }
    let mut names = Names(vec![]);
    names.visit_pat(p);
    names.0
}

fn local(l: &syn::Local, d: &Diagnostics) -> Result<Stmt> {
    let init = l.init.as_ref().map(|i| expr(&i.expr, d));
    let (pattern, ty) = match &l.pat {
        syn::Pat::Type(t) => {
            let (pattern, ty) = (pattern(&t.pat, d), local_type(&t.ty, d));
            (pattern?, ty?)
        }
        p => (pattern(p, d)?, Said::Nothing),
    };
    if let Some((_, e)) = l.init.as_ref().and_then(|i| i.diverge.as_ref()) {
        return Err(d.error(
            Code::NotInLanguage,
            Span::of(e),
            "`let .. else` is not part of the tile language: use `if` and `else`",
        ));
    }
    Ok(Stmt::Let { pattern, ty, init, span: Span::of(l) })
}

/// The type of a `let` or a constant.
fn local_type(ty: &syn::Type, d: &Diagnostics) -> Result<Said> {
    match ty {
        syn::Type::Infer(_) => Ok(Said::Nothing),
        syn::Type::Tuple(t) => Ok(Said::Tuple(t.elems.iter().map(|t| local_type(t, d)).collect::<Result<_>>()?)),
        syn::Type::Path(p) if p.path.segments.last().is_some_and(|s| s.ident == "Tile") => Ok(said(ty, d)),
        syn::Type::Array(a) => Ok(Said::Array(Box::new(local_type(&a.elem, d)?))),
        ty if let Some(of) = option_of(ty) => Ok(Said::Option(Box::new(local_type(of, d)?))),
        ty => type_name(ty, d).map(Said::Elem),
    }
}

pub fn pattern(p: &syn::Pat, d: &Diagnostics) -> Result<Pattern> {
    match p {
        syn::Pat::Ident(i) if i.subpat.is_none() && i.by_ref.is_none() => {
            Ok(Pattern::Name { name: i.ident.clone(), mutable: i.mutability.is_some() })
        }
        syn::Pat::Tuple(t) => Ok(Pattern::Tuple(t.elems.iter().map(|e| pattern(e, d)).collect::<Result<_>>()?)),
        syn::Pat::Struct(s) => {
            let name = type_of_path(&s.path, d)?;
            let field = |f: &syn::FieldPat| match &f.member {
                syn::Member::Named(n) => Ok((n.clone(), pattern(&f.pat, d)?)),
                syn::Member::Unnamed(i) => Err(d.error(Code::PatternForm, i.span, "a struct here has named fields")),
            };
            let fields = s.fields.iter().map(field).collect::<Result<_>>()?;
            Ok(Pattern::Struct { name, fields, is_open: s.rest.is_some() })
        }
        syn::Pat::Wild(_) => Ok(Pattern::Ignore),
        syn::Pat::Type(t) => pattern(&t.pat, d),
        syn::Pat::Paren(t) => pattern(&t.pat, d),
        _ => Err(d.error(
            Code::PatternForm,
            Span::of(p),
            "a pattern here is a name, `mut` name, `_`, or a tuple or a struct of these",
        )),
    }
}

fn boxed(e: &syn::Expr, d: &Diagnostics) -> Box<Expr> {
    Box::new(expr(e, d))
}

fn exprs<'a>(list: impl Iterator<Item = &'a syn::Expr>, d: &Diagnostics) -> Vec<Expr> {
    list.map(|e| expr(e, d)).collect()
}

/// The arguments of a call, which have no names.
fn arguments<'a>(list: impl Iterator<Item = &'a syn::Expr>, d: &Diagnostics) -> Vec<Expr> {
    let one = |e: &syn::Expr| match e {
        syn::Expr::Assign(a) => match &*a.left {
            syn::Expr::Path(p) if p.path.get_ident().is_some() => {
                let name = p.path.require_ident().expect("checked").to_string();
                let cure = suggest::argument(&name).unwrap_or("the position of an argument says which one it is");
                d.error(
                    Code::NamedArgument,
                    Span::of(a),
                    format!("arguments have no names, found `{name} = ..`: {cure}"),
                );
                Expr { kind: ExprKind::Error, span: Span::of(a) }
            }
            _ => expr(e, d),
        },
        e => expr(e, d),
    };
    list.map(one).collect()
}

fn or_error(e: Result<Expr>, span: Span) -> Expr {
    e.unwrap_or(Expr { kind: ExprKind::Error, span })
}

pub fn expr(e: &syn::Expr, d: &Diagnostics) -> Expr {
    match e {
        syn::Expr::Paren(p) => return expr(&p.expr, d),
        syn::Expr::Group(g) => return expr(&g.expr, d),
        syn::Expr::Reference(r) => return expr(&r.expr, d),
        _ => {}
    }
    let span = Span::of(e);
    Expr { kind: kind(e, span, d).unwrap_or(ExprKind::Error), span }
}

fn kind(e: &syn::Expr, span: Span, d: &Diagnostics) -> Result<ExprKind> {
    Ok(match e {
        syn::Expr::Lit(l) => literal(&l.lit, d)?,
        syn::Expr::Path(p) => path(&p.path, d)?,
        syn::Expr::Unsafe(u) => ExprKind::Block(block(&u.block, d)),
        syn::Expr::Block(b) => match &b.label {
            None => ExprKind::Block(block(&b.block, d)),
            Some(l) => return Err(d.error(Code::NotInLanguage, Span::of(l), "a label is for a loop, not for a block")),
        },
        syn::Expr::Unary(u) => match u.op {
            syn::UnOp::Neg(_) => match expr(&u.expr, d) {
                // `-1` is a literal: its sign counts when it takes a type.
                Expr { kind: ExprKind::Int(v, t), .. } => ExprKind::Int(-v, t),
                Expr { kind: ExprKind::Float(v, t), .. } => ExprKind::Float(-v, t),
                inner => ExprKind::Unary(UnaryOp::Neg, Box::new(inner)),
            },
            syn::UnOp::Not(_) => ExprKind::Unary(UnaryOp::Not, boxed(&u.expr, d)),
            _ => {
                return Err(d.error(Code::Dereference, span, "pointers are not dereferenced: use `load`"));
            }
        },
        syn::Expr::Binary(b) => binary(b, d)?,
        syn::Expr::Assign(a) => ExprKind::Assign(boxed(&a.left, d), boxed(&a.right, d)),
        syn::Expr::Cast(c) => match &*c.ty {
            syn::Type::Ptr(to) => {
                let to = PointerType { mutable: to.mutability.is_some(), elem: type_name(&to.elem, d)? };
                ExprKind::ToPointer(boxed(&c.expr, d), to)
            }
            ty => ExprKind::Cast(boxed(&c.expr, d), type_name(ty, d)?),
        },
        syn::Expr::Call(c) => {
            let syn::Expr::Path(p) = &*c.func else {
                return Err(d.error(Code::NotInLanguage, Span::of(&c.func), "call a function by its name"));
            };
            let (first, last) = (p.path.segments.first(), p.path.segments.last().expect("a path has a segment"));
            if let Some(cure) = first.filter(|_| p.path.segments.len() > 1).and_then(|s| suggest::owner(&s.ident)) {
                return Err(d.error(Code::NoHeap, Span::of(&p.path), cure));
            }
            ExprKind::Call {
                name: last.ident.clone(),
                generics: generics(&last.arguments, d)?,
                args: arguments(c.args.iter(), d),
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
                args: arguments(std::iter::once(&*m.receiver).chain(m.args.iter()), d),
                method: true,
            }
        }
        syn::Expr::Macro(m) => macro_call(&m.mac, d)?.kind,
        syn::Expr::Tuple(t) => ExprKind::Tuple(exprs(t.elems.iter(), d)),
        syn::Expr::Array(a) => ExprKind::Array(exprs(a.elems.iter(), d)),
        syn::Expr::Repeat(r) => ExprKind::Repeat(boxed(&r.expr, d), boxed(&r.len, d)),
        syn::Expr::Field(f) => match &f.member {
            syn::Member::Unnamed(i) => ExprKind::Field(boxed(&f.base, d), i.index as usize),
            syn::Member::Named(n) => ExprKind::Member(boxed(&f.base, d), n.clone()),
        },
        syn::Expr::Struct(s) => {
            if let Some(rest) = &s.rest {
                return Err(d.error(
                    Code::StructFields,
                    Span::of(rest),
                    "every field of a struct is given: there is no `..` here",
                ));
            }
            let field = |f: &syn::FieldValue| match &f.member {
                syn::Member::Named(n) => Ok((n.clone(), expr(&f.expr, d))),
                syn::Member::Unnamed(i) => Err(d.error(Code::StructFields, i.span, "a struct here has named fields")),
            };
            let fields = s.fields.iter().map(field).collect::<Result<_>>()?;
            ExprKind::Struct { name: type_of_path(&s.path, d)?, fields }
        }
        syn::Expr::Range(r) => {
            let (Some(lo), Some(hi)) = (&r.start, &r.end) else {
                return Err(d.error(Code::NotInLanguage, span, "a range here is `a..b` or `a..=b`"));
            };
            let is_closed = matches!(r.limits, syn::RangeLimits::Closed(_));
            ExprKind::Range { lo: boxed(lo, d), hi: boxed(hi, d), is_closed }
        }
        syn::Expr::Closure(c) => ExprKind::Closure(Rc::new(closure(c, d)?)),
        syn::Expr::If(i) => {
            let other = i.else_branch.as_ref().map(|(_, e)| boxed(e, d));
            if let syn::Expr::Let(l) = &*i.cond {
                return if_let(l, block(&i.then_branch, d), other, d);
            }
            if has_let(&i.cond) {
                return Err(d.error(
                    Code::NotInLanguage,
                    Span::of(&i.cond),
                    "an `if let` stands alone: write an `if` inside of it",
                ));
            }
            ExprKind::If { cond: boxed(&i.cond, d), then: block(&i.then_branch, d), other }
        }
        syn::Expr::ForLoop(f) => {
            let label = label(&f.label);
            ExprKind::For { label, pattern: pattern(&f.pat, d)?, over: boxed(&f.expr, d), body: block(&f.body, d) }
        }
        syn::Expr::While(w) => {
            if let syn::Expr::Let(l) = &*w.cond {
                return Err(d.error(Code::NotInLanguage, Span::of(l), "`while let` is not part of the tile language"));
            }
            ExprKind::While { label: label(&w.label), cond: boxed(&w.cond, d), body: block(&w.body, d) }
        }
        syn::Expr::Loop(l) => ExprKind::Loop { label: label(&l.label), body: block(&l.body, d) },
        syn::Expr::Break(b) => match &b.expr {
            None => ExprKind::Break(b.label.as_ref().map(|l| l.ident.clone())),
            Some(value) => {
                let why = "`break` takes no value: assign to a variable that is declared before the loop";
                return Err(d.error(Code::BreakValue, Span::of(value), why));
            }
        },
        syn::Expr::Continue(c) => ExprKind::Continue(c.label.as_ref().map(|l| l.ident.clone())),
        syn::Expr::Return(r) => ExprKind::Return(r.expr.as_ref().map(|e| boxed(e, d))),
        syn::Expr::Index(i) => {
            if matches!(&*i.index, syn::Expr::Path(p) if p.path.is_ident("None")) {
                return Err(d.error(Code::Subscript, span, suggest::NEW_DIMENSION));
            }
            ExprKind::Index(boxed(&i.expr, d), boxed(&i.index, d))
        }
        syn::Expr::Match(m) => {
            ExprKind::Match { value: boxed(&m.expr, d), arms: m.arms.iter().map(|a| arm(a, d)).collect::<Result<_>>()? }
        }
        syn::Expr::Try(t) => {
            return Err(d.error(
                Code::NotInLanguage,
                t.question_token.span(),
                "`?` is not part of the tile language: kernels do not fail",
            ));
        }
        _ => {
            return Err(d.error(
                Code::NotInLanguage,
                span,
                "this syntax is not part of the tile language (docs/language.md)",
            ));
        }
    })
}

fn closure(c: &syn::ExprClosure, d: &Diagnostics) -> Result<Closure> {
    let param = |p: &syn::Pat| {
        let ty = match p {
            syn::Pat::Type(t) => said(&t.ty, d),
            _ => Said::Nothing,
        };
        Ok(ClosureParam { pattern: pattern(p, d)?, ty, span: Span::of(p) })
    };
    let returns = match &c.output {
        syn::ReturnType::Default => Said::Nothing,
        syn::ReturnType::Type(_, ty) => said(ty, d),
    };
    let mut body = expr(&c.body, d);
    if let ExprKind::Block(b) = body.kind {
        body.kind = ExprKind::Block(returns::as_values(b, &returns, d));
    }
    Ok(Closure { params: c.inputs.iter().map(param).collect::<Result<_>>()?, returns, body })
}

/// The name in a label, without its quote.
fn label(l: &Option<syn::Label>) -> Option<Ident> {
    l.as_ref().map(|l| l.name.ident.clone())
}

/// The name of a struct in front of its fields.
fn type_of_path(p: &syn::Path, d: &Diagnostics) -> Result<TypeName> {
    match p.get_ident() {
        Some(name) => Ok(TypeName { name: name.to_string(), span: name.span().into() }),
        None => Err(d.error(
            Code::UnknownType,
            Span::of(p),
            "a struct is named by its name alone: its type arguments follow from its fields",
        )),
    }
}

/// `if let pattern = value { then } else { other }`: a `match` with two arms.
fn if_let(l: &syn::ExprLet, then: Block, other: Option<Box<Expr>>, d: &Diagnostics) -> Result<ExprKind> {
    let value = boxed(&l.expr, d);
    let (pattern, span) = (arm_pattern(&l.pat, d), Span::of(&l.pat));
    let pattern = match pattern? {
        pattern @ (ArmPattern::Some(_) | ArmPattern::None) => pattern,
        ArmPattern::Any | ArmPattern::Constants(_) => {
            return Err(d.error(
                Code::OptionalValue,
                span,
                "`if let` takes an optional parameter, `if let Some(bias) = bias { .. }`; compare other values by `==`",
            ));
        }
    };
    let then = Arm { pattern, span, body: Expr { span: then.span, kind: ExprKind::Block(then) }, rest: None };
    let nothing = || Expr { kind: ExprKind::Block(Block { stmts: vec![], value: None, span }), span };
    let other = Arm { pattern: ArmPattern::Any, span, body: other.map_or_else(nothing, |e| *e), rest: None };
    Ok(ExprKind::Match { value, arms: vec![then, other] })
}

/// Whether a condition has a `let` beside other conditions.
fn has_let(cond: &syn::Expr) -> bool {
    match cond {
        syn::Expr::Let(_) => true,
        syn::Expr::Binary(b) => has_let(&b.left) || has_let(&b.right),
        syn::Expr::Paren(p) => has_let(&p.expr),
        _ => false,
    }
}

fn arm(a: &syn::Arm, d: &Diagnostics) -> Result<Arm> {
    if let Some((token, _)) = &a.guard {
        return Err(d.error(
            Code::MatchArm,
            token.span(),
            "an arm of a `match` has no `if`: write an `if` in its body",
        ));
    }
    Ok(Arm { pattern: arm_pattern(&a.pat, d)?, span: Span::of(&a.pat), body: expr(&a.body, d), rest: None })
}

/// The pattern of an arm.
fn arm_pattern(p: &syn::Pat, d: &Diagnostics) -> Result<ArmPattern> {
    let one = |kind| Ok(ArmPattern::Constants(vec![Expr { kind, span: Span::of(p) }]));
    match p {
        syn::Pat::Wild(_) => Ok(ArmPattern::Any),
        syn::Pat::Paren(p) => arm_pattern(&p.pat, d),
        syn::Pat::Ident(i) if i.ident == "None" => Ok(ArmPattern::None),
        syn::Pat::TupleStruct(t) if t.path.is_ident("Some") && t.elems.len() == 1 => {
            pattern(&t.elems[0], d).map(ArmPattern::Some)
        }
        syn::Pat::Path(p) if p.path.segments.len() > 1 => one(path(&p.path, d)?),
        syn::Pat::Lit(l) if matches!(l.lit, syn::Lit::Int(_) | syn::Lit::Bool(_)) => one(literal(&l.lit, d)?),
        syn::Pat::Or(or) => {
            let mut constants = vec![];
            for case in &or.cases {
                match arm_pattern(case, d)? {
                    ArmPattern::Constants(list) => constants.extend(list),
                    ArmPattern::Any => return Ok(ArmPattern::Any),
                    ArmPattern::Some(_) | ArmPattern::None => {
                        return Err(d.error(
                            Code::MatchArm,
                            Span::of(case),
                            "`Some(..)` and `None` are arms of their own, without `|`",
                        ));
                    }
                }
            }
            Ok(ArmPattern::Constants(constants))
        }
        _ => Err(d.error(
            Code::MatchArm,
            Span::of(p),
            "an arm of a `match` takes `Enum::Variant`, `true`, `false`, an integer, several of these with `|`, \
             `Some(name)`, `None`, or `_`",
        )),
    }
}

fn literal(l: &syn::Lit, d: &Diagnostics) -> Result<ExprKind> {
    let suffix = |s: &str, span| match s {
        "" => Ok(None),
        s => DType::parse(s)
            .map(Some)
            .ok_or_else(|| d.error(Code::LiteralForm, span, format!("unknown literal suffix `{s}`"))),
    };
    Ok(match l {
        syn::Lit::Int(i) => {
            let ty = suffix(i.suffix(), i.span())?;
            let v = i.base10_parse::<u64>().map(i128::from).map_err(|_| {
                d.error(Code::LiteralRange, i.span(), "the literal is larger than any integer type can hold")
            })?;
            match ty {
                Some(t) if t.is_float() => ExprKind::Float(v as f64, ty),
                _ => ExprKind::Int(v, ty),
            }
        }
        syn::Lit::Float(f) => match f.base10_parse::<f64>().map_err(|e| d.syn(e))? {
            v if v.is_infinite() => {
                return Err(d.error(
                    Code::LiteralRange,
                    f.span(),
                    "the literal is larger than any float type can hold",
                ));
            }
            v => match suffix(f.suffix(), f.span())? {
                Some(t) if !t.is_float() => {
                    let why =
                        format!("a literal with a fraction is no {t}: `{}` is a literal of an integer", v as i128);
                    return Err(d.error(Code::LiteralForm, f.span(), why));
                }
                t => ExprKind::Float(v, t),
            },
        },
        syn::Lit::Bool(b) => ExprKind::Bool(b.value),
        syn::Lit::Str(s) => ExprKind::Str(s.value()),
        other => {
            return Err(d.error(Code::LiteralForm, other.span(), "a literal here is an integer, a float or a bool"));
        }
    })
}

fn path(p: &syn::Path, d: &Diagnostics) -> Result<ExprKind> {
    let s: Vec<&Ident> = p.segments.iter().map(|s| &s.ident).collect();
    match s[..] {
        [name] => Ok(ExprKind::Name(name.to_string())),
        // f32::INFINITY, core::f32::consts::PI
        [ty, name] => Ok(ExprKind::Assoc(TypeName { name: ty.to_string(), span: ty.span().into() }, name.to_string())),
        [.., ty, module, name] if module == "consts" => {
            Ok(ExprKind::Assoc(TypeName { name: ty.to_string(), span: ty.span().into() }, name.to_string()))
        }
        _ => Err(d.error(
            Code::UnknownName,
            Span::of(p),
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
            syn::GenericArgument::Const(e) => Ok(Generic::Const(expr(e, d))),
            other => Err(d.error(Code::TypeArgument, Span::of(other), "a type or a constant is expected here")),
        })
        .collect()
}

fn binary(b: &syn::ExprBinary, d: &Diagnostics) -> Result<ExprKind> {
    use syn::BinOp::*;
    let (l, r) = (boxed(&b.left, d), boxed(&b.right, d));
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
        _ => return Err(d.error(Code::NotInLanguage, b.op.span(), "unknown operator")),
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
        let cure = suggest::macro_(&name.to_string())
            .unwrap_or("a kernel has static_assert!, device_assert! and device_print!");
        return Err(d.error(Code::UnknownMacro, Span::of(m), format!("unknown macro `{name}!`: {cure}")));
    }
    let args = m
        .parse_body_with(syn::punctuated::Punctuated::<syn::Expr, syn::Token![,]>::parse_terminated)
        .map_err(|e| d.syn(e))?;
    Ok(Expr {
        kind: ExprKind::Call { name, generics: vec![], args: arguments(args.iter(), d), method: false },
        span: Span::of(m),
    })
}
