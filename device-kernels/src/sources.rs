//! The kernels' own text, for `tile show`.

macro_rules! sources { ($($file:literal)*) => { &[$(($file, include_str!($file))),*] } }

/// File name and text.
pub const SOURCES: &[(&str, &str)] = sources! {
    "attention.rs" "batched_matmul.rs" "color_inversion.rs" "convolution_1d.rs" "count_2d_array_element.rs" "count_array_element.rs"
    "dot_product.rs" "gelu.rs" "gemm.rs" "leaky_relu.rs" "library.rs" "matmul.rs" "matmul_f32.rs" "matmul_int8.rs" "matrix_copy.rs" "matrix_transpose.rs"
    "rainbow_table.rs" "reduction.rs" "relu.rs" "repack.rs" "reverse_array.rs" "softmax_1d.rs" "softmax_rows.rs"
    "vector_add.rs"
};
