//! Finding kernels' functions: a single `#[tile_kernel]` function, a `#[tile_module]`, or all of a source file.

use crate::diag::{Code, Diagnostics, Reported, Result};
use crate::front::ast::{self, Scope};
use crate::front::instance::{Kernel, fingerprint, lines};
use crate::front::library::{self, Libraries};
use crate::front::map;
use crate::front::parse;
use crate::front::source::{KERNEL, Source, Uses, default_facade, take_attribute, walk};
use proc_macro2::{Ident, TokenStream};
use quote::ToTokens;
use std::cell::RefCell;
use std::rc::Rc;
use syn::visit::Visit;

/// A function under `#[tile_kernel]` as found, not yet parsed.
pub struct Found {
    /// The arguments of the attribute. Those of a function with `map` are expanded.
    pub attr: TokenStream,
    /// The function without the attribute.
    pub item: syn::ItemFn,
    /// The definitions of its module, unless they have mistakes.
    pub(crate) scope: Result<Rc<Scope>>,
    /// Of the items that the function may use.
    pub(crate) context: TokenStream,
    /// The items of libraries of the language, which are in no file of the package.
    pub(crate) standard: TokenStream,
    /// The crate that the expansion names, if the function's own attribute does not say it.
    pub(crate) facade: syn::Path,
    /// As [`map::Parts::taken`].
    taken: Option<Ident>,
}

impl Found {
    /// A function that stands alone.
    pub(crate) fn alone(attr: TokenStream, item: syn::ItemFn) -> Found {
        let map::Rewritten { attr, item, taken } = map::rewritten(attr, item);
        let (context, standard) = (TokenStream::new(), TokenStream::new());
        Found { attr, item, scope: Ok(Rc::default()), context, standard, facade: default_facade(), taken }
    }

    /// The kernels that it is written for, if they have no mistakes that a parser finds.
    pub fn parse(self, d: &Diagnostics) -> Result<Vec<Kernel>> {
        let kernels = self.parse_all(d)?;
        if d.is_empty() { Ok(kernels) } else { Err(Reported) }
    }

    /// The same with kernels whose bodies have mistakes. If such a body is used, inference fails.
    pub(crate) fn parse_all(self, d: &Diagnostics) -> Result<Vec<Kernel>> {
        if let Some(name) = &self.taken {
            return Err(d.error(Code::MapForm, name.span(), map::name_is_taken()));
        }
        // Attributes mean nothing to a kernel, and some the build script alone sees: a `cfg` that holds is taken off
        // before the macro is called.
        let bare = syn::ItemFn { attrs: vec![], ..self.item.clone() };
        let (bare, attr, context) = (bare.to_token_stream(), self.attr.clone(), self.context);
        let tokens = [&attr, &bare, &context, &self.standard];
        let (fingerprint, lines) = (fingerprint(&tokens), lines(&tokens[..3]));
        let kernels = parse::kernels(self.attr, self.item, self.scope?, self.facade, d)?;
        let identified = |ast: ast::Kernel| {
            let (fingerprint, lines) = (fingerprint.clone(), lines.clone());
            Kernel { name: ast.name.to_string(), ast, fingerprint, lines }
        };
        Ok(kernels.into_iter().map(identified).collect())
    }
}

/// Whether kernels of its module may use an item.
fn is_used(i: &syn::Item) -> bool {
    use syn::Item;
    matches!(i, Item::Fn(_) | Item::Const(_) | Item::Enum(_) | Item::Struct(_) | Item::Type(_))
}

/// The kernels of a `#[tile_module]`, and its items without them; its kernels may use those of `libraries`, too.
/// Mistakes in the items that they use are reported; without libraries they have been. `uses` has the libraries of the
/// language that they use, and the crate that expansions name.
pub(crate) fn module(
    mut items: Vec<syn::Item>,
    libraries: Option<&[syn::Item]>,
    uses: &Uses,
    d: &Diagnostics,
) -> (Vec<Found>, Vec<syn::Item>) {
    let mut kernels = vec![];
    items.retain_mut(|i| {
        let syn::Item::Fn(f) = i else { return true };
        match take_attribute(&mut f.attrs, KERNEL) {
            Some(attr) => {
                kernels.push(map::rewritten(attr, f.clone()));
                false
            }
            None => true,
        }
    });
    // The module's own come first.
    let all = || items.iter().chain(libraries.unwrap_or_default());
    let standard = library::standard(&uses.standard);
    let scope = || {
        let mut no_cfg = parse::NoCfg::new(d);
        kernels.iter().for_each(|k: &map::Rewritten| no_cfg.visit_item_fn(&k.item));
        all().filter(|i| is_used(i)).for_each(|i| no_cfg.visit_item(i));
        no_cfg.done()?;
        parse::scope(all(), standard.iter(), d).map(Rc::new)
    };
    let scope = if libraries.is_some() { scope() } else { Err(Reported) };
    let context: TokenStream = all().filter(|i| is_used(i)).map(ToTokens::to_token_stream).collect();
    let standard: TokenStream = standard.iter().map(ToTokens::to_token_stream).collect();
    let facade = uses.facade();
    let found = |map::Rewritten { attr, item, taken }| {
        let (scope, context, standard, facade) = (scope.clone(), context.clone(), standard.clone(), facade.clone());
        Found { attr, item, scope, context, standard, facade, taken }
    };
    (kernels.into_iter().map(found).collect(), items)
}

/// Every kernel's function in a file, in order. A file that does not parse has none: `rustc` reports it.
pub fn file<'a>(source: impl Into<Source<'a>>, libraries: &Libraries) -> Vec<Found> {
    let found = RefCell::new(vec![]);
    let mut alone = |f: &syn::ItemFn| {
        let mut item = f.clone();
        if let Some(attr) = take_attribute(&mut item.attrs, KERNEL) {
            found.borrow_mut().push(Found::alone(attr, item));
        }
    };
    walk(source.into(), &mut alone, &mut |m, uses, at| {
        if let Some((_, items)) = &m.content
            && let Ok(used) = libraries.items(&uses, at)
        {
            found.borrow_mut().extend(module(items.clone(), Some(&used), &uses, &Diagnostics::default()).0);
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
            .flat_map(|found| found.parse(&Diagnostics::default()).unwrap_or_default());
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
