//! Structs: several values under one name.

use crate::diag::Diagnostics;
use crate::front::ast::{Said, Struct};
use crate::front::parse::types::said;
use proc_macro2::Ident;
use syn::visit::Visit;

/// A struct with named fields; of other structs kernels know nothing.
pub fn structure(s: &syn::ItemStruct) -> Option<Struct> {
    let syn::Fields::Named(fields) = &s.fields else { return None };
    let generics: Vec<&Ident> = s.generics.type_params().map(|t| &t.ident).collect();
    // A struct of the host may have fields of any type: a type that the language does not have declares nothing.
    let unreported = Diagnostics::default();
    let field = |f: &syn::Field| {
        let said = of_any(said(&f.ty, &unreported), &generics);
        f.ident.clone().map(|name| (name, said))
    };
    Some(Struct { name: s.ident.clone(), fields: fields.named.iter().filter_map(field).collect() })
}

/// The same without the names of type parameters, which stand for any type.
fn of_any(said: Said, generics: &[&Ident]) -> Said {
    match said {
        Said::Elem(t) if generics.iter().any(|g| **g == t.name) => Said::Nothing,
        Said::Tuple(parts) => Said::Tuple(parts.into_iter().map(|s| of_any(s, generics)).collect()),
        Said::Option(of) => Said::Option(Box::new(of_any(*of, generics))),
        Said::Array(of) => Said::Array(Box::new(of_any(*of, generics))),
        said => said,
    }
}

/// The items that rustc sees: without helpers, and without structs that hold tiles or views, which are types of the
/// language alone. Constants may call a `const fn`, so that it stays.
pub fn seen_by_rustc(items: &[syn::Item]) -> Vec<&syn::Item> {
    let mut hidden: Vec<&Ident> = vec![];
    // A struct may hold one that stands below it.
    for _ in items {
        let more = items.iter().filter_map(|i| match i {
            syn::Item::Struct(s) if !hidden.contains(&&s.ident) && names(s, &hidden) => Some(&s.ident),
            _ => None,
        });
        let more: Vec<&Ident> = more.collect();
        if more.is_empty() {
            break;
        }
        hidden.extend(more);
    }
    let is_seen = |i: &&syn::Item| match i {
        syn::Item::Fn(f) => f.sig.constness.is_some(),
        syn::Item::Struct(s) => !hidden.contains(&&s.ident),
        _ => true,
    };
    items.iter().filter(is_seen).collect()
}

/// Whether a struct names one of the language's own types, or one of these.
fn names(s: &syn::ItemStruct, hidden: &[&Ident]) -> bool {
    struct Names<'h>(&'h [&'h Ident], bool);
    impl<'a> Visit<'a> for Names<'_> {
        fn visit_path(&mut self, p: &'a syn::Path) {
            let is_ours = |i: &Ident| ["Tile", "View", "ViewMut"].iter().any(|n| i == n) || self.0.contains(&i);
            self.1 |= p.segments.last().is_some_and(|s| is_ours(&s.ident));
            syn::visit::visit_path(self, p);
        }
    }
    let mut names = Names(hidden, false);
    names.visit_fields(&s.fields);
    names.1
}
