//! Closures: their types in a helper's `impl Fn(..)`, and their calls, which are inlined.

use crate::diag::{Code, Result, Span};
use crate::dtype::DType;
use crate::front::ast::{self, ClosureType, Helper, Pattern, Said, TypeName};
use crate::front::infer::{Closure, Handed, Infer, MAX_DEPTH, Val};
use std::collections::HashMap;
use std::rc::Rc;

impl Infer<'_> {
    pub(super) fn new_closure(&self, written: &Rc<ast::Closure>) -> Val {
        let (scopes, types) = (self.scopes.clone(), self.types.clone());
        Val::Closure(Rc::new(Closure { written: written.clone(), scopes, types, handed: None }))
    }

    /// An argument for a helper's `impl Fn(..)`, where the helper's own type names are in reach.
    pub(super) fn hand_over(
        &self,
        h: &Helper,
        (pattern, ty): (&Pattern, &ClosureType),
        v: Val,
        span: Span,
    ) -> Result<Val> {
        let name = match pattern {
            Pattern::Name { name, .. } => name.to_string(),
            _ => "_".into(),
        };
        let Val::Closure(c) = v else {
            let found = self.describe(&v);
            return self.error(
                Code::ClosureArgument,
                span,
                format!("`{}` takes a closure as `{name}`, found {found}", h.name),
            );
        };
        let (wanted, params) = (ty.args.len(), &c.written.params);
        if params.len() != wanted {
            return self.error(
                Code::ClosureArgument,
                span,
                format!(
                    "`{}` takes a closure of {} as `{name}`, this one has {}",
                    h.name,
                    arguments(wanted),
                    params.len()
                ),
            );
        }
        // Type parameters of the helper that nothing has bound are left open.
        let is_open = |t: &TypeName| h.type_params.contains(&t.name) && !self.types.iter().any(|(n, _)| *n == t.name);
        let of_helper = |t: &TypeName| if is_open(t) { Ok(None) } else { self.dtype(t).map(Some) };
        let args = ty.args.iter().map(|s| self.of_dtypes(s, &of_helper)).collect::<Result<Vec<_>>>()?;
        let returns = ty.returns.as_ref().map(|s| self.of_dtypes(s, &of_helper)).transpose()?;
        // An unknown type is reported where the closure is called.
        let written: Vec<_> = c.types.iter().rev().cloned().collect();
        let of_closure = |t: &TypeName| Ok(self.kernel.scope.dtype(t, &written));
        for (p, given) in params.iter().zip(&args) {
            let ty = self.of_dtypes(&p.ty, &of_closure)?;
            if let (Pattern::Tuple(parts), Said::Tuple(given)) = (&p.pattern, given)
                && parts.len() != given.len()
            {
                return self.error(
                    Code::ClosureArgument,
                    p.span,
                    format!(
                        "`{name}` of `{}` is called with a tuple of {}, this closure takes a tuple of {}",
                        h.name,
                        given.len(),
                        parts.len()
                    ),
                );
            }
            if let Some((found, given)) = conflict(&ty, given) {
                return self.error(
                    Code::ClosureArgument,
                    p.span,
                    format!("`{name}` of `{}` is called with {given}, this closure takes {found}", h.name),
                );
            }
        }
        if let Some(before) = &c.handed {
            let pairs = before.ty.args.iter().zip(&args).chain(before.ty.returns.iter().zip(&returns));
            if let Some((found, given)) = pairs.into_iter().find_map(|(a, b)| conflict(a, b)) {
                return self.error(
                    Code::ClosureArgument,
                    span,
                    format!("`{name}` of `{}` has {given} where `{}` has {found}", h.name, before.name),
                );
            }
        }
        let handed = Some(Handed { name, ty: ClosureType { args, returns } });
        Ok(Val::Closure(Rc::new(Closure { handed, ..(*c).clone() })))
    }

    /// The same with names of dtypes. A name that `resolve` leaves open says nothing.
    fn of_dtypes(&self, said: &Said, resolve: &dyn Fn(&TypeName) -> Result<Option<DType>>) -> Result<Said> {
        Ok(match said {
            Said::Nothing => Said::Nothing,
            Said::Tuple(list) => Said::Tuple(list.iter().map(|s| self.of_dtypes(s, resolve)).collect::<Result<_>>()?),
            Said::Option(of) => Said::Option(Box::new(self.of_dtypes(of, resolve)?)),
            Said::Array(of) => Said::Array(Box::new(self.of_dtypes(of, resolve)?)),
            Said::Elem(t) if self.kernel.scope.names(&t.name) => said.clone(),
            Said::Elem(t) => match resolve(t)? {
                Some(dtype) => Said::Elem(TypeName { name: dtype.name().into(), span: t.span }),
                None => Said::Nothing,
            },
        })
    }

    pub(super) fn closure(&mut self, c: &Closure, args: Vec<(Val, Span)>, span: Span) -> Result<Val> {
        let (params, name) = (&c.written.params, c.handed.as_ref().map_or("the closure", |h| &h.name));
        if args.len() != params.len() {
            return self.error(
                Code::ArgumentCount,
                span,
                format!("`{name}` takes {}, found {}", arguments(params.len()), args.len()),
            );
        }
        if self.depth >= MAX_DEPTH {
            return self.error(Code::Recursion, span, format!("calls of closures nest deeper than {MAX_DEPTH}"));
        }
        let mut values = vec![];
        for (i, (v, at)) in args.into_iter().enumerate() {
            values.push(match &c.handed {
                Some(h) => self.argument(&h.name, v, &h.ty.args[i], at)?,
                None => v,
            });
        }
        let caller = std::mem::replace(&mut self.scopes, c.scopes.clone());
        let types = std::mem::replace(&mut self.types, c.types.clone());
        // `break` leaves no loop around the call.
        let loops = std::mem::take(&mut self.loops);
        self.scopes.push(HashMap::new());
        self.depth += 1;
        let result = self.closure_body(c, values);
        self.depth -= 1;
        self.loops = loops;
        self.types = types;
        self.scopes = caller;
        result
    }

    fn closure_body(&mut self, c: &Closure, args: Vec<Val>) -> Result<Val> {
        for (p, v) in c.written.params.iter().zip(args) {
            let v = self.as_said(v, &p.ty, p.span)?;
            self.bind_pattern(&p.pattern, v, p.span)?;
        }
        let body = &c.written.body;
        let v = self.expr(body)?;
        let v = self.as_said(v, &c.written.returns, body.span)?;
        let Some(Handed { name, ty }) = &c.handed else { return Ok(v) };
        match (&ty.returns, v) {
            (None, Val::Unit) => Ok(Val::Unit),
            (None, v) => {
                let found = self.describe(&v);
                self.error(
                    Code::ClosureResult,
                    body.span,
                    format!(
                        "`{name}` is an `impl Fn(..)` without a result, this closure returns {found}: end it with `;`"
                    ),
                )
            }
            (Some(_), Val::Unit) => self.error(
                Code::ClosureResult,
                body.span,
                format!("`{name}` is an `impl Fn(..) -> ..`, this closure returns nothing"),
            ),
            (Some(said), v) => self.as_said(v, said, body.span),
        }
    }
}

fn arguments(n: usize) -> String {
    format!("{n} argument{}", if n == 1 { "" } else { "s" })
}

/// Two parts of types that do not agree, as messages call them.
fn conflict(a: &Said, b: &Said) -> Option<(String, String)> {
    let describe = |s: &Said| match s {
        Said::Nothing => "anything".to_string(),
        Said::Elem(t) => t.name.clone(),
        Said::Tuple(list) => format!("a tuple of {}", list.len()),
        Said::Option(_) => "an optional value".into(),
        Said::Array(_) => "an array".into(),
    };
    match (a, b) {
        (Said::Nothing, _) | (_, Said::Nothing) => None,
        (Said::Elem(x), Said::Elem(y)) if x.name == y.name => None,
        (Said::Option(x), Said::Option(y)) | (Said::Array(x), Said::Array(y)) => conflict(x, y),
        (Said::Tuple(x), Said::Tuple(y)) if x.len() == y.len() => x.iter().zip(y).find_map(|(a, b)| conflict(a, b)),
        _ => Some((describe(a), describe(b))),
    }
}
