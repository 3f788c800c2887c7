//! Calls: access options, helpers (inlined), closures, then the built-in operations.

use crate::diag::{Code, Reported, Result, Span};
use crate::dtype::DType;
use crate::front::ast::{Expr, ExprKind, Generic, Helper, ParamType, Said};
use crate::front::infer::options::{self, Options};
use crate::front::infer::val::Pointer;
use crate::front::infer::{Binding, Infer, MAX_DEPTH, MAX_OPERATIONS, Val, builtins};
use crate::front::suggest;
use proc_macro2::Ident;
use std::collections::HashMap;

/// Type parameters of a helper, with their types.
type BoundTypes = Vec<(String, DType)>;

impl Infer<'_> {
    pub(super) fn call(
        &mut self,
        e: &Expr,
        name: &Ident,
        generics: &[Generic],
        args: &[Expr],
        method: bool,
    ) -> Result<Val> {
        if method && options::is_option(&name.to_string()) {
            return self.with_options(e);
        }
        let n = name.to_string();
        if let [Expr { kind: ExprKind::Name(prefix), span }, ..] = args
            && method
            && suggest::is_prefix(prefix)
            && self.lookup(prefix).is_none()
        {
            let cure = match (builtins::is_builtin(&n), suggest::operation(&n)) {
                (true, _) => format!("write {}", builtins::usage(&n)),
                (false, Some(cure)) => cure.to_string(),
                (false, None) => format!("a kernel has no `{n}`, docs/language.md lists all operations"),
            };
            return self.error(
                Code::OperationPrefix,
                *span,
                format!("`{prefix}.{n}`: operations have no prefix; {cure}"),
            );
        }
        if let [receiver, ..] = args
            && method
            && self.is_in_prefix(receiver)
        {
            return self.part_of_value(receiver);
        }
        self.no_errors(args)?;
        match (n.as_str(), args) {
            ("is_some" | "is_none", args) if method => return self.is_present(&n, args, e.span),
            ("Some", [v]) if !method => return Ok(Val::Option(Some(Box::new(self.expr(v)?)))),
            _ => {}
        }
        let is_known = builtins::is_builtin(&n) || self.kernel.scope.helpers.iter().any(|h| h.name == *name);
        match self.lookup(&n) {
            Some(Binding::Poisoned) if !is_known => return Err(Reported),
            // A value with a mistake has no methods.
            None if !is_known && method => drop(self.expr(&args[0])?),
            _ => {}
        }
        // As in Rust, no name in scope is a method's.
        let is_operation = method && builtins::is_builtin(&n);
        if !is_operation && let Some(Binding::Val(Val::Closure(c))) = self.lookup(&n).cloned() {
            let args = self.exprs(args)?.into_iter().zip(args.iter().map(|a| a.span)).collect();
            return self.closure(&c, args, e.span);
        }
        let helper = self.kernel.scope.helpers.iter().find(|h| h.name == *name && !is_operation);
        if let Some(h) = helper.cloned() {
            return self.helper(&h, generics, args, e.span);
        }
        self.builtin(&builtins::Call { name, generics, args, span: e.span, options: Options::default() })
    }

    /// Of arguments with mistakes neither the number nor the types are looked at.
    fn no_errors(&mut self, args: &[Expr]) -> Result<()> {
        match args.iter().any(|a| matches!(a.kind, ExprKind::Error)) {
            true => self.exprs(args).map(|_| ()),
            false => Ok(()),
        }
    }

    /// `load(x, i).mask(m).other(v)`, `dot(a, b, acc).tf32()`: the options belong to the operation at the chain's
    /// start.
    fn with_options(&mut self, e: &Expr) -> Result<Val> {
        let mut options = Options::default();
        let mut at = e;
        loop {
            let ExprKind::Call { name, generics, args, method } = &at.kind else {
                let (_, follow) = options.misplaced(None).expect("an option was seen");
                return self.error(
                    Code::UnknownOption,
                    at.span,
                    format!("no operation stands before the options: {follow}"),
                );
            };
            let n = name.to_string();
            if *method && options::is_option(&n) {
                self.option(&mut options, name, &args[1..])?;
                at = &args[0];
                continue;
            }
            if let Some((at, follow)) = options.misplaced(Some(&n)) {
                return self.error(Code::UnknownOption, at, format!("`{n}` has no such option: {follow}"));
            }
            self.no_errors(args)?;
            return self.builtin(&builtins::Call { name, generics, args, span: e.span, options });
        }
    }

    fn helper(&mut self, h: &Helper, generics: &[Generic], args: &[Expr], span: Span) -> Result<Val> {
        if self.values.len() > MAX_OPERATIONS {
            if std::mem::replace(&mut self.is_too_long, true) {
                return Err(Reported);
            }
            return self.error(
                Code::TooManyOperations,
                span,
                format!("the kernel has more than {MAX_OPERATIONS} operations: helpers are inlined at each call"),
            );
        }
        if self.depth >= MAX_DEPTH {
            return self.error(
                Code::Recursion,
                span,
                format!(
                    "helpers nest deeper than {MAX_DEPTH}: `{}` is inlined and cannot call itself without end",
                    h.name
                ),
            );
        }
        if args.len() != h.params.len() {
            return self.error(
                Code::ArgumentCount,
                span,
                format!("`{}` takes {} arguments, found {}", h.name, h.params.len(), args.len()),
            );
        }
        let args: Vec<_> = self.exprs(args)?.into_iter().zip(args.iter().map(|a| a.span)).collect();
        let (types, scope) = self.generics(h, generics)?;
        self.inlined(h, types, scope, args, span)
    }

    /// Binds the type and const arguments that a call names.
    fn generics(&mut self, h: &Helper, generics: &[Generic]) -> Result<(BoundTypes, HashMap<String, Binding>)> {
        let (mut bound, mut scope) = (vec![], HashMap::new());
        let (mut types, mut consts) = (h.type_params.iter(), h.consts.iter());
        for g in generics {
            let (span, known) = match g {
                Generic::Type(t) => (t.span, self.known_type(t)),
                Generic::Const(e) => (e.span, None),
            };
            if let Some(dtype) = known
                && let Some(name) = types.next()
            {
                bound.push((name.clone(), dtype));
                continue;
            }
            let Some(param) = consts.next() else {
                let (t, c) = (h.type_params.len(), h.consts.len());
                return self.error(
                    Code::TypeArgument,
                    span,
                    format!("`{}` takes {t} type and {c} const parameters", h.name),
                );
            };
            let v = match g {
                // A const parameter may be passed by its name, which reads like a type.
                Generic::Type(t) => self.name(&t.name, t.span)?,
                Generic::Const(e) => self.expr(e)?,
            };
            let v = self.const_arg(h, param, v, span)?;
            scope.insert(param.name.to_string(), Binding::Val(v));
        }
        Ok((bound, scope))
    }

    /// The body sees the helper's own types and names, and the module's.
    fn inlined(
        &mut self,
        h: &Helper,
        mut types: BoundTypes,
        scope: HashMap<String, Binding>,
        args: Vec<(Val, Span)>,
        span: Span,
    ) -> Result<Val> {
        // Type parameters that the call does not name follow from the arguments, from literals last.
        for open in [false, true] {
            for (p, (v, _)) in h.params.iter().zip(&args) {
                if let ParamType::Value(said) = &p.ty {
                    self.bind_types(h, said, v, open, &mut types);
                }
            }
        }
        let caller = std::mem::replace(&mut self.scopes, vec![scope]);
        let types = std::mem::replace(&mut self.types, types);
        let loops = std::mem::take(&mut self.loops);
        let standard_call = self.standard_call;
        self.depth += 1;
        let run = || {
            for (p, (v, at)) in h.params.iter().zip(args) {
                let v = match &p.ty {
                    ParamType::Value(said) => self.argument(&h.name.to_string(), v, said, at)?,
                    ParamType::Closure(ty) => self.hand_over(h, (&p.pattern, ty), v, at)?,
                };
                self.bind_pattern(&p.pattern, v, at)?;
            }
            if h.is_standard {
                self.standard_call.get_or_insert(span);
            }
            let (v, at) = (self.block(&h.body)?, h.body.value.as_ref().map_or(h.body.span, |v| v.span));
            match (&h.returns, v) {
                (None, Val::Unit) => Ok(Val::Unit),
                (None, v) => {
                    let found = self.describe(&v);
                    self.error(
                        Code::HelperReturn,
                        at,
                        format!(
                            "`{}` returns {found} and has no return type: write `-> Tile<f32>`, `-> f32` or a tuple of types",
                            h.name
                        ),
                    )
                }
                (Some(said), v) => self.as_said(v, said, at),
            }
        };
        let result = run();
        self.depth -= 1;
        self.standard_call = standard_call;
        self.loops = loops;
        self.types = types;
        self.scopes = caller;
        result
    }

    /// Binds the type parameters of a helper that an argument says, unless they are `bound`. Literals without a type
    /// say theirs where they are `open`.
    fn bind_types(&self, h: &Helper, said: &Said, v: &Val, open: bool, bound: &mut BoundTypes) {
        match (said, v) {
            (Said::Elem(elem), v) => {
                let is_open = h.type_params.contains(&elem.name) && !bound.iter().any(|(name, _)| *name == elem.name);
                let of_literal = match v {
                    Val::Int(_, None) if open => Some(DType::I32),
                    Val::Float(_, None) if open => Some(DType::F32),
                    _ => None,
                };
                if let Some(dtype) = self.elem_of(v).or(of_literal).filter(|_| is_open) {
                    bound.push((elem.name.clone(), dtype));
                }
            }
            (Said::Tuple(parts), Val::Tuple(list)) => {
                parts.iter().zip(list).for_each(|(said, v)| self.bind_types(h, said, v, open, bound));
            }
            (Said::Array(said), Val::Array(list)) => {
                list.iter().for_each(|v| self.bind_types(h, said, v, open, bound));
            }
            (Said::Option(said), Val::Option(Some(v))) => self.bind_types(h, said, v, open, bound),
            _ => {}
        }
    }

    /// An argument of the type that a helper or a closure says of it.
    pub(super) fn argument(&self, of: &str, v: Val, said: &Said, at: Span) -> Result<Val> {
        let (t, v) = match (said, v) {
            (Said::Nothing, v) => return Ok(v),
            (Said::Tuple(parts), Val::Tuple(list)) if parts.len() == list.len() => {
                let list = list.into_iter().zip(parts).map(|(v, said)| self.argument(of, v, said, at));
                return list.collect::<Result<_>>().map(Val::Tuple);
            }
            (Said::Tuple(parts), v) => {
                let found = self.describe(&v);
                return self.error(
                    Code::TypeMismatch,
                    at,
                    format!("`{of}` expects a tuple of {} here, found {found}", parts.len()),
                );
            }
            (Said::Option(said), Val::Option(v)) => {
                let v = v.map(|v| self.argument(of, *v, said, at)).transpose()?;
                return Ok(Val::Option(v.map(Box::new)));
            }
            (Said::Option(_), v) => {
                let found = self.describe(&v);
                return self.error(
                    Code::TypeMismatch,
                    at,
                    format!("`{of}` expects `Some(..)` or `None` here, found {found}"),
                );
            }
            (Said::Array(said), Val::Array(list)) => {
                let list = list.into_iter().map(|v| self.argument(of, v, said, at));
                return list.collect::<Result<_>>().map(Val::Array);
            }
            (Said::Array(_), v) => {
                let found = self.describe(&v);
                return self.error(Code::TypeMismatch, at, format!("`{of}` expects an array here, found {found}"));
            }
            (Said::Elem(t), v) => match self.as_named(&v, &t.name, at) {
                Some(is_one) => return is_one.map(|()| v),
                None => (self.dtype(t)?, v),
            },
        };
        match v {
            Val::Int(..) | Val::Float(..) => self.checked_literal(v, t, at),
            v if self.elem_of(&v) == Some(t) => Ok(v),
            v => {
                let found = self.describe(&v);
                self.error(Code::TypeMismatch, at, format!("`{of}` expects {t} here, found {found}"))
            }
        }
    }

    /// A literal argument takes the dtype of its parameter and stays a compile-time value.
    pub(super) fn checked_literal(&self, v: Val, t: DType, at: Span) -> Result<Val> {
        match self.typed(&v, t, at)? {
            Some(v) => Ok(v),
            None => {
                let found = self.describe(&v);
                self.error(Code::TypeMismatch, at, format!("expected {t}, found {found}"))
            }
        }
    }

    pub(super) fn elem_of(&self, v: &Val) -> Option<DType> {
        match v {
            Val::Run(v) => Some(self.ty(*v).dtype),
            Val::Param(p) => Some(self.params[*p].dtype),
            Val::Shared(array) => Some(self.shared[*array].dtype),
            Val::Ptr(Pointer { to, .. }) => Some(self.elem(*to)),
            Val::View(view) => Some(self.elem(view.pointer.to)),
            Val::Int(_, t) | Val::Float(_, t) => *t,
            Val::Bool(_) => Some(DType::Bool),
            _ => None,
        }
    }
}
