//! Finding kernels' functions: a single `#[tile_kernel]` function, a `#[tile_module]`, or all of a source file.

use crate::ast::Scope;
use crate::diag::{Diagnostics, Result};
use crate::instance::{Kernel, fingerprint};
use crate::library::{Libraries, Uses};
use crate::parse;
use proc_macro2::TokenStream;
use quote::ToTokens;
use std::rc::Rc;
use syn::visit::Visit;

pub const KERNEL: &str = "tile_kernel";
pub const MODULE: &str = "tile_module";

/// A function under `#[tile_kernel]` as found, not yet parsed.
pub struct Found {
    pub attr: TokenStream,
    pub item: syn::ItemFn,
    pub scope: Rc<Scope>,
    /// Of the items that the function may use.
    pub context: TokenStream,
}

impl Found {
    /// The kernels that it is written for.
    pub fn parse(self, d: &Diagnostics) -> Result<Vec<Kernel>> {
        let fingerprint = fingerprint(&[&self.attr, &self.item.to_token_stream(), &self.context]);
        let kernels = parse::kernels(self.attr, self.item, self.scope, d)?;
        Ok(kernels.into_iter().map(|ast| Kernel { name: ast.name.to_string(), ast, fingerprint: fingerprint.clone() }).collect())
    }
}

pub fn last_segment_is(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|s| s.ident == name)
}

/// Takes the kernel attribute off an item.
pub fn take_attribute(attrs: &mut Vec<syn::Attribute>, name: &str) -> Option<TokenStream> {
    let i = attrs.iter().position(|a| last_segment_is(a.path(), name))?;
    Some(match attrs.remove(i).meta {
        syn::Meta::List(l) => l.tokens,
        _ => TokenStream::new(),
    })
}

/// The kernels of a `#[tile_module]`, and its items without them; its kernels may use those of `libraries`, too.
pub fn module(mut items: Vec<syn::Item>, libraries: &[syn::Item], d: &Diagnostics) -> Result<(Vec<Found>, Vec<syn::Item>)> {
    let mut kernels = vec![];
    items.retain_mut(|i| {
        let syn::Item::Fn(f) = i else { return true };
        match take_attribute(&mut f.attrs, KERNEL) {
            Some(attr) => {
                kernels.push((attr, f.clone()));
                false
            }
            None => true,
        }
    });
    // The module's own come first.
    let all = || items.iter().chain(libraries);
    let scope = Rc::new(parse::scope(all(), d)?);
    let context: TokenStream = all().filter(|i| matches!(i, syn::Item::Fn(_) | syn::Item::Const(_) | syn::Item::Type(_))).map(ToTokens::to_token_stream).collect();
    Ok((kernels.into_iter().map(|(attr, item)| Found { attr, item, scope: scope.clone(), context: context.clone() }).collect(), items))
}

/// The libraries of a `#[tile_module]`, which may be none.
pub fn uses(m: &syn::ItemMod) -> Option<Uses> {
    let attr = m.attrs.iter().find(|a| last_segment_is(a.path(), MODULE))?;
    match attr.meta {
        syn::Meta::List(_) => attr.parse_args().ok(),
        _ => Some(Uses::default()),
    }
}

/// Every kernel's function in a file's text, in order. A file that does not parse has none: `rustc` reports it.
pub fn file(text: &str, libraries: &Libraries) -> Vec<Found> {
    struct Finder<'l>(Vec<Found>, &'l Libraries);
    impl<'a> Visit<'a> for Finder<'_> {
        fn visit_item_fn(&mut self, f: &'a syn::ItemFn) {
            let mut item = f.clone();
            if let Some(attr) = take_attribute(&mut item.attrs, KERNEL) {
                self.0.push(Found { attr, item, scope: Rc::default(), context: TokenStream::new() });
            }
        }
        fn visit_item_mod(&mut self, m: &'a syn::ItemMod) {
            match (&m.content, uses(m)) {
                (Some((_, items)), Some(uses)) => {
                    if let Ok(used) = self.1.items(&uses)
                        && let Ok((kernels, _)) = module(items.clone(), &used, &Diagnostics::default())
                    {
                        self.0.extend(kernels);
                    }
                }
                _ => syn::visit::visit_item_mod(self, m),
            }
        }
    }
    let mut finder = Finder(vec![], libraries);
    if let Ok(f) = syn::parse_file(text) {
        finder.visit_file(&f);
    }
    finder.0
}
