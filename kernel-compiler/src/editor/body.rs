//! A kernel's body as Rust: operations that take several numbers of arguments, comparisons and conversions of tiles are
//! calls of functions with a type. All of the user's tokens stay where they are.

use super::signature::pointer;
use proc_macro2::{TokenStream, TokenTree};
use quote::{ToTokens, quote};
use syn::visit_mut::{VisitMut, visit_expr_mut};

pub struct Rewriter<'l> {
    /// The path of `tilewright-lang`.
    pub lang: &'l TokenStream,
}

/// Operations that `overloads` of `tilewright-lang` has, and their number of arguments there.
const OVERLOADS: [(&str, usize); 23] = [
    ("load", 1),
    ("store", 2),
    ("atomic_add", 2),
    ("atomic_max", 2),
    ("atomic_min", 2),
    ("atomic_and", 2),
    ("atomic_or", 2),
    ("atomic_xor", 2),
    ("atomic_xchg", 2),
    ("atomic_cas", 3),
    ("atomic_load", 1),
    ("atomic_store", 2),
    ("sum", 2),
    ("max", 2),
    ("min", 2),
    ("argmax", 2),
    ("argmin", 2),
    ("range", 2),
    ("static_range", 2),
    ("arange", 2),
    ("to", 2),
    ("bitcast", 2),
    ("zeros", 2),
];

impl Rewriter<'_> {
    /// A body with its braces; one that is no Rust yet stays as it is.
    pub fn block(&self, body: TokenStream) -> TokenStream {
        match syn::parse2::<syn::Block>(body.clone()) {
            Ok(mut block) => {
                Rewriter { lang: self.lang }.visit_block_mut(&mut block);
                block.into_token_stream()
            }
            Err(_) => body,
        }
    }

    /// The expressions of the attribute, as a statement.
    pub fn grid(&self, attr: &TokenStream) -> TokenStream {
        let lang = self.lang;
        let lists = ["grid", "requires"].into_iter().filter_map(|name| list_of(attr, name));
        let lists = lists.map(|list| {
            let rewritten = syn::parse2::<syn::Expr>(list.clone()).map(|mut e| {
                Rewriter { lang }.visit_expr_mut(&mut e);
                e.into_token_stream()
            });
            rewritten.unwrap_or(list)
        });
        quote! { { use #lang::grid::*; #( let _ = #lists; )* } }
    }

    fn overload(&self, name: &syn::Ident) -> TokenStream {
        let lang = self.lang;
        quote! { #lang::overloads::#name }
    }
}

/// Whether `overloads` has the operation with so many arguments.
fn is_overload(name: &syn::Ident, arguments: usize) -> bool {
    OVERLOADS.iter().any(|(n, a)| name == n && *a == arguments)
}

impl VisitMut for Rewriter<'_> {
    // Constants are made of no tiles, and rustc's own rules hold for them.
    fn visit_item_mut(&mut self, _: &mut syn::Item) {}
    fn visit_generic_argument_mut(&mut self, _: &mut syn::GenericArgument) {}
    fn visit_pat_mut(&mut self, _: &mut syn::Pat) {}

    fn visit_expr_mut(&mut self, e: &mut syn::Expr) {
        visit_expr_mut(self, e);
        let lang = self.lang;
        let rewritten = match &*e {
            syn::Expr::Call(c) => {
                let syn::Expr::Path(p) = &*c.func else { return };
                let [segment] = &p.path.segments.iter().collect::<Vec<_>>()[..] else { return };
                let (name, args) = (&segment.ident, &c.args);
                match &segment.arguments {
                    syn::PathArguments::None if is_overload(name, args.len()) => {
                        let path = self.overload(name);
                        quote! { #path(#args) }
                    }
                    // The type of the value is inferred.
                    syn::PathArguments::AngleBracketed(to)
                        if to.args.len() == 1
                            && ["bitcast", "to", "unpack_e2m1", "from_e8m0"].iter().any(|n| name == n) =>
                    {
                        let to = &to.args;
                        quote! { #name::<#to, _>(#args) }
                    }
                    _ => return,
                }
            }
            // With an argument these are the functions of the same names, along an axis.
            syn::Expr::MethodCall(m)
                if m.args.len() == 1 && m.turbofish.is_none() && is_overload(&m.method, 2) && !is_access(&m.method) =>
            {
                let (path, receiver, args) = (self.overload(&m.method), &m.receiver, &m.args);
                quote! { #path(#receiver, #args) }
            }
            syn::Expr::Binary(b) if is_comparison(&b.op) => {
                let (left, right) = (&b.left, &b.right);
                quote! { #lang::operators::compare(#left, #right) }
            }
            syn::Expr::Cast(c) => {
                let (value, ty) = (&c.expr, &c.ty);
                match pointer(ty, lang) {
                    Some(pointer) => quote! { #lang::operators::to_pointer::<#pointer, _>(#value) },
                    None => quote! { #lang::operators::cast::<#ty, _>(#value) },
                }
            }
            _ => return,
        };
        if let Ok(new) = syn::parse2(rewritten) {
            *e = new;
        }
    }
}

/// Methods of other things have these names.
fn is_access(name: &syn::Ident) -> bool {
    ["store", "load", "range"].iter().any(|n| name == n)
}

fn is_comparison(op: &syn::BinOp) -> bool {
    use syn::BinOp::{Eq, Ge, Gt, Le, Lt, Ne};
    matches!(op, Eq(_) | Ne(_) | Lt(_) | Le(_) | Gt(_) | Ge(_))
}

/// The brackets after `name =` in an attribute.
fn list_of(attr: &TokenStream, name: &str) -> Option<TokenStream> {
    let tokens: Vec<TokenTree> = attr.clone().into_iter().collect();
    tokens.windows(3).find_map(|w| match w {
        [TokenTree::Ident(n), TokenTree::Punct(p), TokenTree::Group(g)] if n == name && p.as_char() == '=' => {
            Some(g.to_token_stream())
        }
        _ => None,
    })
}
