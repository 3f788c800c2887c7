//! The kernels: one file per operation. `tile_host::ops` has a checked, typed function for each.
//!
//! A kernel `k` of module `m` is two things: the function `m::k(..)`, which binds arguments to a call, and the module
//! `m::k`, with its descriptors.

pub mod color_inversion;
pub mod convolution_1d;
pub mod count_2d_array_element;
pub mod count_array_element;
pub mod gelu;
pub mod leaky_relu;
pub mod matrix_copy;
pub mod matrix_transpose;
pub mod rainbow_table;
pub mod reduction;
pub mod relu;
pub mod reverse_array;
pub mod softmax_1d;
pub mod softmax_rows;
pub mod vector_add;

mod sources;

pub use sources::SOURCES;

use kernel_core::KernelDesc;

/// Descriptors of every kernel, in alphabetical order of their files.
pub fn all() -> Vec<&'static KernelDesc> {
    let kernels: [&[&'static KernelDesc]; 19] = [
        color_inversion::color_inversion::DESCS,
        color_inversion::color_inversion_bytes::DESCS,
        convolution_1d::convolution::convolution_1d::DESCS,
        count_2d_array_element::count_2d_array_element::DESCS,
        count_array_element::count_array_element::DESCS,
        gelu::gelu::DESCS,
        leaky_relu::leaky_relu::DESCS,
        matrix_copy::matrix_copy::DESCS,
        matrix_transpose::matrix_transpose::DESCS,
        rainbow_table::rainbow::rainbow_table::DESCS,
        reduction::reduction::DESCS,
        relu::relu::DESCS,
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
