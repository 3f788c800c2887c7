//! The signatures of a kernel's functions, for callers and for its body.

use crate::dtype::DType;
use crate::front::backward;
use crate::front::names::with_names;
use crate::front::parse::types::option_of;
use crate::front::parse::{self, Named};
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};

/// The typed function and the module of each kernel that a function is written for.
pub fn launchers(attr: &TokenStream, item: &syn::ItemFn, facade: &syn::Path) -> TokenStream {
    let mut named = parse::named(attr.clone());
    if named.is_empty() {
        named = vec![Named { docs: vec![], name: item.sig.ident.clone(), given: vec![] }];
    }
    let launchers: TokenStream = named.iter().map(|k| launcher(k, item, facade)).collect();
    let Some(of) = parse::backward_of(attr.clone()) else { return launchers };
    let mut item = item.clone();
    item.sig.inputs = backward::inputs(&item.sig, &of).into_iter().collect();
    named.iter_mut().for_each(|k| k.name = backward::name(&k.name));
    let of_backward: TokenStream = named.iter().map(|k| launcher(k, &item, facade)).collect();
    quote! { #launchers #of_backward }
}

fn launcher(k: &Named, item: &syn::ItemFn, facade: &syn::Path) -> TokenStream {
    let core = quote! { #facade::__private };
    let types: Vec<&Ident> = item.sig.generics.type_params().map(|t| &t.ident).collect();
    // A type that kernel(..) gives stands in the place of its parameter.
    let given = |name: &Ident| match &k.types(name)?[..] {
        [one] => Some(one.clone()),
        _ => None,
    };
    let left = types.iter().filter(|t| given(t).is_none());
    let element = |t: &dyn ToTokens| with_names(t.to_token_stream(), &|i| element_type(&given(i)?, i, &types, &core));
    let element = |t: &dyn ToTokens| with_names(element(t), &|i| element_type(i, i, &types, &core));
    let params = item.sig.inputs.iter().enumerate().map(|(n, input)| {
        let syn::FnArg::Typed(p) = input else { return quote! {} };
        let name = match &*p.pat {
            syn::Pat::Ident(i) => i.ident.to_string(),
            _ => format!("p{n}"),
        };
        // An editor goes to the parameter of the body.
        let name = syn::parse_str::<Ident>(&name).unwrap_or_else(|_| Ident::new("p", Span::call_site()));
        let ty = argument(&p.ty, &core, &element);
        quote! { #name: #ty }
    });
    let (name, vis, unsafety) = (&k.name, &item.vis, &item.sig.unsafety);
    let docs = k.docs.iter().chain(item.attrs.iter().filter(|a| a.path().is_ident("doc")));
    let module = Ident::new(&name.to_string(), Span::call_site());
    quote! {
        #(#docs)*
        #[allow(unused, clippy::all)]
        #vis #unsafety fn #name<'__a, #(#left: #core::Element),*>(#(#params),*) -> #core::Call<'__a> { loop {} }
        #[allow(unused, non_snake_case, missing_docs)]
        #vis mod #module {
            pub trait Types { const DESC: &'static #core::KernelDesc = loop {}; }
            impl<T> Types for T {}
            pub static DESCS: &[&#core::KernelDesc] = &[];
        }
    }
}

/// The argument type that a call takes for a parameter.
fn argument(ty: &syn::Type, core: &TokenStream, element: &dyn Fn(&dyn ToTokens) -> TokenStream) -> TokenStream {
    if let Some(of) = option_of(ty) {
        let of = match of {
            syn::Type::Path(p) if p.path.is_ident("usize") => quote! { usize },
            of => argument(of, core, element),
        };
        return quote! { ::core::option::Option<#of> };
    }
    match ty {
        syn::Type::Reference(r) => match &*r.elem {
            syn::Type::Slice(s) => {
                let t = element(&s.elem);
                match r.mutability {
                    None => quote! { impl #core::AsSlice<'__a, #t> },
                    Some(_) => quote! { impl #core::AsSliceMut<'__a, #t> },
                }
            }
            other => element(other),
        },
        syn::Type::Ptr(p) => {
            let t = element(&p.elem);
            quote! { impl ::core::convert::Into<#core::RawArg<#t>> }
        }
        syn::Type::Path(p) => match p.path.segments.last() {
            Some(s) if s.ident == "usize" => quote! { impl #core::AsSize },
            Some(s) if s.ident == "View" || s.ident == "ViewMut" => {
                let bound = if s.ident == "View" {
                    quote! { AsView }
                } else {
                    quote! { AsViewMut }
                };
                let syn::PathArguments::AngleBracketed(a) = &s.arguments else { return quote! { impl Sized } };
                let args = element(&a.args);
                quote! { impl #core::#bound<'__a, #args> }
            }
            _ => element(ty),
        },
        _ => element(ty),
    }
}

/// The host's type for an element type of the language; others are the user's.
fn element_type(name: &Ident, at: &Ident, types: &[&Ident], core: &TokenStream) -> Option<TokenStream> {
    match DType::parse(&name.to_string()) {
        Some(DType::F16 | DType::BF16 | DType::F8E4M3 | DType::F8E5M2) if !types.contains(&name) => {
            let name = Ident::new(&name.to_string(), at.span());
            Some(quote! { #core::#name })
        }
        _ if name != at => Some(name.to_token_stream()),
        _ => None,
    }
}

/// The signature of a body or a helper: type parameters are elements, pointers are those of the language.
pub fn bounded(sig: &syn::Signature, name: Ident, lang: &TokenStream) -> syn::Signature {
    let mut sig = sig.clone();
    sig.ident = name;
    for g in &mut sig.generics.params {
        match g {
            syn::GenericParam::Type(t) => {
                t.colon_token.get_or_insert_default();
                t.bounds.push(syn::parse_quote!(#lang::Num));
            }
            syn::GenericParam::Const(c) => (c.eq_token, c.default) = (None, None),
            syn::GenericParam::Lifetime(_) => {}
        }
    }
    for input in &mut sig.inputs {
        if let syn::FnArg::Typed(p) = input {
            let pointer = option_of(&p.ty).and_then(|of| pointer(of, lang));
            let optional = pointer.map(|of| syn::parse_quote!(::core::option::Option<#of>));
            if let Some(ty) = optional.or_else(|| self::pointer(&p.ty, lang)) {
                *p.ty = ty;
            }
        }
    }
    sig
}

/// The language's type for a pointer.
pub fn pointer(ty: &syn::Type, lang: &TokenStream) -> Option<syn::Type> {
    let syn::Type::Ptr(pointer) = ty else { return None };
    let elem = &pointer.elem;
    Some(match pointer.mutability {
        None => syn::parse_quote!(#lang::Ptr<#elem>),
        Some(_) => syn::parse_quote!(#lang::PtrMut<#elem>),
    })
}
