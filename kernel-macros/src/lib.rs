//! `#[tile_kernel]` and `#[tile_module]`; the work is done by `kernel_compiler`.

use proc_macro::TokenStream;

/// Makes a block-level function a kernel: see `docs/language.md`.
#[proc_macro_attribute]
pub fn tile_kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    kernel_compiler::expand_kernel(attr.into(), item.into()).into()
}

/// Lets the kernels of a module use the functions, constants and type aliases in it.
#[proc_macro_attribute]
pub fn tile_module(_attr: TokenStream, item: TokenStream) -> TokenStream {
    kernel_compiler::expand_module(item.into()).into()
}
