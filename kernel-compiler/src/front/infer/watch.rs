//! The statements that show variables at a breakpoint.

use crate::diag::{Code, Result, Span};
use crate::front::ast::{Expr, ExprKind};
use crate::front::infer::{Binding, Infer, Val};
use crate::ir::StmtKind;

impl Infer<'_> {
    pub(super) fn watch(&mut self, names: &[String], is_chosen: bool, span: Span) -> Result<()> {
        for name in names {
            match self.lookup(name) {
                Some(Binding::Poisoned) => continue,
                Some(_) => {}
                None if is_chosen => {
                    let line = span.first.start().line;
                    return self.error(
                        Code::UnknownName,
                        span,
                        format!("there is no variable `{name}` on line {line}"),
                    );
                }
                None => continue,
            }
            let value = self.expr(&Expr { kind: ExprKind::Name(name.clone()), span })?;
            if !self.show(name, &value, span)? && is_chosen {
                let found = self.describe(&value);
                return self.error(
                    Code::Print,
                    span,
                    format!("`{name}` is {found}: a breakpoint shows tiles and scalars"),
                );
            }
        }
        Ok(())
    }

    /// Shows a value under a name, each part of a tuple by itself; whether it has anything to show.
    fn show(&mut self, name: &str, value: &Val, span: Span) -> Result<bool> {
        let parts: Vec<(String, &Val)> = match value {
            Val::Run(_) | Val::Int(..) | Val::Float(..) | Val::Bool(_) => {
                let value = self.run(value.clone(), span)?;
                let message = name.to_string();
                self.emit(StmtKind::Print { message, value, watch: true, span: span.first });
                return Ok(true);
            }
            Val::Tuple(parts) => parts.iter().enumerate().map(|(i, p)| (format!("{name}.{i}"), p)).collect(),
            Val::Array(parts) => parts.iter().enumerate().map(|(i, p)| (format!("{name}[{i}]"), p)).collect(),
            Val::Struct(of, parts) => {
                of.fields.iter().zip(parts).map(|((field, _), p)| (format!("{name}.{field}"), p)).collect()
            }
            Val::Option(Some(v)) => return self.show(name, v, span),
            _ => return Ok(false),
        };
        let shown = parts.into_iter().map(|(name, p)| self.show(&name, p, span)).collect::<Result<Vec<_>>>()?;
        Ok(shown.contains(&true))
    }
}
