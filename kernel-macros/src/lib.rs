//! `#[tile_kernel]`, `#[tile_module]` and `#[tile_library]`; the work is done by `tilewright_compiler`. Under
//! rust-analyzer they expand to what an editor needs.

mod caller;

use proc_macro::TokenStream;
use tilewright_compiler::editor;

/// Makes a block-level function a kernel: see `docs/language.md`.
#[proc_macro_attribute]
pub fn tile_kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    let expand = if caller::is_editor() { editor::kernel } else { tilewright_compiler::expand_kernel };
    expand(attr.into(), item.into()).into()
}

/// Lets the kernels of a module use the functions, constants, enums and type aliases in it, and those of libraries:
/// `#[tile_module(use crate::tiles::library)]`.
#[proc_macro_attribute]
pub fn tile_module(attr: TokenStream, item: TokenStream) -> TokenStream {
    let expand = if caller::is_editor() { editor::module } else { tilewright_compiler::expand_module };
    expand(attr.into(), item.into()).into()
}

/// Makes the functions, constants, enums and type aliases of a module ones that kernels of the package may use:
/// `#[tile_module(use crate::tiles::library)]`.
#[proc_macro_attribute]
pub fn tile_library(attr: TokenStream, item: TokenStream) -> TokenStream {
    let expand = if caller::is_editor() { editor::library } else { tilewright_compiler::library::expand };
    expand(attr.into(), item.into()).into()
}

/// Lists the kernels of a crate, in its `lib.rs`: a function `all`, with the descriptors of every kernel below `src`,
/// and a constant `SOURCES`, with the files that they are in. The build script finds the kernels, but for those under a
/// `cfg`. Modules with kernels have to be visible in `lib.rs`.
///
/// `kernels!(crate = path)` is for a crate that depends on this one by another name.
#[proc_macro]
pub fn kernels(input: TokenStream) -> TokenStream {
    tilewright_compiler::expand_kernels(input.into()).into()
}

/// What a library hands its items to.
#[doc(hidden)]
#[proc_macro]
pub fn tile_module_with(input: TokenStream) -> TokenStream {
    tilewright_compiler::with_library(input.into()).into()
}
