//! The kernels: one file per operation, and `library`, which several of them use. `tilewright_ops` has a checked, typed
//! function for each.
//!
//! A kernel `k` of module `m` is two things: the function `m::k(..)`, which binds arguments to a call, and the module
//! `m::k`, with its descriptors.
#![warn(missing_docs)]

pub mod align_operand;
pub mod attention;
pub mod batched_matmul;
pub mod color_inversion;
pub mod convolution_1d;
pub mod count_2d_array_element;
pub mod count_array_element;
pub mod dot_product;
pub mod gelu;
pub mod gemm;
pub mod leaky_relu;
pub mod library;
pub mod matmul;
pub mod matmul_f32;
pub mod matmul_int8;
pub mod matrix_copy;
pub mod matrix_transpose;
pub mod rainbow_table;
pub mod reduction;
pub mod relu;
pub mod reverse_array;
pub mod softmax_1d;
pub mod softmax_rows;
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

/// Where this build has put the bundles, and `report.json`; none without a device toolchain.
pub const BUNDLES: Option<&str> = option_env!("TILE_BUNDLE_DIR");
