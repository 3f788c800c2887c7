//! Calls: access options, helpers (inlined), closures, then the built-in operations.

use crate::diag::Result;
use crate::dtype::DType;
use crate::front::ast::{Expr, ExprKind, Generic, Helper};
use crate::front::infer::{Binding, Closure, Infer, Val, builtins};
use crate::ir::Hint;
use proc_macro2::{Ident, Span};
use std::collections::HashMap;

/// Helpers may call helpers this deep; recursion cannot end at compile time.
const MAX_DEPTH: usize = 32;

impl Infer<'_> {
    pub(super) fn call(
        &mut self,
        e: &Expr,
        name: &Ident,
        generics: &[Generic],
        args: &[Expr],
        method: bool,
    ) -> Result<Val> {
        if method && builtins::is_option(&name.to_string()) {
            return self.with_options(e);
        }
        if let Some(h) = self.kernel.scope.helpers.iter().find(|h| h.name == *name).cloned() {
            return self.helper(&h, generics, args, e.span);
        }
        if let Some(Binding::Val(Val::Closure(c))) = self.lookup(&name.to_string()).cloned() {
            let args = self.exprs(args)?;
            return self.closure(&c, args, e.span);
        }
        self.builtin(&builtins::Call { name, generics, args, span: e.span, options: builtins::Options::default() })
    }

    /// `load(x, i).mask(m).other(v)`, `dot(a, b, acc).tf32()`: the options belong to the operation at the chain's start.
    fn with_options(&mut self, e: &Expr) -> Result<Val> {
        let mut options = builtins::Options::default();
        let mut at = e;
        loop {
            let ExprKind::Call { name, generics, args, method } = &at.kind else {
                return self.error(at.span, "options follow what they are of: `load`, `store`, `.tile` or an atomic, as in `load(x, i).mask(m).other(v)`, or `dot(a, b, acc).tf32()`");
            };
            let n = name.to_string();
            if *method && builtins::is_option(&n) {
                self.option(&mut options, name, &args[1..])?;
                at = &args[0];
                continue;
            }
            let (access, dot) = (builtins::is_access(&n), n == "dot");
            return match (&options.of_access, &options.precision) {
                (_, Some((_, at))) if access => {
                    self.error(*at, format!("this is an option of `dot(a, b, acc)`, and `{n}` is none"))
                }
                (Some((option, at)), _) if dot => {
                    self.error(*at, format!("`.{option}` is for accesses; `dot` has `.tf32()` and `.tf32x3()`"))
                }
                (Some(_), _) if !access => self.error(
                    name.span(),
                    format!(
                        "`.{n}` is no access: options like `.mask(m)` follow `load`, `store`, `.tile` or an atomic"
                    ),
                ),
                _ if !access && !dot => self.error(
                    name.span(),
                    format!("`.{n}` is no `dot`: `.tf32()` and `.tf32x3()` follow `dot(a, b, acc)`"),
                ),
                _ => self.builtin(&builtins::Call { name, generics, args, span: e.span, options }),
            };
        }
    }

    fn option(&mut self, o: &mut builtins::Options, name: &Ident, args: &[Expr]) -> Result<()> {
        let n = name.to_string();
        let wanted = usize::from(matches!(n.as_str(), "mask" | "other"));
        if args.len() != wanted {
            return self
                .error(name.span(), format!("`.{n}` takes {wanted} argument{}", if wanted == 1 { "" } else { "s" }));
        }
        if let Some(p) = builtins::precision(&n) {
            if o.precision.replace((p, name.span())).is_some() {
                return self.error(name.span(), "a `dot` has one precision");
            }
            return Ok(());
        }
        // What stands later in the chain has been seen already.
        match (n.as_str(), &o.mask, &o.other) {
            ("mask", Some((_, later)), _) => {
                return self.error(
                    *later,
                    "a second mask would replace the first: one `.mask(..)`, of conditions joined with `&`",
                );
            }
            ("other", _, Some((_, later))) => {
                return self.error(
                    *later,
                    "a second `.other(..)` would replace the first: one value stands for what is masked",
                );
            }
            _ => {}
        }
        o.of_access = Some((n.clone(), name.span()));
        match n.as_str() {
            "mask" => o.mask = Some((self.expr(&args[0])?, args[0].span)),
            "other" => o.other = Some((self.expr(&args[0])?, args[0].span)),
            "streaming" => o.hint = Hint::Streaming,
            "keep" => o.hint = Hint::Keep,
            "no_l1" => o.hint = Hint::NoL1,
            "unchecked" if !self.kernel.is_unsafe => {
                return self.error(name.span(), "`.unchecked()` can reach any memory: make the kernel an `unsafe fn`");
            }
            "unchecked" => o.unchecked = true,
            _ => o.relaxed = true,
        }
        Ok(())
    }

    fn helper(&mut self, h: &Helper, generics: &[Generic], args: &[Expr], span: Span) -> Result<Val> {
        if self.depth >= MAX_DEPTH {
            return self.error(
                span,
                format!(
                    "helpers nest deeper than {MAX_DEPTH}: `{}` is inlined and cannot call itself without end",
                    h.name
                ),
            );
        }
        if args.len() != h.params.len() {
            return self.error(span, format!("`{}` takes {} arguments, found {}", h.name, h.params.len(), args.len()));
        }
        let args: Vec<_> = self.exprs(args)?.into_iter().zip(args.iter().map(|a| a.span)).collect();
        let outer_types = self.types.len();
        let mut scope = HashMap::new();
        let (mut types, mut consts) = (h.type_params.iter(), h.consts.iter());
        for g in generics {
            let bound = match g {
                // A const parameter may be passed by its name, which reads like a type.
                Generic::Type(t) => match self.known_type(t).and_then(|dtype| Some((types.next()?, dtype))) {
                    Some((name, dtype)) => {
                        self.types.push((name.clone(), dtype));
                        true
                    }
                    None => false,
                },
                Generic::Const(e) => match consts.next() {
                    Some(name) => {
                        let v = self.expr(e)?;
                        scope.insert(name.clone(), Binding::Val(v));
                        true
                    }
                    None => false,
                },
            };
            if !bound && let Generic::Type(t) = g {
                let Some(name) = consts.next() else {
                    return self.error(
                        t.span,
                        format!(
                            "`{}` takes {} type and {} const parameters",
                            h.name,
                            h.type_params.len(),
                            h.consts.len()
                        ),
                    );
                };
                let value = match self.lookup(&t.name) {
                    Some(local) => local.clone(),
                    None => Binding::Val(self.name(&t.name, t.span)?),
                };
                scope.insert(name.clone(), value);
            }
        }
        let result = self.inlined(h, scope, args, outer_types);
        self.types.truncate(outer_types);
        result
    }

    fn inlined(
        &mut self,
        h: &Helper,
        scope: HashMap<String, Binding>,
        args: Vec<(Val, Span)>,
        outer_types: usize,
    ) -> Result<Val> {
        // Type parameters that the call does not name follow from the arguments.
        for (p, (v, _)) in h.params.iter().zip(&args) {
            if let (Some(elem), Some(dtype)) = (&p.elem, self.elem_of(v))
                && h.type_params.contains(&elem.name)
                && !self.types[outer_types..].iter().any(|(n, _)| *n == elem.name)
            {
                self.types.push((elem.name.clone(), dtype));
            }
        }
        let caller = std::mem::replace(&mut self.scopes, vec![scope]);
        let loops = std::mem::take(&mut self.loops);
        self.depth += 1;
        let run = || {
            for (p, (v, at)) in h.params.iter().zip(args) {
                let v = match (&p.elem, v) {
                    (Some(t), v @ (Val::Int(..) | Val::Float(..))) => {
                        let t = self.dtype(t)?;
                        self.checked_literal(v, t, at)?
                    }
                    (Some(t), v) => {
                        let (want, found) = (self.dtype(t)?, self.elem_of(&v));
                        if found.is_some_and(|f| f != want) {
                            let found = self.describe(&v);
                            return self.error(at, format!("`{}` expects {want} here, found {found}", h.name));
                        }
                        v
                    }
                    (None, v) => v,
                };
                self.bind_pattern(&p.pattern, v, at)?;
            }
            let (v, at) = (self.block(&h.body)?, h.body.value.as_ref().map_or(h.body.span, |v| v.span));
            match (&h.returns, v) {
                (None, Val::Unit) => Ok(Val::Unit),
                (None, v) => {
                    let found = self.describe(&v);
                    self.error(
                        at,
                        format!(
                            "`{}` returns {found}, and says no type: `-> Tile<f32>`, `-> f32`, a tuple of these",
                            h.name
                        ),
                    )
                }
                (Some(said), v) => self.as_said(v, said, at),
            }
        };
        let result = run();
        self.depth -= 1;
        self.loops = loops;
        self.scopes = caller;
        result
    }

    /// A literal argument takes the dtype of its parameter and stays a compile-time value.
    fn checked_literal(&self, v: Val, t: DType, at: Span) -> Result<Val> {
        match self.typed(&v, t, at)? {
            Some(v) => Ok(v),
            None => {
                let found = self.describe(&v);
                self.error(at, format!("expected {t}, found {found}"))
            }
        }
    }

    pub(super) fn elem_of(&self, v: &Val) -> Option<DType> {
        match v {
            Val::Run(v) => Some(self.ty(*v).dtype),
            Val::Param(p) | Val::Ptr(p, _) => Some(self.params[*p].dtype),
            Val::Int(_, t) | Val::Float(_, t) => *t,
            Val::Bool(_) => Some(DType::Bool),
            _ => None,
        }
    }

    pub(super) fn closure(&mut self, c: &Closure, args: Vec<Val>, span: Span) -> Result<Val> {
        if args.len() != c.params.len() {
            return self.error(span, format!("the closure takes {} arguments, found {}", c.params.len(), args.len()));
        }
        if self.depth >= MAX_DEPTH {
            return self.error(span, format!("calls nest deeper than {MAX_DEPTH}"));
        }
        let caller = std::mem::replace(&mut self.scopes, c.scopes.clone());
        self.scopes.push(HashMap::new());
        self.depth += 1;
        let bound = c.params.iter().zip(args).try_for_each(|(p, v)| self.bind_pattern(p, v, span));
        let result = bound.and_then(|_| self.expr(&c.body));
        self.depth -= 1;
        self.scopes = caller;
        result
    }
}
