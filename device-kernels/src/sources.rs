//! The kernels' own text, for `tile show`.

macro_rules! sources { ($($file:literal)*) => { &[$(($file, include_str!($file))),*] } }

/// File name and text.
pub const SOURCES: &[(&str, &str)] = sources! {
    "color_inversion.rs" "convolution_1d.rs" "count_2d_array_element.rs" "count_array_element.rs" "gelu.rs" "leaky_relu.rs"
    "matrix_copy.rs" "matrix_transpose.rs" "rainbow_table.rs" "reduction.rs" "relu.rs" "reverse_array.rs" "softmax_1d.rs"
    "softmax_rows.rs" "vector_add.rs"
};
