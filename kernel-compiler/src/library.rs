//! `#[tile_library]`: functions, constants and type aliases for kernels of other modules of the package, which name it:
//! `#[tile_module(use crate::tiles::library)]`.
//!
//! A macro sees the tokens that it is given, and no others. So a library becomes a `macro_rules!` that hands its items, and the tokens of
//! the module that asks for them, to [`with_library`]; every token keeps its place in the user's source. The build script, which reads all
//! files, finds a library by its path.

use crate::module::{self, last_segment_is};
use proc_macro2::TokenStream;
use quote::quote;
use std::path::Path;
use syn::Token;
use syn::parse::{Parse, ParseStream, Parser};
use syn::punctuated::Punctuated;
use syn::visit::Visit;

pub const LIBRARY: &str = "tile_library";

/// What is in the parentheses of `#[tile_module(use a::b, use c)]`.
#[derive(Default)]
pub struct Uses(Vec<syn::Path>);

impl Parse for Uses {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let uses = Punctuated::<_, Token![,]>::parse_terminated_with(input, |e| {
            e.parse::<Token![use]>()?;
            syn::Path::parse_mod_style(e)
        });
        Ok(Uses(uses?.into_iter().collect()))
    }
}

/// The items of a library, which kernels may use, without attributes: those mean nothing to kernels.
fn items(module: &syn::ItemMod) -> syn::Result<Vec<syn::Item>> {
    let Some((_, items)) = &module.content else {
        return Err(syn::Error::new_spanned(module, "#[tile_library] goes on a module with a body: `mod library { .. }`"));
    };
    let mut items = items.clone();
    for i in &mut items {
        match i {
            syn::Item::Fn(f) if f.attrs.iter().any(|a| last_segment_is(a.path(), module::KERNEL)) => {
                return Err(syn::Error::new_spanned(&f.sig.ident, "a library has no kernels: they go in a #[tile_module(use ..)], or stand alone"));
            }
            syn::Item::Fn(syn::ItemFn { attrs, .. }) | syn::Item::Const(syn::ItemConst { attrs, .. }) | syn::Item::Type(syn::ItemType { attrs, .. }) => attrs.clear(),
            other => return Err(syn::Error::new_spanned(other, "a library has functions, constants and type aliases")),
        }
    }
    Ok(items)
}

/// Expands `#[tile_library] mod l { .. }`.
pub fn expand(item: TokenStream) -> TokenStream {
    let Ok(module) = syn::parse2::<syn::ItemMod>(item.clone()) else {
        return syn::Error::new_spanned(&item, "#[tile_library] goes on a module: `mod library { .. }`").to_compile_error();
    };
    let items = match items(&module) {
        Ok(items) => items,
        Err(e) => return e.to_compile_error(),
    };
    let syn::ItemMod { attrs, vis, ident, content, .. } = &module;
    // Functions say what tiles do: only kernels can call them, so they are not compiled by themselves.
    let seen = content.iter().flat_map(|(_, items)| items).filter(|i| !matches!(i, syn::Item::Fn(_)));
    quote! {
        #(#attrs)* #[allow(unused)] #vis mod #ident {
            #(#seen)*
            macro_rules! tile_items { ($($module:tt)*) => { ::kernel_macros::tile_module_with! { { #(#items)* } $($module)* } } }
            pub(crate) use tile_items;
        }
    }
}

/// Asks the first of the libraries for its items, if there is one; `before` are those of others, and `module` is who asks.
pub fn ask(uses: &Uses, before: &[syn::Item], module: &TokenStream) -> Option<TokenStream> {
    let (first, rest) = uses.0.split_first()?;
    Some(quote! { #first::tile_items! { { #(#before)* } { #(use #rest),* } #module } })
}

/// Expands what a library hands on: `{ its items } { those of libraries before } { use more } module`.
pub fn with_library(input: TokenStream) -> TokenStream {
    let braced = |input: ParseStream| -> syn::Result<TokenStream> {
        let braces;
        syn::braced!(braces in input);
        braces.parse()
    };
    let parts = |input: ParseStream| -> syn::Result<_> {
        let (its, before, uses) = (braced(input)?, braced(input)?, braced(input)?);
        let items = syn::parse2::<syn::File>(quote! { #its #before })?.items;
        Ok((items, syn::parse2::<Uses>(uses)?, input.parse::<TokenStream>()?))
    };
    match parts.parse2(input) {
        Ok((items, uses, module)) => ask(&uses, &items, &module).unwrap_or_else(|| crate::expand_module_with(items, module)),
        Err(e) => e.to_compile_error(),
    }
}

/// The libraries of a package, as the build script finds them.
#[derive(Default)]
pub struct Libraries(Vec<Library>);

struct Library {
    /// Folders, file and modules; the last is its own name.
    path: Vec<String>,
    /// As text, which threads may share.
    items: String,
}

impl Libraries {
    /// Adds those of a file.
    pub fn add(&mut self, file: &Path, text: &str) {
        // A look at the text spares most files the parser.
        if !text.contains(LIBRARY) {
            return;
        }
        let mut path: Vec<String> = file.with_extension("").iter().map(|s| s.to_string_lossy().into_owned()).collect();
        path.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
        if let Ok(f) = syn::parse_file(text) {
            self.add_items(&path, &f.items);
        }
    }

    fn add_items(&mut self, path: &[String], list: &[syn::Item]) {
        for i in list {
            let syn::Item::Mod(m) = i else { continue };
            let path = [path, &[m.ident.to_string()]].concat();
            if m.attrs.iter().any(|a| last_segment_is(a.path(), LIBRARY)) {
                self.0.extend(items(m).map(|items| Library { path, items: quote! { #(#items)* }.to_string() }));
            } else if let Some((_, inner)) = &m.content {
                self.add_items(&path, inner);
            }
        }
    }

    /// The items of all that a module uses, the last first; or which of them there is not, or of which names there are several.
    pub fn items(&self, uses: &Uses) -> Result<Vec<syn::Item>, String> {
        let of = |p: &syn::Path| {
            let names: Vec<String> = p.segments.iter().map(|s| s.ident.to_string()).collect();
            let own: Vec<_> = names.iter().skip_while(|s| ["crate", "self", "super"].contains(&s.as_str())).cloned().collect();
            let mut found = self.0.iter().filter(|l| l.path.ends_with(&own));
            match (found.next(), found.next()) {
                (Some(one), None) => Ok(one),
                (None, _) => Err(format!("no #[tile_library] `{}` in the files of this package: name it by the modules that it is in", names.join("::"))),
                (Some(_), Some(_)) => Err(format!("several libraries may be `{}`: write more of the modules that it is in, or another name", names.join("::"))),
            }
        };
        let libraries = uses.0.iter().rev().map(of).collect::<Result<Vec<_>, _>>()?;
        Ok(libraries.into_iter().flat_map(|l| syn::parse_file(&l.items).expect("these were items").items).collect())
    }

    /// What [`items`](Self::items) says of the modules of a text whose libraries are not found.
    pub fn missing(&self, text: &str) -> Vec<String> {
        struct Modules<'a>(&'a Libraries, Vec<String>);
        impl<'a> Visit<'a> for Modules<'_> {
            fn visit_item_mod(&mut self, m: &'a syn::ItemMod) {
                self.1.extend(module::uses(m).and_then(|u| self.0.items(&u).err()));
                syn::visit::visit_item_mod(self, m);
            }
        }
        let mut modules = Modules(self, vec![]);
        if let Ok(f) = syn::parse_file(text) {
            modules.visit_file(&f);
        }
        modules.1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = "#[tile_module(use crate::tiles::library)] mod m {
        #[tile_kernel(grid = [1])] fn k(y: &mut [f32]) { store(y, arange(32), twice(full([32], HALF))); }
    }";
    const LIBRARY: &str = "#[tile_library] pub mod library { const HALF: f32 = 0.5; fn twice(x: Tile<f32>) -> Tile<f32> { x + x } }";

    fn libraries(files: &[(&str, &str)]) -> Libraries {
        let mut out = Libraries::default();
        files.iter().for_each(|(file, text)| out.add(file.as_ref(), text));
        out
    }

    #[test]
    fn a_library_is_found_by_its_path() {
        let found = libraries(&[("/a/src/tiles.rs", LIBRARY), ("/a/src/other.rs", LIBRARY)]);
        assert_eq!((crate::device_units(USER, &found).len(), found.missing(USER)), (1, vec![]));
        // A module of a file is one of the folder's, and one in a file is one, too.
        for (file, text) in [("/a/src/tiles/mod.rs", LIBRARY.to_string()), ("/a/src/lib.rs", format!("mod tiles {{ {LIBRARY} }}"))] {
            assert_eq!(crate::device_units(USER, &libraries(&[(file, &text)])).len(), 1, "{file}");
        }
    }

    #[test]
    fn a_library_that_is_not_found_is_told_of() {
        for (files, why) in [(&[("/a/src/other.rs", LIBRARY)][..], "no #[tile_library] `crate::tiles::library`"), (&[("/a/tiles.rs", LIBRARY), ("/b/tiles.rs", LIBRARY)], "several libraries may be")] {
            let found = libraries(files);
            assert!(crate::device_units(USER, &found).is_empty());
            assert!(found.missing(USER)[0].starts_with(why), "{:?}", found.missing(USER));
        }
    }

    /// What the build script makes of a module and what the macros make of it have one fingerprint.
    #[test]
    fn both_sides_see_the_same() {
        let two = "#[tile_library] mod a { const A: f32 = 1.0; } #[tile_library] mod b { /// One half.
            fn half(x: Tile<f32>) -> Tile<f32> { 0.5 * x } }";
        let user = "mod m { #[tile_kernel(grid = [1])] fn k(y: &mut [f32]) { store(y, arange(32), half(full([32], A))); } }";
        let module = syn::parse_str::<syn::ItemMod>(&format!("#[tile_module(use crate::a, use b)] {user}")).unwrap();
        let found = libraries(&[("lib.rs", two)]);
        let by_path: Vec<_> = found.items(&module::uses(&module).unwrap()).unwrap();
        // As `macro_rules!` hands them on: `a` is asked first.
        let items = |name: &str| -> TokenStream {
            let f = syn::parse_str::<syn::File>(two).unwrap();
            let m = f.items.iter().find_map(|i| if let syn::Item::Mod(m) = i { (m.ident == name).then_some(m) } else { None }).unwrap();
            let items = super::items(m).unwrap();
            quote! { #(#items)* }
        };
        let (a, b, module): (_, _, TokenStream) = (items("a"), items("b"), user.parse().unwrap());
        let asked = with_library(quote! { { #a } {} { use b } #module }).to_string();
        assert_eq!(asked, quote! { b::tile_items! { { #a } {} #module } }.to_string());
        assert_eq!(quote! { #b #a }.to_string(), quote! { #(#by_path)* }.to_string());
        assert!(!with_library(quote! { { #b } { #a } {} #module }).to_string().contains("compile_error"));
    }
}
