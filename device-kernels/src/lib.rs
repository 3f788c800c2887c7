//! The kernels: one file per operation, and `library`, which several of them use. `tilewright_ops` has a checked, typed
//! function for each.
//!
//! A kernel `k` of module `m` is two things: the function `m::k(..)`, which binds arguments to a call, and the module
//! `m::k`, with its descriptors.
#![warn(missing_docs)]

#[cfg(feature = "products")]
pub mod align_operand;
#[cfg(feature = "attention")]
pub mod attention;
#[cfg(feature = "products")]
pub mod batched_matmul;
#[cfg(feature = "elementwise")]
pub mod color_inversion;
#[cfg(feature = "convolutions")]
pub mod convolution_1d;
#[cfg(feature = "reductions")]
pub mod count_2d_array_element;
#[cfg(feature = "reductions")]
pub mod count_array_element;
#[cfg(feature = "reductions")]
pub mod dot_product;
#[cfg(feature = "elementwise")]
pub mod dropout;
#[cfg(feature = "embeddings")]
pub mod embeddings;
#[cfg(feature = "elementwise")]
pub mod gelu;
#[cfg(feature = "products")]
pub mod gemm;
#[cfg(feature = "products")]
pub mod grouped_matmul;
#[cfg(feature = "elementwise")]
pub mod leaky_relu;
pub mod library;
#[cfg(feature = "losses")]
pub mod losses;
#[cfg(feature = "products")]
pub mod matmul;
#[cfg(feature = "products")]
pub mod matmul_f32;
#[cfg(feature = "products")]
pub mod matmul_int8;
#[cfg(feature = "elementwise")]
pub mod matrix_copy;
#[cfg(feature = "elementwise")]
pub mod matrix_transpose;
#[cfg(feature = "norms")]
pub mod norms;
#[cfg(feature = "elementwise")]
pub mod rainbow_table;
#[cfg(feature = "reductions")]
pub mod reduction;
#[cfg(feature = "elementwise")]
pub mod relu;
#[cfg(feature = "elementwise")]
pub mod reverse_array;
#[cfg(feature = "softmax")]
pub mod softmax_1d;
#[cfg(feature = "softmax")]
pub mod softmax_rows;
#[cfg(feature = "elementwise")]
pub mod swiglu;
#[cfg(feature = "elementwise")]
pub mod vector_add;

// Kernels name the crate `tilewright`, which depends on this one.
extern crate self as tilewright;
#[doc(hidden)]
pub mod __private {
    pub use tilewright_core::*;
    pub use tilewright_lang as lang;
    pub use tilewright_macros::tile_module_with;
}

tilewright_macros::kernels!();

/// The folder of this build's bundles and `report.json`; none without a device toolchain.
pub const BUNDLES: Option<&str> = option_env!("TILE_BUNDLE_DIR");
