//! Source files of a package: the attributes of the compiler, and the modules that have them.

use crate::diag::{Code, syn_error};
use crate::front::standard;
use proc_macro2::TokenStream;
use std::path::Path;
use syn::Token;
use syn::parse::{Parse, ParseStream};
use syn::visit::Visit;

/// The name of the attribute of a kernel.
pub const KERNEL: &str = "tile_kernel";
/// The name of the attribute of a module with kernels.
pub(crate) const MODULE: &str = "tile_module";
/// The name of the attribute of a module with items for kernels of other modules.
pub const LIBRARY: &str = "tile_library";

/// A file of a package.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The path in the package, as in `src/lib.rs`.
    pub file: &'a Path,
    /// The content of the file.
    pub text: &'a str,
}

impl<'a> From<&'a str> for Source<'a> {
    fn from(text: &'a str) -> Self {
        Source { file: Path::new("src/lib.rs"), text }
    }
}

impl<'a> From<&'a String> for Source<'a> {
    fn from(text: &'a String) -> Self {
        text.as_str().into()
    }
}

/// The path of a module: its crate in the package, and the modules around it.
#[derive(Clone, Debug, PartialEq)]
pub struct ModulePath {
    /// The path of the crate in the package, as in `src`, or `src/bin/tool`.
    pub root: Vec<String>,
    /// The names of the modules, the outermost first, without `r#`: that of `mod r#match;` is the file's.
    pub modules: Vec<String>,
}

impl ModulePath {
    /// The files below `src` are one crate, but for `src/bin`. Every other file counts as a crate of its own.
    pub fn of(file: &Path) -> ModulePath {
        let mut root: Vec<String> = file.with_extension("").iter().map(|s| s.to_string_lossy().into_owned()).collect();
        let Some(src) = root.iter().rposition(|s| s == "src") else { return ModulePath { root, modules: vec![] } };
        let in_bin = root.get(src + 1).is_some_and(|s| s == "bin") && root.len() > src + 2;
        let mut modules = root.split_off(if in_bin { src + 3 } else { src + 1 });
        modules.pop_if(|last| ["mod", "lib", "main"].contains(&last.as_str()));
        ModulePath { root, modules }
    }

    pub(crate) fn within(&self, module: &str) -> ModulePath {
        let module = module.strip_prefix("r#").unwrap_or(module).to_string();
        ModulePath { root: self.root.clone(), modules: [&self.modules[..], &[module]].concat() }
    }
}

/// The arguments of `#[tile_module(use a::b, use c, crate = d)]`.
#[derive(Default)]
pub(crate) struct Uses {
    pub libraries: Vec<syn::Path>,
    /// The libraries of [`standard`], by their names.
    pub standard: Vec<&'static str>,
    /// The crate that expansions name, if it is not `::tilewright`.
    pub facade: Option<syn::Path>,
}

impl Uses {
    /// The crate that expansions name.
    pub(crate) fn facade(&self) -> syn::Path {
        self.facade.clone().unwrap_or_else(default_facade)
    }

    /// The libraries of the language, by their paths.
    pub(crate) fn standard_paths(&self) -> impl Iterator<Item = TokenStream> {
        let facade = self.facade();
        self.standard.iter().map(move |name| {
            let name = syn::Ident::new(name, proc_macro2::Span::call_site());
            quote::quote!(#facade::#name)
        })
    }
}

impl Parse for Uses {
    fn parse(input: ParseStream) -> syn::Result<Self> {
        let mut out = Uses::default();
        while !input.is_empty() {
            if input.peek(Token![use]) {
                input.parse::<Token![use]>()?;
                out.libraries.push(input.call(syn::Path::parse_mod_style)?);
            } else {
                let at = input.span();
                if out.facade.replace(facade(input)?).is_some() {
                    return Err(syn_error(Code::GivenTwice, at, "there is one `crate = path`"));
                }
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let facade = out.facade();
        out.standard = out.libraries.iter().filter_map(|l| standard::named(l, &facade)).collect();
        out.libraries.retain(|l| standard::named(l, &facade).is_none());
        Ok(out)
    }
}

/// `crate = path`
pub(crate) fn facade(input: ParseStream) -> syn::Result<syn::Path> {
    input.parse::<Token![crate]>()?;
    input.parse::<Token![=]>()?;
    input.call(syn::Path::parse_mod_style)
}

/// The crate that expansions name where no attribute says another.
pub(crate) fn default_facade() -> syn::Path {
    syn::parse_quote!(::tilewright)
}

pub(crate) fn last_segment_is(path: &syn::Path, name: &str) -> bool {
    path.segments.last().is_some_and(|s| s.ident == name)
}

/// Takes the kernel attribute off an item.
pub(crate) fn take_attribute(attrs: &mut Vec<syn::Attribute>, name: &str) -> Option<TokenStream> {
    let i = attrs.iter().position(|a| last_segment_is(a.path(), name))?;
    Some(match attrs.remove(i).meta {
        syn::Meta::List(l) => l.tokens,
        _ => TokenStream::new(),
    })
}

/// The libraries of a `#[tile_module]`, which may be none.
pub(crate) fn uses(m: &syn::ItemMod) -> Option<Uses> {
    let attr = m.attrs.iter().find(|a| last_segment_is(a.path(), MODULE))?;
    match attr.meta {
        syn::Meta::List(_) => attr.parse_args().ok(),
        _ => Some(Uses::default()),
    }
}

/// Calls `each` with every `#[tile_module]` of a file, the libraries that it uses, and the place that it is in.
pub(crate) fn tile_modules(source: Source, each: &mut dyn FnMut(&syn::ItemMod, Uses, &ModulePath)) {
    walk(source, &mut |_| {}, each);
}

/// The same, and every function.
pub(crate) fn walk(
    source: Source,
    function: &mut dyn FnMut(&syn::ItemFn),
    module: &mut dyn FnMut(&syn::ItemMod, Uses, &ModulePath),
) {
    struct Finder<'f>(ModulePath, &'f mut dyn FnMut(&syn::ItemFn), &'f mut dyn FnMut(&syn::ItemMod, Uses, &ModulePath));
    impl<'a> Visit<'a> for Finder<'_> {
        fn visit_item_fn(&mut self, f: &'a syn::ItemFn) {
            (self.1)(f);
        }
        fn visit_item_mod(&mut self, m: &'a syn::ItemMod) {
            if let Some(uses) = uses(m) {
                return (self.2)(m, uses, &self.0);
            }
            let inner = self.0.within(&m.ident.to_string());
            let outer = std::mem::replace(&mut self.0, inner);
            syn::visit::visit_item_mod(self, m);
            self.0 = outer;
        }
    }
    if let Ok(f) = syn::parse_file(source.text) {
        Finder(ModulePath::of(source.file), function, module).visit_file(&f);
    }
}
