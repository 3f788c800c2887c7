//! Expansion of the macros: `#[tile_kernel]`, `#[tile_module]`, and the hand-over of a library's items.

use crate::diag::{self, Code, Diagnostic, Diagnostics, Span, syn_error_to_tokens};
use crate::emit::built::Configs;
use crate::emit::grid;
use crate::emit::host::{self, Emulate, HostOptions};
use crate::front::instance::Kernel;
use crate::front::source::Uses;
use crate::front::{backward, library, module, parse};
use crate::unparsed;
use proc_macro2::{TokenStream, TokenTree};
use quote::quote;
use std::path::{Path, PathBuf};
use syn::parse::{ParseStream, Parser};

/// The name of the file in which the build script puts a kernel's host code: the code of a check, or the code for these
/// instances on the emulated SM. The code depends on the kernel's tokens and on their lines, so both are in the name.
pub fn host_file_name(k: &Kernel, options: &HostOptions) -> String {
    let (kind, configs) = match options.check_only {
        true => ("check", ""),
        false => (options.emulate.name(), options.configs.suffix()),
    };
    format!("{}-{}-{}-{kind}{configs}.rs", k.name, k.fingerprint, k.lines)
}

/// The expansions of a function's kernels, which have no mistakes. They include the host code that the build script has
/// written. Kernels that no build script has seen (of a `macro_rules!`, a test, a documentation test, or a crate
/// without one) are lowered here.
fn expansions(kernels: &[Kernel], d: &Diagnostics) -> diag::Result<Vec<TokenStream>> {
    let bundles = std::env::var_os("TILE_BUNDLE_DIR").map(PathBuf::from);
    let options = HostOptions {
        // If nothing is compiled for the GPU no configuration is left out.
        configs: if bundles.is_some() { Configs::from_env() } else { Configs::All },
        bundles,
        emulate: Emulate::from_env(),
        check_only: !generates_code(std::env::args_os().map(|a| a.to_string_lossy().into_owned())),
    };
    // A build script knows of no planted defect.
    let folder = std::env::var_os("TILE_HOST_DIR").filter(|_| !cfg!(feature = "mutants"));
    let file = |k| {
        let file = Path::new(folder.as_ref()?).join(host_file_name(k, &options));
        Some(file).filter(|f| f.is_file() && f.to_str().is_some())
    };
    match kernels.iter().map(file).collect::<Option<Vec<_>>>() {
        Some(files) => Ok(kernels.iter().zip(&files).map(|(k, file)| host::include(k, &options, file)).collect()),
        None => host::expand(kernels, &options, d),
    }
}

/// Whether a compiler with these arguments, in whose process the macro runs, generates code. `cargo check` and
/// `cargo clippy` ask for metadata alone, and take a fraction of the time without the bodies of instances. Unknown
/// arguments mean code.
fn generates_code(arguments: impl Iterator<Item = String>) -> bool {
    let (mut kinds, mut is_list) = (vec![], false);
    for a in arguments {
        match a.strip_prefix("--emit=") {
            Some(list) => kinds.push(list.to_string()),
            None if is_list => kinds.push(a.clone()),
            None => {}
        }
        is_list = a == "--emit";
    }
    let is_code = |kind: &str| !matches!(kind.split('=').next(), Some("metadata" | "dep-info"));
    kinds.is_empty() || kinds.iter().flat_map(|list| list.split(',')).any(is_code)
}

/// Expands `#[tile_kernel(attr)] item`.
pub fn expand_kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    match syn::parse2::<syn::ItemFn>(item.clone()) {
        Ok(item) => with_errors(|d| expand_found(module::Found::alone(attr, item), d)),
        Err(e) if item.clone().into_iter().any(|t| matches!(t, TokenTree::Ident(i) if i == "fn")) => {
            unparsed::kernel(attr, item, e)
        }
        Err(_) => Diagnostic::new(Code::MacroPlace, Span::of(&item), "#[tile_kernel] goes on a function").to_tokens(),
    }
}

/// Expands `#[tile_module(use library, .., crate = path)] mod m { .. }`.
pub fn expand_module(attr: TokenStream, item: TokenStream) -> TokenStream {
    match syn::parse2::<Uses>(attr) {
        Ok(uses) => library::ask(&uses, &[], &item).unwrap_or_else(|| expand_module_with(Some(vec![]), uses, item)),
        Err(e) => {
            let e = Diagnostic::new(
                Code::MacroArguments,
                e.span(),
                "#[tile_module] takes the libraries that its kernels use, and `crate = path`: \
                 #[tile_module(use crate::tiles::library)]",
            )
            .to_tokens();
            let kernels = expand_module_with(None, Uses::default(), item);
            quote! { #e #kernels }
        }
    }
}

/// Expands the input that a library hands on: `{ its items } { items of libraries before } { use more } module`. A
/// library with mistakes hands on `!` instead of items.
pub fn with_library(input: TokenStream) -> TokenStream {
    let braced = |input: ParseStream| -> syn::Result<TokenStream> {
        let braces;
        syn::braced!(braces in input);
        braces.parse()
    };
    let parts = |input: ParseStream| -> syn::Result<_> {
        let its = match input.parse::<Option<syn::Token![!]>>()? {
            Some(_) => None,
            None => Some(braced(input)?),
        };
        let (before, uses) = (braced(input)?, braced(input)?);
        let items = its.map(|its| syn::parse2::<syn::File>(quote! { #its #before })).transpose()?;
        Ok((items.map(|f| f.items), syn::parse2::<Uses>(uses)?, input.parse::<TokenStream>()?))
    };
    match parts.parse2(input) {
        Ok((None, uses, module)) => expand_module_with(None, uses, module),
        Ok((Some(items), uses, module)) => {
            library::ask(&uses, &items, &module).unwrap_or_else(|| expand_module_with(Some(items), uses, module))
        }
        Err(e) => syn_error_to_tokens(e),
    }
}

/// The same with the items of its libraries; with none if these have mistakes, which are reported already.
fn expand_module_with(libraries: Option<Vec<syn::Item>>, uses: Uses, item: TokenStream) -> TokenStream {
    let (attrs, vis, ident, items) = match syn::parse2::<syn::ItemMod>(item.clone()) {
        Ok(syn::ItemMod { attrs, vis, ident, content: Some((_, items)), .. }) => (attrs, vis, ident, items),
        Err(e) if item.clone().into_iter().any(|t| matches!(t, TokenTree::Ident(i) if i == "mod")) => {
            let (errors, module) = unparsed::module(item, e);
            let module = module.map(|m| expand_module_with(None, uses, m));
            return quote! { #errors #module };
        }
        _ => {
            let why = "#[tile_module] goes on a module with a body: `mod kernels { .. }`";
            return Diagnostic::new(Code::MacroPlace, Span::of(&item), why).to_tokens();
        }
    };
    with_errors(|d| {
        let (kernels, rest) = module::module(items, libraries.as_deref(), &uses, d);
        // Helpers compute with tiles: only kernels can call them, so they are not compiled by themselves.
        let rest = parse::structs::seen_by_rustc(&rest);
        let kernels = kernels.into_iter().map(|k| expand_found(k, d));
        let (inner, outer): (Vec<_>, Vec<_>) = attrs.iter().partition(|a| matches!(a.style, syn::AttrStyle::Inner(_)));
        quote! { #(#outer)* #[allow(unused)] #vis mod #ident { #(#inner)* #(#rest)* #(#kernels)* } }
    })
}

/// An expansion behind its errors.
fn with_errors(expand: impl FnOnce(&Diagnostics) -> TokenStream) -> TokenStream {
    let d = Diagnostics::default();
    let expanded = expand(&d);
    let errors = d.take().into_iter().map(|e| e.to_tokens());
    quote! { #(#errors)* #expanded }
}

/// The expansion of a kernel. If it has mistakes, those are added to `all`, and stubs let its callers compile.
fn expand_found(found: module::Found, all: &Diagnostics) -> TokenStream {
    let d = Diagnostics::default();
    let (attr, item) = (found.attr.clone(), found.item.clone());
    let names = parse::names(attr.clone(), &item);
    let facade = parse::facade_of(found.attr.clone()).unwrap_or_else(|| found.facade.clone());
    let parsed = found.parse_all(&d);
    let expanded = parsed.as_ref().map(|kernels| expansions(kernels, &d));
    match (expanded, &parsed) {
        (Ok(Ok(kernels)), _) if d.is_empty() => {
            // Cargo must know the variables that the expansion has read.
            let planted = cfg!(feature = "mutants").then(|| {
                quote! { const _: [::core::option::Option<&str>; 2] = [option_env!("TILE_PLANT"), option_env!("TILE_PLANT_KERNELS")]; }
            });
            quote! { #(#kernels)* #planted const _: [::core::option::Option<&str>; 4] = [option_env!("TILE_BUNDLE_DIR"), option_env!("TILE_HOST_DIR"), option_env!("TILE_EMULATE"), option_env!("TILE_CONFIGS")]; }
        }
        (_, Ok(kernels)) => {
            kernels.iter().for_each(|k| k.choices().iter().for_each(|c| grid::check(k, c, &d)));
            all.extend(d);
            kernels.iter().map(host::stub).collect()
        }
        (_, Err(_)) => {
            all.extend(d);
            let of_backward = parse::backward_of(attr).map(|of| {
                let mut item = item.clone();
                item.sig.inputs = backward::inputs(&item.sig, &of).into_iter().collect();
                item
            });
            // A backward kernel follows each kernel.
            let of = |i: usize| of_backward.as_ref().filter(|_| i % 2 == 1).unwrap_or(&item);
            names.iter().enumerate().map(|(i, name)| host::stub_of_function(of(i), name, &facade)).collect()
        }
    }
}

#[cfg(test)]
mod tests {
    use super::generates_code;

    #[test]
    fn only_a_compiler_that_is_asked_for_metadata_alone_gets_no_bodies() {
        let of = |line: &str| generates_code(line.split(' ').map(String::from));
        assert!(!of("clippy-driver rustc --crate-name k --emit=dep-info,metadata -C opt-level=1"));
        assert!(!of("rustc --emit metadata=k.rmeta src/lib.rs"));
        assert!(of("rustc --crate-name k --emit=dep-info,metadata,link"));
        assert!(of("rustc --emit dep-info --emit obj"));
        assert!(of("rustc src/lib.rs"));
        assert!(of("rustc @arguments"));
        assert!(of("phases --exact expansion::slices"));
    }
}
