//! Constants: enums, the types of const parameters, and the values that an attribute gives them.

use crate::diag::{Code, Diagnostics, Result, Span, syn_error};
use crate::dtype::DType;
use crate::front::ast::{Const, ConstParam, ConstType, Enum, Scope};
use proc_macro2::Ident;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::spanned::Spanned;

/// An enum as a type of constants: all of its variants are unit variants.
pub fn enumeration(e: &syn::ItemEnum) -> syn::Result<Enum> {
    const WHY: &str = "an enum of constants has unit variants: `enum Scheduler { Grid, Persistent }`";
    if !e.generics.params.is_empty() {
        return Err(syn_error(Code::EnumForm, e.generics.span(), format!("{WHY}, and no generic parameters")));
    }
    for v in &e.variants {
        if !v.fields.is_empty() {
            return Err(syn_error(Code::EnumForm, v.ident.span(), format!("`{}` has fields: {WHY}", v.ident)));
        }
        if let Some((_, number)) = &v.discriminant {
            return Err(syn_error(
                Code::EnumForm,
                number.span(),
                format!("{WHY}, which are numbered from 0 in their order"),
            ));
        }
    }
    if e.variants.is_empty() {
        return Err(syn_error(Code::EnumForm, e.ident.span(), format!("`{}` has no variants: {WHY}", e.ident)));
    }
    Ok(Enum { name: e.ident.clone(), variants: e.variants.iter().map(|v| v.ident.clone()).collect() })
}

/// A const parameter, of a kernel or a helper.
pub fn const_param(c: &syn::ConstParam, of_kernel: bool, scope: &Scope, d: &Diagnostics) -> Result<ConstParam> {
    let name = match &c.ty {
        syn::Type::Path(p) => p.path.get_ident().map(Ident::to_string),
        _ => None,
    };
    let ty = match name.as_deref() {
        Some("usize") => Some(ConstType::Int),
        Some("bool") => Some(ConstType::Bool),
        Some(n) if !of_kernel && DType::parse(n).is_some_and(DType::is_int) => Some(ConstType::Int),
        Some(n) => scope.enumeration(n).cloned().map(ConstType::Enum),
        None => None,
    };
    let Some(ty) = ty else {
        let integer = if of_kernel { "a `usize`" } else { "an integer" };
        return Err(d.error(
            Code::ConstParameter,
            Span::of(&c.ty),
            format!("a const parameter is {integer}, a `bool` or an enum that the #[tile_module] declares or uses"),
        ));
    };
    let int = name.as_deref().and_then(DType::parse).filter(|t| t.is_int()).unwrap_or(DType::U64);
    let param = ConstParam { name: c.ident.clone(), ty, int, default: None };
    let default = match &c.default {
        Some(e) if !of_kernel => {
            return Err(d.error(
                Code::ConstParameter,
                Span::of(e),
                "a helper's const parameter has no default: its caller gives the value",
            ));
        }
        Some(e) => {
            let value: Value = syn::parse2(quote::ToTokens::to_token_stream(e)).map_err(|e| d.syn(e))?;
            Some(value.constant(&param, d)?)
        }
        None => None,
    };
    Ok(ConstParam { default, ..param })
}

/// A value as an attribute gives it: `64`, `true`, `Persistent`, `Scheduler::Persistent`, `f16`.
pub enum Value {
    Int(syn::LitInt),
    Bool(syn::LitBool),
    Name { of: Option<Ident>, name: Ident },
}

impl Parse for Value {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        if input.peek(syn::LitInt) {
            Ok(Value::Int(input.parse()?))
        } else if input.peek(syn::LitBool) {
            Ok(Value::Bool(input.parse()?))
        } else if input.peek(Ident::peek_any) {
            let (mut of, mut name): (_, Ident) = (None, input.parse()?);
            while input.parse::<Option<syn::Token![::]>>()?.is_some() {
                (of, name) = (Some(name), input.parse()?);
            }
            Ok(Value::Name { of, name })
        } else {
            let why = "a const parameter is given an integer, `true`, `false` or a variant of its enum";
            Err(input.error(Code::ConstValue.mark(why)))
        }
    }
}

impl Value {
    pub fn span(&self) -> proc_macro2::Span {
        match self {
            Value::Int(n) => n.span(),
            Value::Bool(b) => b.span(),
            Value::Name { name, .. } => name.span(),
        }
    }

    /// The integer that a setting is given.
    pub fn int(&self, d: &Diagnostics) -> Result<i128> {
        match self {
            Value::Int(n) => n.base10_parse().map_err(|e| d.syn(e)),
            _ => Err(d.error(Code::SettingValue, self.span(), "an integer is expected")),
        }
    }

    /// The value that a kernel's const parameter is given.
    pub fn constant(&self, of: &ConstParam, d: &Diagnostics) -> Result<Const> {
        match (&of.ty, self) {
            (ConstType::Int, Value::Int(n)) if ["", "usize"].contains(&n.suffix()) => self.int(d).map(Const::Int),
            (ConstType::Bool, Value::Bool(b)) => Ok(Const::Bool(b.value)),
            (ConstType::Enum(e), Value::Name { of, name }) if of.as_ref().is_none_or(|of| *of == e.name) => {
                match e.position(&name.to_string()) {
                    Some(i) => Ok(Const::Variant(e.clone(), i)),
                    None => Err(d.error(Code::UnknownConstant, name.span(), e.no_variant(&name.to_string()))),
                }
            }
            (ConstType::Int, _) => Err(d.error(
                Code::ConstValue,
                self.span(),
                format!("`{}` is a const parameter of type `usize`: give it an integer", of.name),
            )),
            (ty, _) => Err(d.error(Code::ConstValue, self.span(), format!("`{}` is {ty}", of.name))),
        }
    }
}
