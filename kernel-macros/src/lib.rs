//! `#[tile_kernel]`, `#[tile_module]` and `#[tile_library]`; the work is done by `tilewright_compiler`. Under
//! rust-analyzer they expand to code for an editor. The crate `tilewright` re-exports them, with examples.
#![warn(missing_docs)]

mod caller;

use proc_macro::TokenStream;
use tilewright_compiler::editor;

/// Makes a function on tiles a kernel.
///
/// The function of the kernel's name then binds arguments to a call, which a runtime launches. A module of that name
/// has the descriptors, `DESCS`, one for each choice of types. The arguments of the attribute are:
///
/// - `grid = [x, y, z]`: the number of programs along one to three axes, as expressions of parameters and constants
/// - `types(T = [f32, f16], ..)`: the types of each type parameter
/// - `tune(BLOCK = [1024, 2048], warps = [4], ..)`: the values of each constant, and of `warps`, `stages`,
///   `blocks_per_sm`, `ctas` and `arch`; the first configuration is the default
/// - `kernel(name, CONSTANT = value, ..)`: a kernel of another name, with some parameters given
/// - `requires = [condition, ..]`: conditions on arguments
/// - `pdl = [x, ..]`: programmatic dependent launch, with the arrays that are read early
/// - `deterministic`: equal arguments give results of equal bits
/// - `backward`, `backward(x, ..)`: a second kernel adds the gradients of the inputs, derived by reverse mode
/// - `alias(x, y)`: a call may give the same memory for `x` and `y`
/// - `map`: the function is one of elements, `fn f(x: Tile<f32>, a: f32) -> Tile<f32>`, and its kernel one of arrays
/// - `emulate = all`: every configuration has code for the emulated SM
/// - `crate = path`: the crate that the expansion names, in the place of `::tilewright`
///
/// The page "The tile language" of the book describes each, and the language. The compiler reports a mistake at the
/// kernel's own tokens.
#[proc_macro_attribute]
pub fn tile_kernel(attr: TokenStream, item: TokenStream) -> TokenStream {
    let expand = if caller::is_editor() { editor::kernel } else { tilewright_compiler::expand_kernel };
    expand(attr.into(), item.into()).into()
}

/// Lets the kernels of a module use the functions, constants, enums and type aliases in it, and those of libraries:
/// `#[tile_module(use crate::tiles::library)]`.
///
/// Helpers are generic over types and constants. They take and return tiles, scalars and tuples, and take slices, views
/// and closures. They are inlined. In the module `#[tile_kernel]` needs no `use`.
#[proc_macro_attribute]
pub fn tile_module(attr: TokenStream, item: TokenStream) -> TokenStream {
    let expand = if caller::is_editor() { editor::module } else { tilewright_compiler::expand_module };
    expand(attr.into(), item.into()).into()
}

/// Makes a module a library: kernels of the package may use its functions, constants, enums and type aliases, in
/// modules under `#[tile_module(use crate::tiles::library)]`.
#[proc_macro_attribute]
pub fn tile_library(attr: TokenStream, item: TokenStream) -> TokenStream {
    let expand = if caller::is_editor() { editor::library } else { tilewright_compiler::library::expand };
    expand(attr.into(), item.into()).into()
}

/// Lists the kernels of a crate, in its `lib.rs`: a function `all`, with the descriptors of every kernel below `src`,
/// and a constant `SOURCES`, with the files that they are in. The build script finds the kernels. A kernel under a
/// `cfg` is in the list only if the features of the package decide that the `cfg` holds. Modules with kernels have to
/// be visible in `lib.rs`.
///
/// `kernels!(crate = path)` is for a crate that depends on this one by another name.
#[proc_macro]
pub fn kernels(input: TokenStream) -> TokenStream {
    tilewright_compiler::expand_kernels(input.into()).into()
}

/// The macro to which a library hands its items.
#[doc(hidden)]
#[proc_macro]
pub fn tile_module_with(input: TokenStream) -> TokenStream {
    tilewright_compiler::with_library(input.into()).into()
}
