//! The kernels: one file per operation, and `library`, which several of them use. `tilewright_runtime::ops` has a
//! checked, typed function for each.
//!
//! A kernel `k` of module `m` is two things: the function `m::k(..)`, which binds arguments to a call, and the module
//! `m::k`, with its descriptors.

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
pub mod repack;
pub mod reverse_array;
pub mod softmax_1d;
pub mod softmax_rows;
pub mod vector_add;

mod sources;

// Kernels name the crate `tilewright`, which depends on this one.
extern crate self as tilewright;
#[doc(hidden)]
pub mod __private {
    pub use tilewright_core::*;
    pub use tilewright_lang as lang;
    pub use tilewright_macros::tile_module_with;
}

pub use sources::SOURCES;

use tilewright_core::KernelDesc;

/// Where this build has put the bundles, and `report.json`; none without a device toolchain.
pub const BUNDLES: Option<&str> = option_env!("TILE_BUNDLE_DIR");

/// Descriptors of every kernel, in alphabetical order of their files.
pub fn all() -> Vec<&'static KernelDesc> {
    let kernels: [&[&'static KernelDesc]; 55] = [
        attention::heads::attention_64::DESCS,
        attention::heads::attention_128::DESCS,
        attention::heads::attention_few_64::DESCS,
        attention::heads::attention_few_128::DESCS,
        batched_matmul::batched::batched_matmul::DESCS,
        batched_matmul::batched::batched_matmul_f32::DESCS,
        color_inversion::color_inversion::DESCS,
        color_inversion::color_inversion_bytes::DESCS,
        convolution_1d::convolution::convolution_1d::DESCS,
        count_2d_array_element::count_2d_array_element::DESCS,
        count_array_element::count_array_element::DESCS,
        dot_product::dot_product::DESCS,
        gelu::gelu::DESCS,
        gemm::scaled::gemm::DESCS,
        gemm::scaled::scaled_product::DESCS,
        leaky_relu::leaky_relu::DESCS,
        matmul::products::matmul_nn::DESCS,
        matmul::products::matmul_nt::DESCS,
        matmul::products::matmul_tn::DESCS,
        matmul::products::matmul_tt::DESCS,
        matmul::products::matmul_tf32::DESCS,
        matmul::products::matmul_tf32_nn::DESCS,
        matmul::products::matmul_tf32_tt::DESCS,
        matmul::products::matmul_i8::DESCS,
        matmul::products::matmul_f8::DESCS,
        matmul::products::matmul_f16_i8::DESCS,
        matmul::products::matmul_f16_f8::DESCS,
        matmul_f32::f32_products::matmul_f32::DESCS,
        matmul_f32::f32_products::matmul_f32_nn::DESCS,
        matmul_f32::f32_products::matmul_f32_parts::DESCS,
        matmul_f32::f32_products::split::DESCS,
        matmul_f32::f32_products::split_transposed::DESCS,
        matmul_int8::quantised::int8_row_sums::DESCS,
        matmul_int8::quantised::matmul_int8::DESCS,
        matmul_int8::quantised::quantise::DESCS,
        matmul_f32::f32_products::matmul_f32_mixed_nn::DESCS,
        matmul_f32::f32_products::matmul_f32_mixed_nt::DESCS,
        matmul_f32::f32_products::matmul_row_nn::DESCS,
        matmul_f32::f32_products::matmul_row_nt::DESCS,
        matmul_f32::f32_products::batched_matmul_f32_mixed::DESCS,
        matrix_copy::matrix_copy::DESCS,
        matrix_transpose::matrix_transpose::DESCS,
        rainbow_table::rainbow::rainbow_table::DESCS,
        reduction::reduction::DESCS,
        relu::relu::DESCS,
        repack::copies::repack::DESCS,
        repack::copies::repack_transposed::DESCS,
        repack::copies::widen::DESCS,
        reverse_array::reverse_array::DESCS,
        softmax_1d::softmax_1d_partial::DESCS,
        softmax_1d::softmax_1d_apply::DESCS,
        softmax_rows::softmax_row::DESCS,
        softmax_rows::softmax_rows_packed::DESCS,
        softmax_rows::softmax_rows_wide::DESCS,
        vector_add::vector_add::DESCS,
    ];
    kernels.into_iter().flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The macros find the code for the host that the build script has written: of kernels alone, of modules, and of
    /// modules with libraries, whose tokens come from another file.
    #[test]
    fn the_build_script_lowers_all_kinds_of_kernels() {
        const { assert!(gelu::gelu::IS_INCLUDED) };
        const { assert!(rainbow_table::rainbow::rainbow_table::IS_INCLUDED) };
        const { assert!(attention::heads::attention_64::IS_INCLUDED) };
        const { assert!(matmul::products::matmul_nn::IS_INCLUDED) };
    }
}
