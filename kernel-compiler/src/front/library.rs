//! `#[tile_library]`: functions, constants, enums and type aliases for kernels of other modules of the package, which
//! name it: `#[tile_module(use crate::tiles::library)]`. A public library is for other packages as well.
//!
//! A macro sees the tokens that it is given, and no others. So a library becomes a `macro_rules!` that hands its items,
//! and the tokens of the module that asks for them, to [`with_library`](crate::expand::with_library); every token keeps
//! its place in the user's source. The build script, which reads all files, finds a library by its path.

use crate::diag::{Code, Diagnostic, Diagnostics, Reported, Result, Span};
use crate::front::instance::fingerprint;
use crate::front::names::with_names;
use crate::front::parse::check_body;
use crate::front::parse::constants::enumeration;
use crate::front::parse::structs::seen_by_rustc;
use crate::front::source::{self, LIBRARY, ModulePath, Source, Uses, last_segment_is};
use crate::front::standard;
use proc_macro2::{Ident, TokenStream};
use quote::{ToTokens, quote};
use std::collections::HashSet;
use std::sync::Arc;
use syn::ext::IdentExt;
use syn::parse::Parser;

/// The items of a library that kernels may use, without attributes, which mean nothing to kernels. A `cfg` inside is an
/// error. Every mistake is reported.
pub(super) fn items(module: &syn::ItemMod, d: &Diagnostics) -> Result<Vec<syn::Item>> {
    let Some((_, items)) = &module.content else {
        return Err(d.error(Code::MacroPlace, Span::of(module), NO_BODY));
    };
    let mut out = vec![];
    for mut i in items.clone() {
        let attrs = match &mut i {
            syn::Item::Fn(f) if f.attrs.iter().any(|a| last_segment_is(a.path(), source::KERNEL)) => {
                let why = "a library has no kernels: they go in a #[tile_module(use ..)], or stand alone";
                d.error(Code::LibraryItem, f.sig.ident.span(), why);
                continue;
            }
            syn::Item::Fn(syn::ItemFn { attrs, .. })
            | syn::Item::Const(syn::ItemConst { attrs, .. })
            | syn::Item::Enum(syn::ItemEnum { attrs, .. })
            | syn::Item::Struct(syn::ItemStruct { attrs, fields: syn::Fields::Named(_), .. })
            | syn::Item::Type(syn::ItemType { attrs, .. }) => attrs,
            // For the types of its constants.
            syn::Item::Use(_) => continue,
            other => {
                d.error(
                    Code::LibraryItem,
                    Span::of(other),
                    "a library has functions, constants, enums, structs with named fields, and type aliases",
                );
                continue;
            }
        };
        if let Some(a) = attrs.iter().find(|a| ["cfg", "cfg_attr"].iter().any(|c| a.path().is_ident(c))) {
            let why = "a library has no `cfg` inside: kernels are compiled for every target";
            d.error(Code::CfgInside, Span::of(a), why);
        }
        attrs.clear();
        match &i {
            syn::Item::Enum(e) => drop(enumeration(e).map_err(|e| d.syn(e))),
            // Once, and not in each module that uses it.
            syn::Item::Fn(f) => check_body(f, d),
            _ => {}
        }
        out.push(i);
    }
    if d.is_empty() { Ok(out) } else { Err(Reported) }
}

const NO_BODY: &str = "#[tile_library] goes on a module with a body: `mod library { .. }`";
const ATTRIBUTE: &str = "#[tile_library] takes `crate = path` alone: modules of kernels say which libraries they use";

/// Expands `#[tile_library(crate = path)] mod l { .. }`.
pub fn expand(attr: TokenStream, item: TokenStream) -> TokenStream {
    let d = Diagnostics::default();
    let facade = match attr.is_empty() {
        true => source::default_facade(),
        false => source::facade.parse2(attr).unwrap_or_else(|e| {
            d.error(Code::MacroArguments, e.span(), ATTRIBUTE);
            source::default_facade()
        }),
    };
    let Ok(module) = syn::parse2::<syn::ItemMod>(item.clone()) else {
        return Diagnostic::new(Code::MacroPlace, Span::of(&item), NO_BODY).to_tokens();
    };
    let items = items(&module, &d);
    let errors = d.take();
    let items = items.ok().filter(|_| errors.is_empty());
    // Modules that use a library with mistakes say nothing more of it.
    let handed_on = match &items {
        Some(items) => quote! { { #(#items)* } },
        None => quote! { ! },
    };
    let syn::ItemMod { attrs, vis, ident, content, .. } = &module;
    let (inner, outer): (Vec<_>, Vec<_>) = attrs.iter().partition(|a| matches!(a.style, syn::AttrStyle::Inner(_)));
    // Functions compute with tiles: only kernels can call them, so they are not compiled by themselves.
    let seen = content.iter().filter(|_| items.is_some()).flat_map(|(_, items)| seen_by_rustc(items));
    let errors = errors.iter().map(Diagnostic::to_tokens);
    let hand_over = hand_over(vis, quote! { #facade::__private::tile_module_with! }, &handed_on);
    quote! {
        #(#errors)*
        #(#outer)* #[allow(unused)] #vis mod #ident {
            #(#inner)*
            #(#seen)*
            #hand_over
        }
    }
}

/// The macro `tile_items`, by which a library hands on its items. That of a public one is exported, by a name that no
/// other one of the crate has.
fn hand_over(vis: &syn::Visibility, receiver: TokenStream, items: &TokenStream) -> TokenStream {
    let rule = quote! { ($($module:tt)*) => { #receiver { #items $($module)* } } };
    if !matches!(vis, syn::Visibility::Public(_)) {
        return quote! {
            macro_rules! tile_items { #rule }
            pub(crate) use tile_items;
        };
    }
    let name = quote::format_ident!("__tile_items_{}", fingerprint(&[items]));
    quote! {
        #[doc(hidden)]
        #[macro_export]
        macro_rules! #name { #rule }
        #[doc(hidden)]
        pub use #name as tile_items;
    }
}

/// The items of some libraries of the language, the last library first.
pub(crate) fn standard(libraries: &[&str]) -> Vec<syn::Item> {
    let of = |name: &&str| {
        let text = standard::LIBRARIES.iter().find(|(n, _)| n == name).map_or("", |(_, text)| *text);
        let file = syn::parse_file(text).map(|f| f.items).unwrap_or_default();
        let modules = file.into_iter().filter_map(|i| if let syn::Item::Mod(m) = i { Some(m) } else { None });
        let items = modules.flat_map(|m| items(&m, &Diagnostics::default()).unwrap_or_default()).collect::<Vec<_>>();
        with_names_of_its_own(name, items)
    };
    libraries.iter().rev().flat_map(of).collect()
}

/// The items with other names for the private ones. A module's own names come before those of its libraries, and a
/// module does not know these.
fn with_names_of_its_own(library: &str, items: Vec<syn::Item>) -> Vec<syn::Item> {
    let private: HashSet<String> = items
        .iter()
        .filter_map(|item| match item {
            syn::Item::Const(c) => Some((&c.vis, &c.ident)),
            syn::Item::Fn(f) => Some((&f.vis, &f.sig.ident)),
            _ => None,
        })
        .filter(|(vis, _)| matches!(vis, syn::Visibility::Inherited))
        .map(|(_, name)| name.to_string())
        .collect();
    let replace = |name: &Ident| {
        let name = private.contains(&name.to_string()).then(|| Ident::new(&format!("__{library}_{name}"), name.span()));
        name.map(ToTokens::into_token_stream)
    };
    let rename = |item: syn::Item| syn::parse2(with_names(item.into_token_stream(), &replace));
    items.into_iter().map(|item| rename(item).expect("an item is one under another name")).collect()
}

/// Asks the first of the libraries for its items, if there is one; `before` are those of others, and `module` is who
/// asks.
pub(crate) fn ask(uses: &Uses, before: &[syn::Item], module: &TokenStream) -> Option<TokenStream> {
    let (first, rest) = uses.libraries.split_first()?;
    let facade = uses.facade.iter();
    let standard = uses.standard_paths();
    Some(
        quote! { #first::tile_items! { { #(#before)* } { #(use #rest,)* #(use #standard,)* #(crate = #facade)* } #module } },
    )
}

/// The module path of the files of another package's library crate: they are no files of this package.
fn root_of_crate(name: &str) -> Vec<String> {
    vec!["extern crate".into(), name.into()]
}

/// The libraries of a package, and those of its dependencies, as the build script finds them.
#[derive(Default)]
pub struct Libraries(Vec<Library>);

struct Library {
    place: ModulePath,
    /// The whole file, which threads may share: its items keep their lines.
    file: Arc<str>,
    /// The modules of the file that it is in, by name; the last is its own.
    path: Vec<String>,
}

impl Library {
    fn items(&self) -> Vec<syn::Item> {
        let mut list = syn::parse_file(&self.file).map(|f| f.items).unwrap_or_default();
        let Some((own, outer)) = self.path.split_last() else { return vec![] };
        let inner = |i: syn::Item, name: &str| match i {
            syn::Item::Mod(m) if m.ident == *name => Some(m),
            _ => None,
        };
        for name in outer {
            let modules = list.into_iter().filter_map(|i| inner(i, name)?.content);
            list = modules.flat_map(|(_, items)| items).collect();
        }
        let is_it = |m: &syn::ItemMod| m.attrs.iter().any(|a| last_segment_is(a.path(), LIBRARY));
        let module = list.into_iter().filter_map(|i| inner(i, own)).find(is_it);
        module.and_then(|m| items(&m, &Diagnostics::default()).ok()).unwrap_or_default()
    }
}

impl Libraries {
    /// Adds those of a file.
    pub fn add<'a>(&mut self, source: impl Into<Source<'a>>) {
        let source = source.into();
        self.add_at(ModulePath::of(source.file), source.text);
    }

    /// Adds those of a file of another package, whose library crate has this name.
    pub fn add_of_crate<'a>(&mut self, name: &str, source: impl Into<Source<'a>>) {
        let source = source.into();
        let place = ModulePath { root: root_of_crate(name), ..ModulePath::of(source.file) };
        self.add_at(place, source.text);
    }

    fn add_at(&mut self, place: ModulePath, text: &str) {
        // A look at the text spares most files the parser.
        if let Some(f) = text.contains(LIBRARY).then(|| syn::parse_file(text).ok()).flatten() {
            self.add_items(&place, &text.into(), &[], &f.items);
        }
    }

    fn add_items(&mut self, place: &ModulePath, file: &Arc<str>, outer: &[String], list: &[syn::Item]) {
        for i in list {
            let syn::Item::Mod(m) = i else { continue };
            let name = m.ident.to_string();
            let place = place.within(&name);
            let path = [outer, &[name]].concat();
            if m.attrs.iter().any(|a| last_segment_is(a.path(), LIBRARY)) {
                // A library with mistakes is none: its macro reports them.
                let items = items(m, &Diagnostics::default());
                self.0.extend(items.map(|_| Library { place, file: file.clone(), path }));
            } else if let Some((_, inner)) = &m.content {
                self.add_items(&place, file, &path, inner);
            }
        }
    }

    /// The items of all that a module in this place uses, the last first; or which of them there is not.
    pub(crate) fn items(&self, uses: &Uses, at: &ModulePath) -> std::result::Result<Vec<syn::Item>, String> {
        let libraries =
            uses.libraries.iter().rev().map(|p| self.find(p, at)).collect::<std::result::Result<Vec<_>, _>>()?;
        Ok(libraries.into_iter().flat_map(Library::items).collect())
    }

    fn find(&self, path: &syn::Path, at: &ModulePath) -> std::result::Result<&Library, String> {
        let written = path.segments.iter().map(|s| s.ident.to_string()).collect::<Vec<_>>().join("::");
        let mut names: Vec<String> = path.segments.iter().map(|s| s.ident.unraw().to_string()).collect();
        let of_crate = names.split_first().and_then(|(first, rest)| {
            let root = root_of_crate(first);
            self.0.iter().find(|l| l.place.root == root && l.place.modules == rest)
        });
        if let Some(library) = of_crate {
            return Ok(library);
        }
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
                "no #[tile_library] `{written}` in the files of this package, or of a dependency that says `links` in its Cargo.toml: the path is the one of the library itself, not of a re-export"
            )),
            _ => Err(format!("several libraries may be `{written}`: give one another name")),
        }
    }

    /// A message for each module of a file that names a library which is not found, or is not the only one.
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
    use crate::emit::built::Configs;
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
            assert_eq!(
                (crate::device_units(USER, &found, Configs::All).len(), found.missing(USER)),
                (1, vec![]),
                "{file}"
            );
        }
        let of_raw_module = format!("mod r#in {{ {LIBRARY} }}");
        for (path, file) in [
            ("library", "src/a.rs"),
            ("self::library", "src/a.rs"),
            ("super::library", "src/b.rs"),
            ("super::super::library", "src/b/c.rs"),
            ("crate::r#match::library", "src/match.rs"),
            ("crate::r#match::r#type::library", "src/match/type.rs"),
            ("crate::r#in::library", "src/lib.rs"),
            ("common::library", "tests/common/mod.rs"),
        ] {
            let user = USER.replace("crate::tiles::library", path);
            // A module of a file stands in it, and one of a test may be in another file.
            let (user_file, library) = match path {
                "super::library" => ("src/b.rs", ("src/b.rs", LIBRARY)),
                "super::super::library" => ("src/b/c.rs", ("src/b.rs", LIBRARY)),
                "common::library" => ("tests/t.rs", ("tests/common.rs", LIBRARY)),
                // A module in the file, whose name is none without `r#`.
                "crate::r#in::library" => ("src/a.rs", (file, &*of_raw_module)),
                _ => (file, (file, LIBRARY)),
            };
            let user = if path.starts_with("super") { format!("mod inner {{ {user} }}") } else { user };
            let found = libraries(&[library, ("src/unlike.rs", LIBRARY)]);
            assert_eq!(
                crate::device_units(Source { file: user_file.as_ref(), text: &user }, &found, Configs::All).len(),
                1,
                "{path}"
            );
        }
    }

    #[test]
    fn libraries_of_the_language_have_no_mistakes() {
        for (name, text) in standard::LIBRARIES {
            let d = Diagnostics::default();
            let file = syn::parse_file(text).unwrap();
            let [syn::Item::Mod(module)] = &file.items[..] else { panic!("{name} is one module") };
            assert_eq!(module.ident, name);
            assert!(super::items(module, &d).is_ok_and(|items| !items.is_empty()) && d.is_empty(), "{name}");
        }
        assert_eq!(super::standard(&["random"]).len(), super::standard(&["random", "none"]).len());
    }

    #[test]
    fn a_library_of_another_crate_is_found_by_its_path() {
        let user = USER.replace("crate::tiles::library", "other::tiles::library");
        let mut found = libraries(&[("src/tiles.rs", LIBRARY)]);
        assert!(crate::device_units(&user, &found, Configs::All).is_empty());
        found.add_of_crate("other", Source { file: "/elsewhere/src/tiles.rs".as_ref(), text: LIBRARY });
        assert_eq!((crate::device_units(&user, &found, Configs::All).len(), found.missing(&user)), (1, vec![]));
        let user = user.replace("other::tiles", "::other::tiles");
        assert_eq!(crate::device_units(&user, &found, Configs::All).len(), 1);
        // A library of this package is not one of the other.
        assert!(!found.missing(&user.replace("::tiles", "")).is_empty());
    }

    #[test]
    fn public_libraries_are_exported() {
        let expanded = |text: &str| expand(quote! {}, text.parse().unwrap()).to_string();
        let (private, public) =
            (expanded("mod l { const A: f32 = 1.0; }"), expanded("pub mod l { const A: f32 = 1.0; }"));
        assert!(!private.contains("macro_export") && private.contains("pub (crate) use tile_items"), "{private}");
        assert!(public.contains("# [macro_export] macro_rules ! __tile_items_"), "{public}");
        // Two of one crate have two names.
        assert_ne!(public, expanded("pub mod l { const A: f32 = 2.0; }"));
    }

    /// Reports of the emulated SM name them.
    #[test]
    fn items_keep_their_lines() {
        let nested = format!("mod tiles {{\n\n{LIBRARY}\n}}");
        let found = libraries(&[("src/lib.rs", &nested)]);
        let user = syn::parse_str::<syn::File>(USER).unwrap();
        let syn::Item::Mod(m) = &user.items[0] else { unreachable!("a module") };
        let items = found.items(&source::uses(m).unwrap(), &ModulePath::of("src/lib.rs".as_ref())).unwrap();
        let lines: Vec<_> = items.iter().map(|i| syn::spanned::Spanned::span(i).start().line).collect();
        assert_eq!(lines, [3, 3]);
    }

    #[test]
    fn a_library_that_is_not_found_is_told_of() {
        for (files, why) in [
            (&[("src/other.rs", LIBRARY)][..], "no #[tile_library] `crate::tiles::library`"),
            (&[("src/tiles.rs", LIBRARY), ("src/tiles.rs", LIBRARY)], "several libraries may be"),
        ] {
            let found = libraries(files);
            assert!(crate::device_units(USER, &found, Configs::All).is_empty());
            assert!(found.missing(USER)[0].starts_with(why), "{:?}", found.missing(USER));
        }
    }

    /// The build script and the macros give a module the same fingerprint.
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
            let items = super::items(m, &Diagnostics::default()).unwrap();
            quote! { #(#items)* }
        };
        let (a, b, module): (_, _, TokenStream) = (items("a"), items("b"), user.parse().unwrap());
        let asked = with_library(quote! { { #a } {} { use b } #module }).to_string();
        assert_eq!(asked, quote! { b::tile_items! { { #a } {} #module } }.to_string());
        assert_eq!(quote! { #b #a }.to_string(), quote! { #(#by_path)* }.to_string());
        assert!(!with_library(quote! { { #b } { #a } {} #module }).to_string().contains("compile_error"));
    }

    /// Expansions name the crate that attributes say, and no other.
    #[test]
    fn expansions_name_the_facade() {
        let names = |tokens: &TokenStream| -> Vec<String> {
            let text = tokens.to_string();
            ["other", "third", "tilewright"]
                .into_iter()
                .filter(|n| text.contains(&format!("{n} ::")))
                .map(String::from)
                .collect()
        };
        let module: TokenStream =
            "mod m { #[tile_kernel(grid = [1])] fn k(y: &mut [f32]) { store(y, 0, half(1.0)); } }".parse().unwrap();
        let library: TokenStream = "mod l { fn half(x: f32) -> f32 { 0.5 * x } }".parse().unwrap();
        assert_eq!(names(&expand(quote! { crate = ::other }, library.clone())), ["other"]);
        assert_eq!(names(&expand(quote! {}, library)), ["tilewright"]);
        // The module asks the library, which hands on the module's own arguments.
        let asked = crate::expand::expand_module(quote! { use l, crate = ::other }, module.clone()).to_string();
        assert_eq!(asked, quote! { l::tile_items! { { } { crate = ::other } #module } }.to_string());
        let half = quote! { fn half(x: f32) -> f32 { 0.5 * x } };
        assert_eq!(names(&with_library(quote! { { #half } {} { crate = ::other } #module })), ["other"]);
        assert_eq!(names(&with_library(quote! { { #half } {} {} #module })), ["tilewright"]);
        // Of a kernel with mistakes as well.
        assert_eq!(names(&with_library(quote! { ! {} { crate = ::other } #module })), ["other"]);
        // A kernel's own comes first.
        let own: TokenStream = module.to_string().replace("grid", "crate = ::third , grid").parse().unwrap();
        assert_eq!(names(&with_library(quote! { { #half } {} { crate = ::other } #own })), ["third"]);
    }
}
