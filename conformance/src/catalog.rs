//! Every operation: its name, the meaning of its sizes, and its problems.

use super::families::{FLOATS, MATRIX, embedding, grouped, norm, product, rope};
use super::operation::Operation;
use super::problems::{
    attention, convolution, elementwise, embeddings, gemm, grouped, losses, matmul, norms, reduce, reorder, softmax,
};
use tilewright_core::DType;

const F32: &[DType] = &[DType::F32];
const FACTORS: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::I8, DType::F8E4M3, DType::F8E5M2];
const INEXACT: &[DType] = &[DType::F16, DType::BF16, DType::F32, DType::F8E4M3, DType::F8E5M2];
const I32: &[DType] = &[DType::I32];
const N: &[&str] = &["n"];
const LENGTHS: &[&[u64]] = &[&[1 << 16], &[1 << 20], &[25_000_000], &[1 << 28]];

/// Every operation, in the order of the documents.
pub const OPERATIONS: &[Operation] = &[
    Operation {
        name: "vector_add",
        about: "c = a + b",
        axes: N,
        dtypes: FLOATS,
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["vector_add"],
        make: elementwise::vector_add,
    },
    Operation {
        name: "relu",
        about: "y = max(x, 0)",
        axes: N,
        dtypes: FLOATS,
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["relu"],
        make: elementwise::relu,
    },
    Operation {
        name: "leaky_relu",
        about: "y = x, or 0.01 x where x is negative",
        axes: N,
        dtypes: FLOATS,
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["leaky_relu"],
        make: elementwise::leaky_relu,
    },
    Operation {
        name: "swiglu",
        about: "y = silu(gate) * up",
        axes: N,
        dtypes: FLOATS,
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["swiglu"],
        make: elementwise::swiglu,
    },
    Operation {
        name: "swiglu_backward",
        about: "the gradients of swiglu",
        axes: N,
        dtypes: FLOATS,
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["swiglu_gradient"],
        make: elementwise::swiglu_backward,
    },
    Operation {
        name: "gelu",
        about: "GeLU, tanh form",
        axes: N,
        dtypes: FLOATS,
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["gelu"],
        make: elementwise::gelu,
    },
    Operation {
        name: "dropout",
        about: "y = x / 0.7 of seven elements in ten, else 0",
        axes: N,
        dtypes: FLOATS,
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["dropout"],
        make: elementwise::dropout,
    },
    Operation {
        name: "matrix_copy",
        about: "b = a",
        axes: MATRIX,
        dtypes: F32,
        large: &[4096, 4096],
        bench: &[&[4096, 4096], &[16384, 16384]],
        kernels: &["matrix_copy"],
        make: elementwise::matrix_copy,
    },
    Operation {
        name: "reverse_array",
        about: "back to front, in place",
        axes: N,
        dtypes: F32,
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["reverse_array"],
        make: reorder::reverse_array,
    },
    Operation {
        name: "color_inversion",
        about: "RGBA bytes inverted in place, alpha kept",
        axes: &["width", "height"],
        dtypes: &[DType::U8],
        large: &[4096, 5120],
        bench: &[&[4096, 5120]],
        kernels: &["color_inversion", "color_inversion_bytes"],
        make: reorder::color_inversion,
    },
    Operation {
        name: "rainbow_table",
        about: "rounds of FNV-1a on each value",
        axes: &["n", "rounds"],
        dtypes: I32,
        large: &[5_000_000, 10],
        bench: &[&[5_000_000, 10]],
        kernels: &["rainbow_table"],
        make: elementwise::rainbow_table,
    },
    Operation {
        name: "matrix_transpose",
        about: "y[c, r] = x[r, c]",
        axes: MATRIX,
        dtypes: F32,
        large: &[7000, 6000],
        bench: &[&[7000, 6000], &[16384, 16384]],
        kernels: &["matrix_transpose"],
        make: reorder::matrix_transpose,
    },
    Operation {
        name: "convolution_1d",
        about: "valid convolution, any kernel length",
        axes: &["n", "taps"],
        dtypes: F32,
        large: &[1_500_000, 2047],
        bench: &[&[1_500_000, 2047], &[1 << 24, 31]],
        kernels: &["convolution_1d"],
        make: convolution::convolution_1d,
    },
    Operation {
        name: "reduction",
        about: "the sum of an array",
        axes: N,
        dtypes: F32,
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["reduction"],
        make: reduce::reduction,
    },
    Operation {
        name: "count_array_element",
        about: "how many elements equal k",
        axes: N,
        dtypes: I32,
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["count_array_element"],
        make: reduce::count_array_element,
    },
    Operation {
        name: "count_2d_array_element",
        about: "how many elements of a matrix equal k",
        axes: MATRIX,
        dtypes: I32,
        large: &[5000, 5000],
        bench: &[&[10_000, 10_000]],
        kernels: &["count_2d_array_element"],
        make: reduce::count_2d_array_element,
    },
    Operation {
        name: "softmax_1d",
        about: "softmax over a whole array",
        axes: N,
        dtypes: F32,
        large: &[25_000_000],
        bench: &[&[500_000], &[1 << 20], &[25_000_000], &[1 << 28]],
        kernels: &["softmax_1d_partial", "softmax_1d_apply"],
        make: softmax::softmax_1d,
    },
    Operation {
        name: "softmax_rows",
        about: "softmax of every row",
        axes: MATRIX,
        dtypes: FLOATS,
        large: &[4096, 4096],
        bench: &[&[4096, 781], &[4096, 1024], &[4096, 4096], &[4096, 12672], &[4096, 32768], &[1024, 131072]],
        kernels: &["softmax_row", "softmax_rows_packed", "softmax_rows_wide"],
        make: softmax::softmax_rows,
    },
    Operation {
        name: "softmax_rows_backward",
        about: "the gradient of softmax_rows",
        axes: MATRIX,
        dtypes: FLOATS,
        large: &[4096, 4096],
        bench: &[&[65536, 64], &[4096, 1024], &[4096, 4096], &[4096, 12672], &[1024, 131072]],
        kernels: &["softmax_gradient"],
        make: softmax::softmax_rows_backward,
    },
    embedding("embedding", "rows of a table by index", &["embedding"], embeddings::embedding),
    embedding(
        "embedding_backward",
        "the gradient of embedding is added to that of its table",
        &["embedding_gradient"],
        embeddings::embedding_backward,
    ),
    rope("rope", "rotary position embedding, of element i and half + i", &["rope"], embeddings::rope),
    rope(
        "rope_interleaved",
        "rotary position embedding, of element 2 i and 2 i + 1",
        &["rope_interleaved"],
        embeddings::rope_interleaved,
    ),
    rope("rope_backward", "the gradient of rope", &["rope"], embeddings::rope_backward),
    rope(
        "rope_interleaved_backward",
        "the gradient of rope_interleaved",
        &["rope_interleaved"],
        embeddings::rope_interleaved_backward,
    ),
    Operation {
        name: "cross_entropy",
        about: "the loss of each row of logits, and the logarithm of its sum of exponentials",
        axes: MATRIX,
        dtypes: FLOATS,
        large: &[2048, 32768],
        bench: &[&[8192, 128256], &[16384, 32000], &[65536, 1024]],
        kernels: &["cross_entropy"],
        make: losses::cross_entropy,
    },
    Operation {
        name: "cross_entropy_backward",
        about: "the gradient of cross_entropy",
        axes: MATRIX,
        dtypes: FLOATS,
        large: &[2048, 32768],
        bench: &[&[8192, 128256], &[16384, 32000], &[65536, 1024]],
        kernels: &["cross_entropy_gradient"],
        make: losses::cross_entropy_backward,
    },
    norm("layer_norm", "rows less their mean, over their deviation", &["layer_norm"], norms::layer_norm),
    norm("rms_norm", "rows over their root mean square", &["rms_norm"], norms::rms_norm),
    norm("add_rms_norm", "the sum of two matrices, and its rms_norm", &["add_rms_norm"], norms::add_rms_norm),
    norm(
        "layer_norm_backward",
        "the gradients of layer_norm",
        &[
            "layer_norm_gradient",
            "layer_norm_partial_moments",
            "layer_norm_moments",
            "layer_norm_gradient_of_columns",
            "sums_of_programs",
        ],
        norms::layer_norm_backward,
    ),
    norm(
        "rms_norm_backward",
        "the gradients of rms_norm",
        &[
            "rms_norm_gradient",
            "rms_norm_partial_moments",
            "rms_norm_moments",
            "rms_norm_gradient_of_columns",
            "sums_of_programs",
        ],
        norms::rms_norm_backward,
    ),
    product(
        "matmul",
        "C = A B",
        FACTORS,
        &[
            "matmul_nn",
            "matmul_f32",
            "matmul_f32_nn",
            "matmul_f32_3xtf32_nn",
            "matmul_row_nn",
            "matmul_outer",
            "matmul_i8",
            "matmul_f16_i8",
            "matmul_f8",
            "matmul_f16_f8",
            "upcast_to_f16",
        ],
        matmul::matmul::<false, false>,
    ),
    product(
        "matmul_nt",
        "C = A Bt",
        FACTORS,
        &["matmul_nt", "matmul_f32", "matmul_f32_3xtf32_nt", "matmul_row_nt", "matmul_outer", "matmul_i8", "matmul_f8"],
        matmul::matmul::<false, true>,
    ),
    product(
        "matmul_tn",
        "C = At B",
        FACTORS,
        &["matmul_tn", "matmul_f32", "matmul_f32_tn", "matmul_outer_t", "matmul_i8", "matmul_f8"],
        matmul::matmul::<true, false>,
    ),
    product(
        "matmul_tt",
        "C = At Bt",
        FACTORS,
        &["matmul_tt", "matmul_f32", "matmul_outer_t", "matmul_i8", "matmul_f8"],
        matmul::matmul::<true, true>,
    ),
    product(
        "matmul_tf32",
        "C = A B of operands rounded to tf32",
        F32,
        &["matmul_tf32", "matmul_tf32_nn"],
        matmul::tf32::<false, false>,
    ),
    product(
        "matmul_tf32_nt",
        "C = A Bt of operands rounded to tf32",
        F32,
        &["matmul_tf32"],
        matmul::tf32::<false, true>,
    ),
    product(
        "matmul_tf32_tn",
        "C = At B of operands rounded to tf32",
        F32,
        &["matmul_tf32", "matmul_tf32_nn", "matmul_tf32_tt", "matmul_tf32_tn"],
        matmul::tf32::<true, false>,
    ),
    product(
        "matmul_tf32_tt",
        "C = At Bt of operands rounded to tf32",
        F32,
        &["matmul_tf32_tt", "matmul_tf32"],
        matmul::tf32::<true, true>,
    ),
    product(
        "matrix_multiplication",
        "C = A B to the accuracy of f32",
        F32,
        &[
            "matmul_f32",
            "matmul_f32_nn",
            "matmul_f32_3xtf32_presplit",
            "matmul_f32_3xtf32_nn",
            "matmul_row_nn",
            "matmul_outer",
            "tf32_decompose",
            "tf32_decompose_transposed",
        ],
        matmul::matrix_multiplication,
    ),
    product(
        "matmul_relu",
        "C = max(A B, 0)",
        FACTORS,
        &[
            "matmul_nn",
            "matmul_f32",
            "matmul_f32_nn",
            "matmul_f32_3xtf32_nn",
            "matmul_row_nn",
            "matmul_outer",
            "matmul_i8",
            "matmul_f16_i8",
            "matmul_f8",
            "matmul_f16_f8",
            "upcast_to_f16",
        ],
        matmul::relu,
    ),
    product(
        "matmul_leaky_relu",
        "C = A B, or 0.01 A B where that is negative",
        INEXACT,
        &[
            "matmul_nn",
            "matmul_f32",
            "matmul_f32_nn",
            "matmul_f32_3xtf32_nn",
            "matmul_row_nn",
            "matmul_outer",
            "matmul_f8",
            "matmul_f16_f8",
            "upcast_to_f16",
        ],
        matmul::leaky_relu,
    ),
    product("gemm", "C = alpha A B + beta C", &[DType::F16], &["gemm", "scaled_product"], gemm::gemm),
    Operation {
        name: "batched_matmul",
        about: "C[i] = A[i] B[i]",
        axes: &["batch", "m", "n", "k"],
        dtypes: &[DType::F16, DType::BF16, DType::F32],
        large: &[64, 1024, 1024, 1024],
        bench: &[&[64, 1024, 1024, 1024], &[512, 256, 256, 256]],
        kernels: &["batched_matmul", "batched_matmul_f32", "batched_matmul_f32_3xtf32"],
        make: gemm::batched_matmul,
    },
    grouped(
        "grouped_matmul",
        "C[r] = A[r] B[g] for the rows r of group g",
        &["grouped_matmul_nn"],
        grouped::grouped_matmul,
    ),
    grouped(
        "grouped_matmul_nt",
        "C[r] = A[r] B[g]^T for the rows r of group g",
        &["grouped_matmul_nt"],
        grouped::grouped_matmul_nt,
    ),
    product(
        "matmul_int8",
        "C = A B of quantized matrices, quantized",
        &[DType::I8],
        &["matmul_int8", "matmul_f16_i8", "upcast_to_f16", "quantize", "int8_row_sums"],
        gemm::matmul_int8,
    ),
    Operation {
        name: "attention",
        about: "O = softmax(scale Q K^T) V of every head",
        axes: &["heads", "queries", "keys", "d"],
        dtypes: &[DType::F16, DType::BF16],
        large: &[32, 4096, 4096, 128],
        bench: &[
            &[64, 4096, 4096, 64],
            &[64, 4096, 4096, 128],
            &[16, 16384, 16384, 128],
            &[256, 1024, 1024, 128],
            &[32, 1, 8192, 128],
        ],
        kernels: &["attention_64", "attention_128", "attention_split_kv_64", "attention_split_kv_128"],
        make: attention::attention,
    },
    Operation {
        name: "dot_product",
        about: "the sum of a[i] b[i]",
        axes: N,
        dtypes: &[DType::F16],
        large: &[25_000_000],
        bench: LENGTHS,
        kernels: &["dot_product"],
        make: gemm::dot_product,
    },
    Operation {
        name: "align_operand",
        about: "y = x, and transposed, whatever the strides",
        axes: MATRIX,
        dtypes: &[DType::U16, DType::U8, DType::U32],
        large: &[4095, 4099],
        bench: &[&[4095, 4099], &[8191, 8193]],
        kernels: &["align_operand", "align_operand_transposed"],
        make: gemm::align_operand,
    },
    Operation {
        name: "align_operands",
        about: "y = x and v = u, each transposed or not, in one launch",
        axes: MATRIX,
        dtypes: &[DType::U16, DType::U8, DType::U32],
        large: &[4095, 4099],
        bench: &[&[4095, 4099]],
        kernels: &["align_operands_nn", "align_operands_nt", "align_operands_tn", "align_operands_tt"],
        make: gemm::align_operands,
    },
];

/// There is no operation of a name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no operation `{name}`{}: `tile list` shows all", self.question())]
pub struct UnknownOperation {
    /// The name as it was given.
    pub name: String,
    /// Operations with a similar name.
    pub meant: Vec<&'static str>,
}

impl UnknownOperation {
    fn question(&self) -> String {
        if self.meant.is_empty() { String::new() } else { format!(" (did you mean {}?)", self.meant.join(" or ")) }
    }
}

impl Operation {
    /// The operation of a name.
    pub fn find(name: &str) -> Result<&'static Operation, UnknownOperation> {
        let meant = || super::nearest::nearest(name, OPERATIONS.iter().map(|o| o.name));
        OPERATIONS.iter().find(|o| o.name == name).ok_or_else(|| UnknownOperation { name: name.into(), meant: meant() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::problem::Setup;
    use tilewright_runtime::Runtime;

    #[test]
    fn kernels_of_a_dtype() {
        let names = |dtype| Operation::find("matmul").unwrap().descs(dtype).iter().map(|d| d.name).collect::<Vec<_>>();
        assert_eq!(names(DType::F16), ["matmul_nn", "matmul_row_nn", "matmul_outer"]);
        // Its left operand comes as f16.
        assert_eq!(names(DType::I8), ["upcast_to_f16", "matmul_i8", "matmul_f16_i8"]);
        assert!(names(DType::F32).contains(&"matmul_f32") && !names(DType::F32).contains(&"matmul_i8"));
    }

    #[test]
    fn a_second_launch_changes_what_is_in_place() {
        let rt = Runtime::cpu();
        for op in OPERATIONS {
            let size: Vec<u64> = op.axes.iter().map(|_| 9).collect();
            let mut problem = op.prepare(&rt, &Setup::plain(op.dtypes[0], &size, 1)).unwrap();
            let on = tilewright_ops::ExecOptions::new(&rt);
            problem.launch(&on).unwrap();
            assert!(problem.check().unwrap().passed(), "{}", op.name);
            problem.launch(&on).unwrap();
            assert_eq!(problem.check().unwrap().passed(), !op.in_place(), "{}", op.name);
        }
    }
}
