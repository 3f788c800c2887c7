//! Matrix products: alone, in batches, quantized.

mod align_operand;
mod batched;
mod candidates;
mod f32_3xtf32;
mod gemm;
mod grouped;
pub(crate) mod kernels;
mod matmul;
mod mixed_input;
mod multiply;
mod multiply_adds;
mod one_product;
mod plan;
mod prediction;
mod product;
mod quantized;
mod scratch_matrix;
#[cfg(test)]
mod shipped;

pub use align_operand::{Bits, align_operand, align_operands};
pub use batched::{BatchMultiply, BatchedMatmul, batched_matmul};
pub use grouped::{GroupMultiply, grouped_matmul};
pub use matmul::{Epilogue, Matmul, Precision};
pub use multiply::Multiply;
pub use plan::MatmulPlan;
pub use prediction::Prediction;
pub use product::Transpose;
pub use quantized::{Quantization, matmul_int8};
