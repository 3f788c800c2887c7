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
// Without some of the families, which are all on by default, parts of the planner have no user.
#![cfg_attr(not(feature = "default"), allow(dead_code))]

mod by_type;
mod check;
mod decide;
mod kernel_plan;
mod launch;
mod planner;
mod resources;
mod samples;
mod stream_k;
mod tma;
mod workload;

#[cfg(feature = "attention")]
mod attention;
#[cfg(feature = "convolutions")]
mod convolution;
#[cfg(feature = "elementwise")]
mod elementwise;
#[cfg(feature = "embeddings")]
mod embeddings;
#[cfg(feature = "losses")]
mod losses;
#[cfg(feature = "elementwise")]
mod matrix;
#[cfg(feature = "norms")]
mod norms;
#[cfg(feature = "products")]
mod products;
#[cfg(feature = "elementwise")]
mod rainbow;
#[cfg(feature = "reductions")]
mod reduce;
#[cfg(feature = "elementwise")]
mod reorder;
#[cfg(feature = "softmax")]
mod softmax;

pub use crate::planner::fit::{FittedModel, Miss, Quality};
pub use launch::{ExecOptions, Executor, PinnedConfig, TuningLog};
pub use samples::{Sample, SampledCall, Samples};

#[cfg(feature = "attention")]
pub use attention::{Attend, Attention};
#[cfg(feature = "convolutions")]
pub use convolution::convolution_1d;
#[cfg(feature = "elementwise")]
pub use elementwise::{Float, dropout, gelu, leaky_relu, matrix_copy, relu, swiglu, swiglu_backward, vector_add};
#[cfg(feature = "embeddings")]
pub use embeddings::{Embed, Rope, embedding, embedding_backward};
#[cfg(feature = "losses")]
pub use losses::{Logit, cross_entropy, cross_entropy_backward};
#[cfg(feature = "elementwise")]
pub use matrix::matrix_transpose;
#[cfg(feature = "norms")]
pub use norms::{Normalize, add_rms_norm, layer_norm, layer_norm_backward, rms_norm, rms_norm_backward};
#[cfg(feature = "products")]
pub use products::{
    BatchMultiply, BatchedMatmul, Bits, Epilogue, GroupMultiply, Matmul, MatmulPlan, Multiply, Precision, Prediction,
    Quantization, Transpose, align_operand, align_operands, batched_matmul, grouped_matmul, matmul_int8,
};
#[cfg(feature = "elementwise")]
pub use rainbow::rainbow_table;
#[cfg(feature = "reductions")]
pub use reduce::{count_2d_array_element, count_array_element, dot_product, reduction};
#[cfg(feature = "elementwise")]
pub use reorder::{color_inversion, reverse_array};
#[cfg(feature = "softmax")]
pub use softmax::{Softmax, softmax_1d, softmax_rows, softmax_rows_backward};
pub use workload::tune_recorded;
