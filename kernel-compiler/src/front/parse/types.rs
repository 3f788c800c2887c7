//! Types as a kernel writes them.

use crate::diag::{Code, Diagnostics, Reported, Result, Span};
use crate::dtype::DType;
use crate::front::ast::{ClosureType, ParamType, Said, TypeName};
use crate::front::suggest;

/// The declaration that a type makes about a value.
pub fn said(ty: &syn::Type, d: &Diagnostics) -> Said {
    match ty {
        syn::Type::Tuple(t) => Said::Tuple(t.elems.iter().map(|t| said(t, d)).collect()),
        syn::Type::Array(a) => Said::Array(Box::new(said(&a.elem, d))),
        ty if let Some(of) = option_of(ty) => Said::Option(Box::new(said(of, d))),
        ty => helper_elem(ty, d).map_or(Said::Nothing, Said::Elem),
    }
}

/// The type in the brackets of `Option<..>`.
pub fn option_of(ty: &syn::Type) -> Option<&syn::Type> {
    let syn::Type::Path(p) = ty else { return None };
    let last = p.path.segments.last().filter(|s| s.ident == "Option")?;
    match &last.arguments {
        syn::PathArguments::AngleBracketed(a) => match a.args.iter().collect::<Vec<_>>()[..] {
            [syn::GenericArgument::Type(of)] => Some(of),
            _ => None,
        },
        _ => None,
    }
}

/// The type that a helper's parameter declares for its argument.
pub fn param_type(ty: &syn::Type, d: &Diagnostics) -> Result<ParamType> {
    let bounds = match ty {
        syn::Type::Reference(r) if !matches!(&*r.elem, syn::Type::Slice(_)) => return param_type(&r.elem, d),
        syn::Type::Paren(t) => return param_type(&t.elem, d),
        syn::Type::ImplTrait(t) => &t.bounds,
        syn::Type::TraitObject(t) => &t.bounds,
        ty => return Ok(ParamType::Value(said(ty, d))),
    };
    match bounds.iter().find_map(closure_type) {
        Some((args, output)) => Ok(ParamType::Closure(ClosureType {
            args: args.inputs.iter().map(|t| said(t, d)).collect(),
            returns: output.map(|t| said(t, d)),
        })),
        None => Err(d.error(Code::ParameterType, Span::of(ty), CLOSURE)),
    }
}

const CLOSURE: &str = "a closure is a parameter `f: impl Fn(Tile<f32>, usize)` or `f: impl Fn(Tile<f32>) -> Tile<f32>`";

/// The arguments of `Fn(A, B) -> R` and its result.
fn closure_type(bound: &syn::TypeParamBound) -> Option<(&syn::ParenthesizedGenericArguments, Option<&syn::Type>)> {
    let syn::TypeParamBound::Trait(t) = bound else { return None };
    let last = t.path.segments.last()?;
    let syn::PathArguments::Parenthesized(args) = &last.arguments else { return None };
    let output = match &args.output {
        syn::ReturnType::Type(_, ty) if !matches!(&**ty, syn::Type::Tuple(t) if t.elems.is_empty()) => Some(&**ty),
        _ => None,
    };
    ["Fn", "FnMut", "FnOnce"].iter().any(|f| last.ident == f).then_some((args, output))
}

/// The name of a helper's type parameter, which stands for an element type.
pub fn helper_type_param(t: &syn::TypeParam, d: &Diagnostics) -> Result<String> {
    match t.bounds.iter().find_map(closure_type) {
        Some(_) => Err(d.error(
            Code::ParameterType,
            Span::of(t),
            format!("a type parameter of a helper is an element type; {CLOSURE}"),
        )),
        None => Ok(t.ident.to_string()),
    }
}

/// The element type that a helper's parameter names: `T`, `&[T]`, `Tile<T, ..>`; tuples name none.
fn helper_elem(ty: &syn::Type, d: &Diagnostics) -> Option<TypeName> {
    match ty {
        syn::Type::Reference(r) => match &*r.elem {
            syn::Type::Slice(s) => type_name(&s.elem, d).ok(),
            inner => helper_elem(inner, d),
        },
        syn::Type::Ptr(p) => helper_elem(&p.elem, d),
        syn::Type::Path(p) => {
            let last = p.path.segments.last()?;
            match (&*last.ident.to_string(), &last.arguments) {
                ("Tile" | "View" | "ViewMut", syn::PathArguments::AngleBracketed(a)) => match a.args.first()? {
                    syn::GenericArgument::Type(t) => type_name(t, d).ok(),
                    _ => None,
                },
                (_, syn::PathArguments::None) if p.path.segments.len() == 1 => {
                    Some(TypeName { name: last.ident.to_string(), span: last.ident.span().into() })
                }
                _ => None,
            }
        }
        _ => None,
    }
}

/// A dtype or the name of a type parameter.
pub fn type_name(ty: &syn::Type, d: &Diagnostics) -> Result<TypeName> {
    match ty {
        syn::Type::Path(p) if p.qself.is_none() && p.path.segments.last().is_some_and(|s| s.arguments.is_none()) => {
            let s = p.path.segments.last().expect("checked");
            Ok(TypeName { name: s.ident.to_string(), span: s.ident.span().into() })
        }
        _ => {
            let cure = match ty {
                syn::Type::Path(p) => p.path.segments.last().and_then(|s| suggest::owner(&s.ident)),
                _ => None,
            };
            let (code, why) = match cure {
                Some(cure) => (Code::NoHeap, cure.to_string()),
                None => (Code::UnknownType, format!("expected an element type: {}, or a type parameter", DType::NAMES)),
            };
            Err(d.error(code, Span::of(ty), why))
        }
    }
}

pub fn unknown_type(t: &TypeName, d: &Diagnostics) -> Reported {
    let cure = match suggest::element(&t.name) {
        Some(ours) => format!("write `{ours}`"),
        None => format!("a tile holds {}, or a type parameter listed in `types(..)`", DType::NAMES),
    };
    d.error(Code::UnknownType, t.span, format!("unknown element type `{}`: {cure}", t.name))
}
