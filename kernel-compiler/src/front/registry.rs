//! The kernels of a package as paths, for a list of all of them.

use crate::diag::syn_error_to_tokens;
use crate::front::cfg::Features;
use crate::front::parse;
use crate::front::source::{
    KERNEL, LIBRARY, ModulePath, Source, default_facade, facade, last_segment_is, take_attribute,
};
use proc_macro2::TokenStream;
use quote::quote;
use syn::parse::{ParseStream, Parser};

/// The name of the file with the list of descriptors. The build script writes it for [`expand`].
pub const KERNELS: &str = "kernels.rs";
/// The name of the file with the paths and the texts of all files that have kernels or libraries.
pub const SOURCES: &str = "sources.rs";

/// Expands `kernels!()`, and `kernels!(crate = path)`.
pub fn expand(input: TokenStream) -> TokenStream {
    let facade = |input: ParseStream| if input.is_empty() { Ok(default_facade()) } else { facade(input) };
    let facade = match facade.parse2(input) {
        Ok(path) => path,
        Err(e) => return syn_error_to_tokens(e),
    };
    let (kernels, sources) = (format!("/tile/{KERNELS}"), format!("/tile/{SOURCES}"));
    quote! {
        /// The descriptors of every kernel of this crate, in the alphabetical order of its files, and in the order of
        /// their text.
        pub fn all() -> ::std::vec::Vec<&'static #facade::__private::KernelDesc> {
            let kernels: &[&[&'static #facade::__private::KernelDesc]] =
                ::core::include!(::core::concat!(::core::env!("OUT_DIR"), #kernels));
            kernels.concat()
        }

        /// The files of this crate that have kernels or libraries of them: path in the package, and text.
        pub const SOURCES: &[(&str, &str)] = ::core::include!(::core::concat!(::core::env!("OUT_DIR"), #sources));
    }
}

/// The kernels of a file by their paths in the crate, as in `crate::rows::softmax`, in the order of the text.
///
/// A kernel behind a `cfg`, or in a module behind one, is in the list if these features of the package decide that the
/// `cfg` holds. The list is compiled under every value of other conditions.
pub fn paths(source: Source, features: &Features) -> Vec<String> {
    let Ok(file) = syn::parse_file(source.text) else { return vec![] };
    let mut out = vec![];
    let modules = ModulePath::of(source.file).modules.into_iter().map(identifier);
    let at = ["crate".to_string()].into_iter().chain(modules).collect();
    collect(&file.items, at, features, &mut out);
    out
}

/// The name of a file's module in a path: a keyword is `r#match`. `gen` is one since the edition of 2024.
fn identifier(name: String) -> String {
    let raw = format!("r#{name}");
    let is = |name: &str| syn::parse_str::<syn::Ident>(name).is_ok();
    if (name == "gen" || !is(&name)) && is(&raw) { raw } else { name }
}

fn collect(items: &[syn::Item], at: Vec<String>, features: &Features, out: &mut Vec<String>) {
    for item in items {
        match item {
            syn::Item::Fn(f) if features.hold(&f.attrs) == Some(true) => {
                if let Some(attr) = take_attribute(&mut f.attrs.clone(), KERNEL) {
                    out.extend(parse::names(attr, f).iter().map(|name| format!("{}::{name}", at.join("::"))));
                }
            }
            syn::Item::Mod(m) if features.hold(&m.attrs) == Some(true) && !is_library(m) => {
                let within = at.iter().cloned().chain([m.ident.to_string()]).collect();
                collect(m.content.as_ref().map_or(&[], |(_, items)| items), within, features, out);
            }
            _ => {}
        }
    }
}

fn is_library(m: &syn::ItemMod) -> bool {
    m.attrs.iter().any(|a| last_segment_is(a.path(), LIBRARY))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    #[test]
    fn kernels_are_found_in_modules_and_by_their_names() {
        let text = "
            #[tile_kernel(grid = [1])] fn alone(y: &mut [f32]) {}
            #[tile_module] mod m {
                fn helper() {}
                #[tile_kernel(kernel(b, T = f16), kernel(a, T = f32), grid = [1])] fn of_several<T>(y: &mut [T]) {}
            }
            mod inner { #[tilewright::tile_kernel(grid = [1])] fn k(y: &mut [f32]) {} }
            #[cfg(test)] mod tests { #[tile_kernel(grid = [1])] fn only_in_tests(y: &mut [f32]) {} }
            #[cfg(unix)] #[tile_kernel(grid = [1])] fn sometimes(y: &mut [f32]) {}
            #[cfg(feature = \"on\")] #[tile_kernel(grid = [1])] fn of_a_feature(y: &mut [f32]) {}
            #[cfg(feature = \"off\")] #[tile_kernel(grid = [1])] fn of_no_feature(y: &mut [f32]) {}
            fn no_kernel() { #[tile_kernel(grid = [1])] fn in_a_body(y: &mut [f32]) {} }";
        let on = Features::of_variables(std::iter::once("CARGO_FEATURE_ON".to_string()));
        let of = |file: &str| paths(Source { file: Path::new(file), text }, &on);
        let names = ["alone", "m::b", "m::a", "inner::k", "of_a_feature"];
        assert_eq!(of("p/src/rows.rs"), names.map(|n| format!("crate::rows::{n}")));
        assert_eq!(of("p/src/lib.rs")[0], "crate::alone");
        assert_eq!(of("p/src/a/mod.rs")[0], "crate::a::alone");
        assert_eq!(of("p/src/match/gen.rs")[0], "crate::r#match::r#gen::alone");
        assert_eq!(
            paths("mod r#type { #[tile_kernel(grid = [1])] fn k(y: &mut [f32]) {} }".into(), &on),
            ["crate::r#type::k"]
        );
    }
}
