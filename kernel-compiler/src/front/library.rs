//! `#[tile_library]`: functions, constants, enums and type aliases for kernels of other modules of the package, which
//! name it: `#[tile_module(use crate::tiles::library)]`.
//!
//! A macro sees the tokens that it is given, and no others. So a library becomes a `macro_rules!` that hands its items,
//! and the tokens of the module that asks for them, to [`with_library`](crate::expand::with_library); every token keeps
//! its place in the user's source. The build script, which reads all files, finds a library by its path.

use crate::front::parse::constants::enumeration;
use crate::front::source::{self, LIBRARY, ModulePath, Source, Uses, last_segment_is};
use proc_macro2::TokenStream;
use quote::quote;

/// The items of a library that kernels may use, without attributes: they mean nothing to kernels, but for those that
/// choose what is compiled.
fn items(module: &syn::ItemMod) -> syn::Result<Vec<syn::Item>> {
    let Some((_, items)) = &module.content else {
        return Err(syn::Error::new_spanned(module, NO_BODY));
    };
    let mut out = vec![];
    for mut i in items.clone() {
        let attrs = match &mut i {
            syn::Item::Fn(f) if f.attrs.iter().any(|a| last_segment_is(a.path(), source::KERNEL)) => {
                return Err(syn::Error::new_spanned(
                    &f.sig.ident,
                    "a library has no kernels: they go in a #[tile_module(use ..)], or stand alone",
                ));
            }
            syn::Item::Fn(syn::ItemFn { attrs, .. })
            | syn::Item::Const(syn::ItemConst { attrs, .. })
            | syn::Item::Enum(syn::ItemEnum { attrs, .. })
            | syn::Item::Type(syn::ItemType { attrs, .. }) => attrs,
            // For the types of its constants.
            syn::Item::Use(_) => continue,
            other => {
                return Err(syn::Error::new_spanned(
                    other,
                    "a library has functions, constants, enums and type aliases",
                ));
            }
        };
        if let Some(a) = attrs.iter().find(|a| ["cfg", "cfg_attr"].iter().any(|c| a.path().is_ident(c))) {
            return Err(syn::Error::new_spanned(
                a,
                "a library's items are there for every target: kernels are compiled for all of them",
            ));
        }
        attrs.clear();
        if let syn::Item::Enum(e) = &i {
            enumeration(e)?;
        }
        out.push(i);
    }
    Ok(out)
}

const NO_BODY: &str = "#[tile_library] goes on a module with a body: `mod library { .. }`";

/// Expands `#[tile_library] mod l { .. }`.
pub fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    if !attr.is_empty() {
        return syn::Error::new_spanned(
            attr,
            "#[tile_library] takes nothing: modules of kernels say which libraries they use",
        )
        .to_compile_error();
    }
    let Ok(module) = syn::parse2::<syn::ItemMod>(item.clone()) else {
        return syn::Error::new_spanned(&item, NO_BODY).to_compile_error();
    };
    let (items, error) = match items(&module) {
        Ok(items) => (items, None),
        // Without items, so that those who use it say nothing more of it.
        Err(e) => (vec![], Some(e.to_compile_error())),
    };
    let hand_on = match &error {
        None => quote! { ::tilewright::__private::tile_module_with! { { #(#items)* } $($module)* } },
        Some(_) => TokenStream::new(),
    };
    let syn::ItemMod { attrs, vis, ident, content, .. } = &module;
    let (inner, outer): (Vec<_>, Vec<_>) = attrs.iter().partition(|a| matches!(a.style, syn::AttrStyle::Inner(_)));
    // Functions say what tiles do: only kernels can call them, so they are not compiled by themselves.
    let seen = content
        .iter()
        .filter(|_| error.is_none())
        .flat_map(|(_, items)| items)
        .filter(|i| !matches!(i, syn::Item::Fn(_)));
    quote! {
        #error
        #(#outer)* #[allow(unused)] #vis mod #ident {
            #(#inner)*
            #(#seen)*
            macro_rules! tile_items { ($($module:tt)*) => { #hand_on } }
            pub(crate) use tile_items;
        }
    }
}

/// Asks the first of the libraries for its items, if there is one; `before` are those of others, and `module` is who
/// asks.
pub fn ask(uses: &Uses, before: &[syn::Item], module: &TokenStream) -> Option<TokenStream> {
    let (first, rest) = uses.0.split_first()?;
    Some(quote! { #first::tile_items! { { #(#before)* } { #(use #rest),* } #module } })
}

/// The libraries of a package, as the build script finds them.
#[derive(Default)]
pub struct Libraries(Vec<Library>);

struct Library {
    place: ModulePath,
    /// As text, which threads may share.
    items: String,
}

impl Libraries {
    /// Adds those of a file.
    pub fn add<'a>(&mut self, source: impl Into<Source<'a>>) {
        let Source { file, text } = source.into();
        // A look at the text spares most files the parser.
        if let Some(f) = text.contains(LIBRARY).then(|| syn::parse_file(text).ok()).flatten() {
            self.add_items(&ModulePath::of(file), &f.items);
        }
    }

    fn add_items(&mut self, place: &ModulePath, list: &[syn::Item]) {
        for i in list {
            let syn::Item::Mod(m) = i else { continue };
            let place = place.within(&m.ident.to_string());
            if m.attrs.iter().any(|a| last_segment_is(a.path(), LIBRARY)) {
                self.0.extend(items(m).map(|items| Library { place, items: quote! { #(#items)* }.to_string() }));
            } else if let Some((_, inner)) = &m.content {
                self.add_items(&place, inner);
            }
        }
    }

    /// The items of all that a module in this place uses, the last first; or which of them there is not.
    pub fn items(&self, uses: &Uses, at: &ModulePath) -> Result<Vec<syn::Item>, String> {
        let libraries = uses.0.iter().rev().map(|p| self.find(p, at)).collect::<Result<Vec<_>, _>>()?;
        Ok(libraries.into_iter().flat_map(|l| syn::parse_file(&l.items).expect("these were items").items).collect())
    }

    fn find(&self, path: &syn::Path, at: &ModulePath) -> Result<&Library, String> {
        let mut names: Vec<String> = path.segments.iter().map(|s| s.ident.to_string()).collect();
        let written = names.join("::");
        let mut modules = at.modules.clone();
        while let Some(first) = names.first() {
            match first.as_str() {
                "crate" => modules.clear(),
                "super" => drop(modules.pop()),
                "self" => {}
                _ => break,
            }
            names.remove(0);
        }
        modules.extend(names.iter().cloned());
        let mut found: Vec<_> =
            self.0.iter().filter(|l| l.place.root == at.root && l.place.modules == modules).collect();
        // Files of a test or an example may be modules of another one.
        if found.is_empty() && !at.root.iter().any(|s| s == "src") && !names.is_empty() {
            found =
                self.0.iter().filter(|l| [&l.place.root[..], &l.place.modules].concat().ends_with(&names)).collect();
        }
        match found[..] {
            [one] => Ok(one),
            [] => Err(format!(
                "no #[tile_library] `{written}` in the files of this package: the path is the one of the library itself, not of a re-export"
            )),
            _ => Err(format!("several libraries may be `{written}`: give one another name")),
        }
    }

    /// What is wrong with the libraries that modules of a file use.
    pub fn missing<'a>(&self, source: impl Into<Source<'a>>) -> Vec<String> {
        let mut out = vec![];
        source::tile_modules(source.into(), &mut |m, uses, at| {
            out.extend(self.items(&uses, at).err().filter(|_| m.content.is_some()))
        });
        out
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expand::with_library;

    const USER: &str = "#[tile_module(use crate::tiles::library)] mod m {
        #[tile_kernel(grid = [1])] fn k(y: &mut [f32]) { store(y, arange(32), twice(full([32], HALF))); }
    }";
    const LIBRARY: &str =
        "#[tile_library] pub mod library { const HALF: f32 = 0.5; fn twice(x: Tile<f32>) -> Tile<f32> { x + x } }";

    fn libraries(files: &[(&str, &str)]) -> Libraries {
        let mut out = Libraries::default();
        files.iter().for_each(|(file, text)| out.add(Source { file: file.as_ref(), text }));
        out
    }

    #[test]
    fn a_library_is_found_by_its_path() {
        // Not those of other crates of the package, or of other modules.
        let others = [
            ("src/lib.rs", LIBRARY),
            ("src/other.rs", LIBRARY),
            ("examples/tiles.rs", LIBRARY),
            ("src/bin/tiles.rs", LIBRARY),
        ];
        for (file, text) in [
            ("src/tiles.rs", LIBRARY.to_string()),
            ("src/tiles/mod.rs", LIBRARY.to_string()),
            ("src/main.rs", format!("mod tiles {{ {LIBRARY} }}")),
        ] {
            let found = libraries(&[&others[..], &[(file, &text)]].concat());
            assert_eq!((crate::device_units(USER, &found).len(), found.missing(USER)), (1, vec![]), "{file}");
        }
        for (path, file) in [
            ("library", "src/a.rs"),
            ("self::library", "src/a.rs"),
            ("super::library", "src/b.rs"),
            ("super::super::library", "src/b/c.rs"),
            ("common::library", "tests/common/mod.rs"),
        ] {
            let user = USER.replace("crate::tiles::library", path);
            // A module of a file stands in it, and one of a test may be in another file.
            let (user_file, library) = match path {
                "super::library" => ("src/b.rs", ("src/b.rs", LIBRARY)),
                "super::super::library" => ("src/b/c.rs", ("src/b.rs", LIBRARY)),
                "common::library" => ("tests/t.rs", ("tests/common.rs", LIBRARY)),
                _ => (file, (file, LIBRARY)),
            };
            let user = if path.starts_with("super") { format!("mod inner {{ {user} }}") } else { user };
            let found = libraries(&[library, ("src/unlike.rs", LIBRARY)]);
            assert_eq!(
                crate::device_units(Source { file: user_file.as_ref(), text: &user }, &found).len(),
                1,
                "{path}"
            );
        }
    }

    #[test]
    fn a_library_that_is_not_found_is_told_of() {
        for (files, why) in [
            (&[("src/other.rs", LIBRARY)][..], "no #[tile_library] `crate::tiles::library`"),
            (&[("src/tiles.rs", LIBRARY), ("src/tiles.rs", LIBRARY)], "several libraries may be"),
        ] {
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
        let user =
            "mod m { #[tile_kernel(grid = [1])] fn k(y: &mut [f32]) { store(y, arange(32), half(full([32], A))); } }";
        let module = syn::parse_str::<syn::ItemMod>(&format!("#[tile_module(use crate::a, use b)] {user}")).unwrap();
        let found = libraries(&[("src/lib.rs", two)]);
        let by_path: Vec<_> =
            found.items(&source::uses(&module).unwrap(), &ModulePath::of("src/lib.rs".as_ref())).unwrap();
        // As `macro_rules!` hands them on: `a` is asked first.
        let items = |name: &str| -> TokenStream {
            let f = syn::parse_str::<syn::File>(two).unwrap();
            let m = f
                .items
                .iter()
                .find_map(|i| if let syn::Item::Mod(m) = i { (m.ident == name).then_some(m) } else { None })
                .unwrap();
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
