//! Finding kernels' functions: a single `#[tile_kernel]` function, a `#[tile_module]`, or all of a source file.

use crate::diag::{Diagnostics, Result};
use crate::front::ast::Scope;
use crate::front::instance::{Kernel, fingerprint};
use crate::front::library::Libraries;
use crate::front::parse;
use crate::front::source::{KERNEL, Source, take_attribute, walk};
use proc_macro2::TokenStream;
use quote::ToTokens;
use std::cell::RefCell;
use std::rc::Rc;
use syn::visit::Visit;

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
        // Attributes mean nothing to a kernel, and some the build script alone sees: a `cfg` that holds is taken off
        // before the macro is called.
        let bare = syn::ItemFn { attrs: vec![], ..self.item.clone() };
        let fingerprint = fingerprint(&[&self.attr, &bare.to_token_stream(), &self.context]);
        let kernels = parse::kernels(self.attr, self.item, self.scope, d)?;
        Ok(kernels
            .into_iter()
            .map(|ast| Kernel { name: ast.name.to_string(), ast, fingerprint: fingerprint.clone() })
            .collect())
    }
}

/// Whether kernels of its module may use an item.
fn is_used(i: &syn::Item) -> bool {
    matches!(i, syn::Item::Fn(_) | syn::Item::Const(_) | syn::Item::Enum(_) | syn::Item::Type(_))
}

/// The kernels of a `#[tile_module]`, and its items without them; its kernels may use those of `libraries`, too.
pub fn module(
    mut items: Vec<syn::Item>,
    libraries: &[syn::Item],
    d: &Diagnostics,
) -> Result<(Vec<Found>, Vec<syn::Item>)> {
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
    let mut no_cfg = parse::NoCfg::new(d);
    kernels.iter().for_each(|(_, f)| no_cfg.visit_item_fn(f));
    items.iter().chain(libraries).filter(|i| is_used(i)).for_each(|i| no_cfg.visit_item(i));
    no_cfg.done()?;
    // The module's own come first.
    let all = || items.iter().chain(libraries);
    let scope = Rc::new(parse::scope(all(), d)?);
    let context: TokenStream = all().filter(|i| is_used(i)).map(ToTokens::to_token_stream).collect();
    Ok((
        kernels
            .into_iter()
            .map(|(attr, item)| Found { attr, item, scope: scope.clone(), context: context.clone() })
            .collect(),
        items,
    ))
}

/// Every kernel's function in a file, in order. A file that does not parse has none: `rustc` reports it.
pub fn file<'a>(source: impl Into<Source<'a>>, libraries: &Libraries) -> Vec<Found> {
    let found = RefCell::new(vec![]);
    let mut alone = |f: &syn::ItemFn| {
        let mut item = f.clone();
        if let Some(attr) = take_attribute(&mut item.attrs, KERNEL) {
            found.borrow_mut().push(Found { attr, item, scope: Rc::default(), context: TokenStream::new() });
        }
    };
    walk(source.into(), &mut alone, &mut |m, uses, at| {
        if let Some((_, items)) = &m.content
            && let Ok(used) = libraries.items(&uses, at)
            && let Ok((kernels, _)) = module(items.clone(), &used, &Diagnostics::default())
        {
            found.borrow_mut().extend(kernels);
        }
    });
    found.into_inner()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fingerprints(text: &str) -> Vec<String> {
        let kernels = file(text, &Libraries::default())
            .into_iter()
            .flat_map(|found| found.parse(&Diagnostics::default()).expect("no mistakes"));
        kernels.map(|k| k.fingerprint).collect()
    }

    /// The macro does not see a `cfg` that holds, and is not called under one that does not.
    #[test]
    fn attributes_do_not_tell_kernels_apart() {
        let of = |attrs: &str, value: &str| {
            fingerprints(&format!(
                "{attrs} #[tile_kernel(grid = [1])] #[inline] fn k(y: &mut [f32]) {{ store(y, 0, {value}); }}"
            ))
            .remove(0)
        };
        assert_eq!(of("", "1.0"), of("/// A kernel.\n#[cfg(feature = \"x\")]", "1.0"));
        assert_ne!(of("", "1.0"), of("", "2.0"));
    }

    #[test]
    fn modules_have_no_cfg() {
        let of = |helper: &str| {
            fingerprints(&format!("#[tile_module] mod m {{ {helper} fn h() -> f32 {{ 1.0 }} #[tile_kernel(grid = [1])] fn k(y: &mut [f32]) {{ store(y, 0, h()); }} }}")).len()
        };
        assert_eq!((of("#[inline]"), of("#[cfg(test)]")), (1, 0));
    }
}
