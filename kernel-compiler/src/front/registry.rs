//! The kernels of a package as paths, for a list of all of them.

use crate::diag::syn_error_to_tokens;
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
/// A kernel under a `cfg`, or in a module under one, is left out: the list is compiled whatever the `cfg` is.
pub fn paths(source: Source) -> Vec<String> {
    let Ok(file) = syn::parse_file(source.text) else { return vec![] };
    let mut out = vec![];
    let at = ["crate".to_string()].into_iter().chain(ModulePath::of(source.file).modules).collect();
    collect(&file.items, at, &mut out);
    out
}

fn collect(items: &[syn::Item], at: Vec<String>, out: &mut Vec<String>) {
    for item in items {
        match item {
            syn::Item::Fn(f) if !has_cfg(&f.attrs) => {
                if let Some(attr) = take_attribute(&mut f.attrs.clone(), KERNEL) {
                    out.extend(parse::names(attr, f).iter().map(|name| format!("{}::{name}", at.join("::"))));
                }
            }
            syn::Item::Mod(m) if !has_cfg(&m.attrs) && !is_library(m) => {
                let within = at.iter().cloned().chain([m.ident.to_string()]).collect();
                collect(m.content.as_ref().map_or(&[], |(_, items)| items), within, out);
            }
            _ => {}
        }
    }
}

fn has_cfg(attrs: &[syn::Attribute]) -> bool {
    attrs.iter().any(|a| a.path().is_ident("cfg") || a.path().is_ident("cfg_attr"))
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
            fn no_kernel() { #[tile_kernel(grid = [1])] fn in_a_body(y: &mut [f32]) {} }";
        let of = |file: &str| paths(Source { file: Path::new(file), text });
        assert_eq!(
            of("p/src/rows.rs"),
            ["crate::rows::alone", "crate::rows::m::b", "crate::rows::m::a", "crate::rows::inner::k"]
        );
        assert_eq!(of("p/src/lib.rs")[0], "crate::alone");
        assert_eq!(of("p/src/a/mod.rs")[0], "crate::a::alone");
    }
}
