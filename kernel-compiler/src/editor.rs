//! The expansion of the macros under rust-analyzer: the typed function of a kernel, and the kernel's own body,
//! type-checked over the functions of `tilewright-lang`. Tokens keep their spans, so that hover, completion and
//! go-to-definition work in them.
//!
//! Nothing is inferred or lowered here, and mistakes are left to `cargo check`, which the editor runs beside. A
//! function that is no kernel yet, while it is written, expands to as much as is there.

mod body;
mod signature;

use crate::front::map;
use crate::front::parse;
use crate::front::source::{KERNEL, Uses, default_facade, facade, take_attribute};
use body::Rewriter;
use proc_macro2::{Ident, Span, TokenStream};
use quote::{ToTokens, quote};
use signature::{bounded, launchers};
use syn::parse::{ParseStream, Parser};

/// A function whose body may be no Rust yet.
struct Function {
    item: syn::ItemFn,
    /// With its braces.
    body: TokenStream,
}

impl Function {
    fn parse(input: ParseStream) -> syn::Result<Function> {
        let (attrs, vis, sig) = (input.call(syn::Attribute::parse_outer)?, input.parse()?, input.parse()?);
        let body = input.parse::<TokenStream>()?;
        Ok(Function { item: syn::ItemFn { attrs, vis, sig, block: syn::parse_quote!({}) }, body })
    }
}

/// Expands `#[tile_kernel(attr)] item`.
pub fn kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    match Function::parse.parse2(item.clone()) {
        Ok(f) => kernel_of(attr, f, None),
        Err(_) => item,
    }
}

/// Expands `#[tile_module(attr)] item`.
pub fn module(attr: TokenStream, item: TokenStream) -> TokenStream {
    let uses = syn::parse2::<Uses>(attr).unwrap_or_default();
    // The libraries of the language are modules of typed functions.
    let standard = uses.standard_paths().filter_map(|p| syn::parse2(p).ok());
    let libraries: Vec<syn::Path> = uses.libraries.iter().cloned().chain(standard).collect();
    module_of(&libraries, &uses.facade(), item, false)
}

/// Expands `#[tile_library(attr)] item`: modules that use the library see its items.
pub fn library(attr: TokenStream, item: TokenStream) -> TokenStream {
    module_of(&[], &facade.parse2(attr).unwrap_or_else(|_| default_facade()), item, true)
}

fn module_of(libraries: &[syn::Path], facade: &syn::Path, item: TokenStream, is_library: bool) -> TokenStream {
    let Ok(syn::ItemMod { attrs, vis, ident, content: Some((_, items)), .. }) = syn::parse2(item.clone()) else {
        return item;
    };
    let (inner, outer): (Vec<_>, Vec<_>) = attrs.iter().partition(|a| matches!(a.style, syn::AttrStyle::Inner(_)));
    let lang = quote! { #facade::__private::lang };
    let libraries = libraries.iter().map(from_within);
    let items = items.into_iter().map(|i| within_module(i, facade, &lang, is_library));
    quote! {
        #(#outer)* #[allow(unused)] #vis mod #ident {
            #(#inner)*
            use #lang::*;
            #(use #libraries::*;)*
            #(#items)*
        }
    }
}

/// The path of a library as the module that uses it sees it from within.
fn from_within(path: &syn::Path) -> TokenStream {
    let first = path.segments.first().map(|s| s.ident.to_string()).unwrap_or_default();
    if path.leading_colon.is_some() || first == "crate" {
        return path.to_token_stream();
    }
    let rest = path.segments.iter().skip(usize::from(first == "self"));
    quote! { super #(:: #rest)* }
}

fn within_module(i: syn::Item, facade: &syn::Path, lang: &TokenStream, is_library: bool) -> TokenStream {
    let visible = |vis: &mut syn::Visibility| {
        if is_library && matches!(vis, syn::Visibility::Inherited) {
            *vis = syn::parse_quote!(pub(crate));
        }
    };
    match i {
        syn::Item::Fn(mut f) => {
            if let Some(attr) = take_attribute(&mut f.attrs, KERNEL) {
                let body = f.block.to_token_stream();
                return kernel_of(attr, Function { item: f, body }, Some((facade, lang)));
            }
            visible(&mut f.vis);
            let (attrs, vis, sig) = (&f.attrs, &f.vis, bounded(&f.sig, f.sig.ident.clone(), lang));
            let body = Rewriter { lang }.block(f.block.to_token_stream());
            quote! { #(#attrs)* #vis #sig #body }
        }
        syn::Item::Const(mut c) => {
            visible(&mut c.vis);
            c.to_token_stream()
        }
        syn::Item::Enum(mut e) => {
            visible(&mut e.vis);
            quote! { #[derive(Clone, Copy, PartialEq, Eq)] #e }
        }
        syn::Item::Struct(mut s) => {
            visible(&mut s.vis);
            s.fields.iter_mut().for_each(|f| visible(&mut f.vis));
            s.to_token_stream()
        }
        syn::Item::Type(mut t) => {
            visible(&mut t.vis);
            t.to_token_stream()
        }
        other => other.to_token_stream(),
    }
}

/// The functions that callers see, and the body. `module` is the crate that its module names, where the language is in
/// scope already.
fn kernel_of(attr: TokenStream, f: Function, module: Option<(&syn::Path, &TokenStream)>) -> TokenStream {
    let (attr, f) = match map::kernel(&attr, &f.item.sig, &f.body) {
        Some(map::Parts { attr, sig, body, .. }) => (attr, Function { item: syn::ItemFn { sig, ..f.item }, body }),
        None => (attr, f),
    };
    let facade = parse::facade_of(attr.clone()).or(module.map(|(facade, _)| facade.clone()));
    let facade = facade.unwrap_or_else(default_facade);
    let lang = quote! { #facade::__private::lang };
    let launchers = launchers(&attr, &f.item, &facade);
    let rewriter = Rewriter { lang: &lang };
    let (grid, body) = (rewriter.grid(&attr), rewriter.block(f.body));
    // No name of the user's: the functions above have the kernel's.
    let sig = bounded(&f.item.sig, Ident::new("__body", Span::call_site()), &lang);
    let language = module.is_none().then(|| quote! { use #lang::*; });
    quote! {
        #launchers
        #[allow(unused, non_snake_case, clippy::all)]
        const _: () = {
            #language
            #sig { #grid #body }
        };
    }
}

#[cfg(test)]
mod tests;
