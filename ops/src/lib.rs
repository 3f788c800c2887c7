//! One function per operation: shapes are checked, scratch is provided, the kernel is chosen, the work is enqueued.
//! [`Matmul`] is a builder, because a product has many options.
//!
//! The first argument of every function, and the only one of [`Matmul::launch`], is a
//! [`Runtime`](tilewright_runtime::Runtime) (its default stream) or an [`ExecOptions`], which has a stream or a
//! configuration. Sizes are numbers of elements. Arrays are all types with [`AsSlice`](tilewright_core::AsSlice):
//! buffers, parts of buffers, and on the CPU host slices and vectors. A length of zero is a success that touches
//! nothing (the sum of nothing is 0).
//!
//! # Examples
//! ```
//! use tilewright::{Buffer, Runtime, Stream, ops};
//!
//! let rt = Runtime::cpu();
//! let x = Buffer::from_slice(&rt, &[1.0f32, -2.0])?;
//! let mut y = Buffer::<f32>::zeros(&rt, 2)?;
//! ops::relu(&rt, &x, &mut y)?;                                  // on the default stream
//! let stream = Stream::new(&rt)?;
//! ops::relu(&ops::ExecOptions::new(&rt).stream(&stream), &x, &mut y)?;   // on another one
//! assert_eq!(y.to_vec_on(&stream)?, [1.0, 0.0]);
//! # Ok::<(), tilewright::Error>(())
//! ```
//!
//! # Errors
//! [`Error::Shape`](tilewright_runtime::Error::Shape) where lengths do not fit together,
//! [`Error::InvalidArgument`](tilewright_runtime::Error::InvalidArgument) for an argument outside its limits, and the
//! errors of a launch: memory of another device, overlap of an output, no code for this device, out of memory. After an
//! error nothing has been enqueued, except where a later launch of an operation of several launches fails: then the
//! output is unspecified.
#![warn(missing_docs)]

mod align_operand;
mod attention;
mod batched;
mod candidates;
mod check;
mod convolution;
mod decide;
mod elementwise;
mod f32_3xtf32;
mod gemm;
mod kernel_plan;
mod launch;
mod matmul;
mod matrix;
mod mixed_input;
mod multiply;
mod plan;
mod planner;
mod prediction;
mod product;
mod quantized;
mod rainbow;
mod reduce;
mod reorder;
mod resources;
mod samples;
mod scratch_matrix;
mod softmax;
mod stream_k;
mod tma;

pub use crate::planner::fit::{FittedModel, Miss, Quality};
pub use align_operand::{Bits, align_operand, align_operands};
pub use attention::{Attend, Attention};
pub use batched::{BatchMultiply, BatchedMatmul, batched_matmul};
pub use convolution::convolution_1d;
pub use elementwise::{Float, gelu, leaky_relu, matrix_copy, relu, vector_add};
pub use launch::{ExecOptions, Executor, PinnedConfig, TuningLog};
pub use matmul::{Epilogue, Matmul, Precision};
pub use matrix::matrix_transpose;
pub use multiply::Multiply;
pub use plan::MatmulPlan;
pub use prediction::Prediction;
pub use product::Transpose;
pub use quantized::{Quantization, matmul_int8};
pub use rainbow::rainbow_table;
pub use reduce::{count_2d_array_element, count_array_element, dot_product, reduction};
pub use reorder::{color_inversion, reverse_array};
pub use samples::{Sample, SampledCall, Samples};
pub use softmax::{softmax_1d, softmax_rows};
