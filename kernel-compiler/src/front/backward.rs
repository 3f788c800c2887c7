//! The backward kernel of `#[tile_kernel(backward)]`: its name, its parameters, and its function.

use crate::diag::{Code, Diagnostics, Result};
use crate::dtype::DType;
use crate::front::ast::{Adjoint, Choice, Kernel, Param, ParamKind};
use crate::ir;
use crate::passes::adjoint::{Derived, Holds, derived, gradient_name};
use proc_macro2::{Ident, Span};
use std::rc::Rc;
use tilewright_types::limits::{MAX_ARGUMENT_WORDS, MAX_BUFFERS};

/// `backward`, or `backward(x, w)`.
#[derive(Clone, Debug)]
pub struct Backward {
    pub span: Span,
    /// The inputs that have a gradient; without a list all arrays of floats.
    pub inputs: Option<Vec<Ident>>,
}

/// The name of the backward kernel.
pub fn name(forward: &Ident) -> Ident {
    Ident::new(&format!("{forward}_backward"), forward.span())
}

/// The elements of an array, in every choice of types.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Elements {
    Floats,
    Narrow,
    Others,
}

/// The backward kernel of a kernel.
pub fn derive(forward: &Kernel, backward: &Backward, d: &Diagnostics) -> Result<Kernel> {
    if let Some(config) = forward.configs.iter().find(|c| c.ctas > 1) {
        let why = format!(
            "a backward kernel adds by atomics, which clusters do not take: `backward` is for `ctas = [1]`, here is {}",
            config.ctas
        );
        return Err(d.error(Code::BackwardKernel, backward.span, why));
    }
    let (mut params, mut roles) = (vec![], vec![]);
    for (i, p) in forward.params.iter().enumerate() {
        let elements = elements(forward, p, d)?;
        let wanted = wanted(p, elements, backward, d)?;
        if p.kind.is_array() && p.kind.is_mut() && elements == Elements::Narrow {
            let why = format!("`{}` has floats of 8 bits, which have no gradient: write f16, bf16 or f32", p.name);
            return Err(d.error(Code::BackwardKernel, p.name.span(), why));
        }
        for (holds, kind) in derived(p.kind, elements == Elements::Floats, wanted) {
            let name = match holds {
                Holds::Values => p.name.clone(),
                Holds::Sum | Holds::Given => Ident::new(&gradient_name(&p.name.to_string()), p.name.span()),
            };
            params.push(Param { name, kind, ..p.clone() });
            roles.push((i, holds));
        }
    }
    for name in backward.inputs.iter().flatten() {
        if !forward.params.iter().any(|p| p.name == *name) {
            let why = format!("the kernel has no parameter `{name}`: `backward` names arrays of floats that it reads");
            return Err(d.error(Code::UnknownInAttribute, name.span(), why));
        }
    }
    if !roles.iter().any(|(_, holds)| *holds == Holds::Given) || !roles.iter().any(|(_, holds)| *holds == Holds::Sum) {
        let why = "a kernel with `backward` reads an array of floats, and writes one: `x: &[f32], y: &mut [f32]`";
        return Err(d.error(Code::BackwardKernel, backward.span, why));
    }
    if let Some(p) = params.iter().enumerate().find(|(i, p)| params[..*i].iter().any(|q| q.name == p.name)) {
        let name = &p.1.name;
        let why = format!("`{name}` is the name of a gradient in the backward kernel: give the parameter another name");
        return Err(d.error(Code::BackwardKernel, name.span(), why));
    }
    let (words, arrays) =
        (params.iter().map(|p| p.kind.words()).sum::<usize>(), params.iter().filter(|p| p.kind.is_array()).count());
    if words > MAX_ARGUMENT_WORDS || arrays > MAX_BUFFERS {
        let why = format!(
            "the backward kernel has {arrays} arrays and {words} argument words, at most {MAX_BUFFERS} and \
             {MAX_ARGUMENT_WORDS}: name fewer inputs in `backward(..)`"
        );
        return Err(d.error(Code::TooManyWords, backward.span, why));
    }
    let name = name(&forward.name);
    let mut item = forward.item.clone();
    item.attrs.retain(|a| !a.path().is_ident("doc"));
    let doc = format!(
        "The backward kernel of `{0}`: adds the gradients with respect to its inputs to each `_grad` that is written.",
        forward.name
    );
    item.attrs.push(syn::parse_quote!(#[doc = #doc]));
    Ok(Kernel {
        name,
        item,
        params,
        pdl: None,
        aliases: vec![],
        deterministic: false,
        adjoint: Some(Rc::new(Adjoint { forward: forward.clone(), roles })),
        ..forward.clone()
    })
}

/// Whether the backward kernel adds to a gradient with respect to a parameter, if it is read.
fn wanted(p: &Param, elements: Elements, backward: &Backward, d: &Diagnostics) -> Result<bool> {
    let Some(list) = &backward.inputs else { return Ok(true) };
    let Some(name) = list.iter().find(|n| **n == p.name) else { return Ok(false) };
    if !p.kind.is_array() || p.kind.is_mut() || elements != Elements::Floats {
        let why = format!(
            "`backward` names arrays of floats of 16 bits or more that the kernel only reads, as `&[f32]` or \
             `View<f32, 2>`; `{name}` is no such array"
        );
        return Err(d.error(Code::BackwardKernel, name.span(), why));
    }
    Ok(true)
}

fn elements(k: &Kernel, p: &Param, d: &Diagnostics) -> Result<Elements> {
    let of = |t: DType| match t {
        t if t.is_float8() => Elements::Narrow,
        t if t.is_float() => Elements::Floats,
        _ => Elements::Others,
    };
    let types: Vec<DType> = match k.type_params.iter().find(|t| t.name == p.elem.name) {
        Some(t) => t.types.clone(),
        None => k.given.dtype(&p.elem, &[], &k.scope).into_iter().collect(),
    };
    let mut kinds = types.into_iter().map(of);
    let first = kinds.next().unwrap_or(Elements::Others);
    if p.kind.is_array() && kinds.any(|k| k != first) {
        let why = format!(
            "`{}` has floats for some types of `{}`, and integers or floats of 8 bits for others: a kernel with \
             `backward` has one kind in each array",
            p.name, p.elem.name
        );
        return Err(d.error(Code::BackwardKernel, p.name.span(), why));
    }
    Ok(first)
}

/// The choice of the forward kernel for one of the backward kernel.
pub fn forward_choice(k: &Kernel, adjoint: &Adjoint, choice: &Choice) -> Choice {
    let has = |i: usize| {
        let of = adjoint.roles.iter().zip(&k.params).find(|((of, holds), _)| *of == i && *holds != Holds::Sum);
        of.is_none_or(|(_, p)| choice.has(p))
    };
    let optional = adjoint.forward.params.iter().enumerate().filter(|(_, p)| p.is_optional);
    Choice { types: choice.types.clone(), present: optional.map(|(i, p)| (p.name.to_string(), has(i))).collect() }
}

/// The parameters of the backward function in a choice. `forward`: those of the forward function, whose absent ones are
/// left out.
pub fn function_params(k: &Kernel, adjoint: &Adjoint, choice: &Choice, forward: &[ir::Param]) -> Vec<Derived> {
    let (mut out, mut first_word) = (vec![], 0);
    for (&(of, holds), p) in adjoint.roles.iter().zip(&k.params).filter(|(_, p)| choice.has(p)) {
        let name = &adjoint.forward.params[of].name;
        let at = forward.iter().position(|q| *name == q.name);
        let dtype = k.given.dtype(&p.elem, &choice.types, &k.scope).expect("inference knows the type");
        let param = ir::Param { name: p.name.to_string(), kind: p.kind, dtype, first_word };
        out.push(Derived { param, of: at, holds });
        first_word += p.kind.words();
    }
    out
}

/// The parameters of the backward kernel in the syntax of Rust, for callers of a kernel that is not parsed: a type that
/// no name of an integer has is one of floats.
pub fn inputs(sig: &syn::Signature, backward: &Backward) -> Vec<syn::FnArg> {
    sig.inputs.iter().flat_map(|input| derived_inputs(input, backward)).collect()
}

fn derived_inputs(input: &syn::FnArg, backward: &Backward) -> Vec<syn::FnArg> {
    let syn::FnArg::Typed(p) = input else { return vec![input.clone()] };
    let (syn::Pat::Ident(name), Some((kind, elem))) = (&*p.pat, array(&p.ty)) else { return vec![input.clone()] };
    let is_float = DType::parse(&elem).is_none_or(|t| t.is_float() && !t.is_float8());
    let is_wanted = backward.inputs.as_ref().is_none_or(|list| list.contains(&name.ident));
    let of = |(holds, kind): (Holds, ParamKind)| {
        let mut name = name.clone();
        if holds != Holds::Values {
            name.ident = Ident::new(&gradient_name(&name.ident.to_string()), name.ident.span());
        }
        let (pat, ty) = (Box::new(syn::Pat::Ident(name)), Box::new(with(&p.ty, kind.is_mut())));
        syn::FnArg::Typed(syn::PatType { pat, ty, ..p.clone() })
    };
    derived(kind, is_float, is_wanted).into_iter().map(of).collect()
}

/// The kind of an array, and the name of its elements.
fn array(ty: &syn::Type) -> Option<(ParamKind, String)> {
    let name = |t: &syn::Type| quote::ToTokens::to_token_stream(t).to_string();
    match ty {
        syn::Type::Reference(r) => match &*r.elem {
            syn::Type::Slice(s) => Some((ParamKind::Slice { mutable: r.mutability.is_some() }, name(&s.elem))),
            _ => None,
        },
        syn::Type::Ptr(p) => Some((ParamKind::Ptr { mutable: p.mutability.is_some() }, name(&p.elem))),
        syn::Type::Path(path) => {
            let last = path.path.segments.last()?;
            let syn::PathArguments::AngleBracketed(args) = &last.arguments else { return None };
            let Some(syn::GenericArgument::Type(first)) = args.args.first() else { return None };
            match last.ident.to_string().as_str() {
                "Option" => array(first),
                "View" => Some((ParamKind::View { rank: 1, mutable: false }, name(first))),
                "ViewMut" => Some((ParamKind::View { rank: 1, mutable: true }, name(first))),
                _ => None,
            }
        }
        _ => None,
    }
}

/// The type of an array that is written, or only read.
fn with(ty: &syn::Type, mutable: bool) -> syn::Type {
    let mut ty = ty.clone();
    match &mut ty {
        syn::Type::Reference(r) => r.mutability = mutable.then(Default::default),
        syn::Type::Ptr(p) => {
            p.mutability = mutable.then(Default::default);
            p.const_token = (!mutable).then(Default::default);
        }
        syn::Type::Path(path) => {
            let Some(last) = path.path.segments.last_mut() else { return ty };
            match (last.ident.to_string().as_str(), &mut last.arguments) {
                ("Option", syn::PathArguments::AngleBracketed(args)) => {
                    if let Some(syn::GenericArgument::Type(of)) = args.args.first_mut() {
                        *of = with(of, mutable);
                    }
                }
                ("View" | "ViewMut", _) => {
                    last.ident = Ident::new(if mutable { "ViewMut" } else { "View" }, last.ident.span());
                }
                _ => {}
            }
        }
        _ => {}
    }
    ty
}
