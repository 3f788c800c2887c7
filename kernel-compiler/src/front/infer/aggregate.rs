//! Values of several parts: tuples, arrays, structs, and variables of these.

use crate::diag::{Code, Result, Span};
use crate::dtype::DType;
use crate::front::ast::{Expr, ExprKind, Pattern, TypeName};
use crate::front::infer::{Binding, Infer, Val, Whole};
use crate::front::suggest;
use proc_macro2::Ident;
use std::rc::Rc;

impl Whole {
    /// The value of these parts.
    pub(super) fn of(self, parts: Vec<Val>) -> Val {
        match self {
            Whole::Tuple => Val::Tuple(parts),
            Whole::Array => Val::Array(parts),
            Whole::Struct(of) => Val::Struct(of, parts),
        }
    }
}

impl Infer<'_> {
    /// A variable for each part of a value.
    pub(super) fn cells(&mut self, name: &str, whole: Whole, parts: Vec<Val>, span: Span) -> Result<Binding> {
        let cell = |(i, v): (usize, Val)| {
            let part = match &whole {
                Whole::Struct(of) => format!("{name}.{}", of.fields[i].0),
                Whole::Tuple => format!("{name}.{i}"),
                Whole::Array => format!("{name}[{i}]"),
            };
            self.cell(&part, v, span)
        };
        let cells = parts.into_iter().enumerate().map(cell).collect::<Result<_>>()?;
        Ok(Binding::Parts(whole, cells))
    }

    /// The variable that a field or an element of a variable is, and its name; none where it is of a value that is not
    /// mutable.
    pub(super) fn part(&mut self, e: &Expr) -> Result<Option<(String, Binding)>> {
        let of = match &e.kind {
            ExprKind::Name(name) => {
                let place = self.lookup(name).cloned();
                return Ok(place.filter(|p| matches!(p, Binding::Parts(..))).map(|p| (name.clone(), p)));
            }
            ExprKind::Field(of, _) | ExprKind::Member(of, _) | ExprKind::Index(of, _) => of,
            _ => return Ok(None),
        };
        let Some((name, place)) = self.part(of)? else { return Ok(None) };
        let Binding::Parts(whole, parts) = place else { return Ok(None) };
        let (i, part) = match (&e.kind, &whole) {
            (ExprKind::Field(_, i), Whole::Tuple) => {
                (self.field_of_tuple(*i, parts.len(), e.span)?, format!("{name}.{i}"))
            }
            (ExprKind::Member(_, field), Whole::Struct(of)) => match of.position(field) {
                Some(i) => (i, format!("{name}.{field}")),
                None => return self.error(Code::UnknownField, field.span(), of.no_field(field)),
            },
            (ExprKind::Index(_, at), Whole::Array) => {
                let i = self.index_of_array(at, parts.len())?;
                (i, format!("{name}[{i}]"))
            }
            _ => return Ok(None),
        };
        Ok(Some((part, parts[i].clone())))
    }

    /// The value of a field or an element.
    pub(super) fn part_of_value(&mut self, e: &Expr) -> Result<Val> {
        if let Some((_, place)) = self.part(e)? {
            return Ok(self.read(&place, e.span));
        }
        match &e.kind {
            ExprKind::Field(x, i) => match self.expr(x)? {
                Val::Tuple(list) => self.field_of_tuple(*i, list.len(), e.span).map(|i| list[i].clone()),
                other => {
                    let found = self.describe(&other);
                    self.error(
                        Code::UnknownField,
                        e.span,
                        format!("only a tuple has fields with numbers, found {found}"),
                    )
                }
            },
            ExprKind::Member(_, field) if self.is_in_prefix(e) => {
                let name = field.to_string();
                let cure = suggest::field(&name).unwrap_or("operations have no prefix, as in `exp(x)`".into());
                self.error(Code::UnknownField, field.span(), format!("no field `{name}`: {cure}"))
            }
            ExprKind::Member(x, field) => match self.expr(x)? {
                Val::Struct(of, list) => match of.position(field) {
                    Some(i) => Ok(list[i].clone()),
                    None => self.error(Code::UnknownField, field.span(), of.no_field(field)),
                },
                other => {
                    let cure = suggest::field(&field.to_string()).unwrap_or_else(|| {
                        format!("a struct has named fields, a tuple `.0`, `.1`, ..; found {}", self.describe(&other))
                    });
                    self.error(Code::UnknownField, field.span(), format!("no field `{field}`: {cure}"))
                }
            },
            ExprKind::Index(x, at) => match self.expr(x)? {
                Val::Array(list) => self.index_of_array(at, list.len()).map(|i| list[i].clone()),
                Val::Run(t) if let [extent] = self.ty(t).shape[..] => {
                    let zero = match self.ty(t).dtype {
                        DType::Bool => "false",
                        t if t.is_float() => "0.0",
                        _ => "0",
                    };
                    self.error(Code::Subscript, e.span, suggest::element_of_tile(extent, zero))
                }
                _ => self.error(Code::Subscript, e.span, suggest::INDEX),
            },
            _ => unreachable!("an expression of a part"),
        }
    }

    /// Whether it is a field of a name that is a module of Python and no name of the kernel.
    pub(super) fn is_in_prefix(&self, e: &Expr) -> bool {
        let ExprKind::Member(of, _) = &e.kind else { return false };
        matches!(&of.kind, ExprKind::Name(n) if suggest::is_prefix(n) && self.lookup(n).is_none())
    }

    fn field_of_tuple(&self, i: usize, fields: usize, span: Span) -> Result<usize> {
        if i < fields {
            return Ok(i);
        }
        self.error(Code::UnknownField, span, format!("no field `.{i}`: the tuple has {fields} fields"))
    }

    fn index_of_array(&mut self, at: &Expr, elements: usize) -> Result<usize> {
        let i = self.expr(at)?;
        if let Val::Run(_) = i {
            return self.error(
                Code::ArrayIndex,
                at.span,
                "the index of an array is known at compile time, as the variable of `static_range(0..n)` is: its elements \
                 are values of their own, not memory",
            );
        }
        let i = self.const_int(&i, at.span, "the index of an array")?;
        match usize::try_from(i).ok().filter(|i| *i < elements) {
            Some(i) => Ok(i),
            None => self.error(Code::ArrayIndex, at.span, format!("no element {i}: the array has {elements}")),
        }
    }

    /// The value of a variable.
    pub(super) fn read(&mut self, b: &Binding, span: Span) -> Val {
        match b {
            Binding::Val(v) => v.clone(),
            Binding::Var(var) => Val::Run(self.read_var(*var, span)),
            Binding::PtrVar(var) => self.read_pointer(*var, span),
            Binding::Parts(whole, parts) => {
                let parts = parts.iter().map(|p| self.read(p, span)).collect();
                whole.clone().of(parts)
            }
            Binding::Poisoned => unreachable!("no part has a mistake of its own"),
        }
    }

    /// Assigns to all parts of a variable.
    pub(super) fn assign_parts(
        &mut self,
        name: &str,
        whole: &Whole,
        places: Vec<Binding>,
        v: Val,
        span: Span,
    ) -> Result<Val> {
        let values = match (whole, v) {
            (Whole::Tuple, Val::Tuple(list)) | (Whole::Array, Val::Array(list)) if list.len() == places.len() => list,
            (Whole::Struct(of), Val::Struct(found, list)) if Rc::ptr_eq(of, &found) => list,
            (whole, v) => {
                let wanted = match whole {
                    Whole::Tuple => format!("a tuple of {}", places.len()),
                    Whole::Array => format!("an array of {}", places.len()),
                    Whole::Struct(of) => format!("a `{}`", of.name),
                };
                let found = self.describe(&v);
                return self.error(
                    Code::VariableType,
                    span,
                    format!("`{name}` is {wanted}, and {found} is assigned to it"),
                );
            }
        };
        let to = Expr { kind: ExprKind::Name(name.into()), span };
        for (place, v) in places.into_iter().zip(values) {
            match place {
                Binding::Parts(whole, parts) => self.assign_parts(name, &whole, parts, v, span)?,
                place => self.assign_one(&to, name, Some(place), v, span)?,
            };
        }
        Ok(Val::Unit)
    }

    /// `Name { field: value, .. }`
    pub(super) fn new_struct(&mut self, name: &TypeName, fields: &[(Ident, Expr)]) -> Result<Val> {
        let Some(of) = self.kernel.scope.structure(&name.name).cloned() else {
            return self.error(
                Code::UnknownType,
                name.span,
                format!("unknown struct `{}`: a #[tile_module] declares it, with named fields", name.name),
            );
        };
        let mut values = vec![None; of.fields.len()];
        for (field, value) in fields {
            let Some(i) = of.position(field) else {
                return self.error(Code::UnknownField, field.span(), of.no_field(field));
            };
            if values[i].is_some() {
                return self.error(Code::StructFields, field.span(), format!("field `{field}` is given twice"));
            }
            let v = self.expr(value)?;
            values[i] = Some(self.as_said(v, &of.fields[i].1, value.span)?);
        }
        if let Some(i) = values.iter().position(Option::is_none) {
            return self.error(
                Code::StructFields,
                name.span,
                format!("`{}` has a field `{}`, which is not given", of.name, of.fields[i].0),
            );
        }
        Ok(Val::Struct(of, values.into_iter().flatten().collect()))
    }

    /// Binds the fields of a struct.
    pub(super) fn bind_fields(
        &mut self,
        name: &TypeName,
        fields: &[(Ident, Pattern)],
        is_open: bool,
        v: Val,
        span: Span,
    ) -> Result<()> {
        let (of, values) = match v {
            Val::Struct(of, values) if of.name == name.name => (of, values),
            other => {
                let found = self.describe(&other);
                return self.error(Code::TypeMismatch, span, format!("expected a `{}`, found {found}", name.name));
            }
        };
        if let Some((missing, _)) = of.fields.iter().find(|(n, _)| !is_open && !fields.iter().any(|(f, _)| f == n)) {
            return self.error(
                Code::StructFields,
                name.span,
                format!("the pattern leaves out `{missing}`: name it, or end with `..`"),
            );
        }
        for (field, pattern) in fields {
            match of.position(field) {
                Some(i) => self.bind_pattern(pattern, values[i].clone(), span)?,
                None => return self.error(Code::UnknownField, field.span(), of.no_field(field)),
            }
        }
        Ok(())
    }
}
