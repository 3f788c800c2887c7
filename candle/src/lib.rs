//! Tile kernels, and the operations of [`tilewright`], as operations of [candle](candle_core).
//!
//! - [`custom_op!`] makes a `CustomOp1`, `CustomOp2` or `CustomOp3` of a kernel: on the CPU, on the GPU, and with a
//!   gradient that another operation computes.
//! - The functions of this crate are operations that models need, with the arguments of candle's own where these exist.
//!
//! ```
//! use candle_core::{DType, Device, Result, Tensor};
//! use tilewright_candle::{flash_attn, rms_norm};
//!
//! # fn main() -> Result<()> {
//! let x = Tensor::randn(0.0f32, 1.0, (1, 5, 4, 64), &Device::Cpu)?; // batch, tokens, heads, elements of a head
//! let x = rms_norm(&x, &Tensor::ones(64, DType::F32, &Device::Cpu)?, 1e-5)?.to_dtype(DType::BF16)?;
//! let y = flash_attn(&x, &x, &x, 0.125, true)?;
//! assert_eq!(y.dims(), [1, 5, 4, 64]);
//! # Ok(())
//! # }
//! ```
//!
//! # Devices
//! On the CPU a kernel reads candle's memory where it is and runs on all cores. With the feature `cuda` it runs on
//! candle's GPU and stream, so that it keeps its order with candle's own kernels. Build scripts compile kernels ahead
//! of time; `nvcc` is needed by candle alone.
//!
//! `Device::new_cuda` takes the thread's default stream. Kernels then go to the legacy default stream: the driver lets
//! the two wait for each other. `Device::new_cuda_with_stream` has a stream of its own, which kernels share. That
//! stream is faster, and CUDA graphs capture it.
//!
//! # Layouts
//! Operations that take views read tensors of any strides where they are, broadcast dimensions included:
//! [`flash_attn`], [`flash_attn_varlen`], [`int8_matmul`], and operations of [`custom_op!`] with
//! [`View`]. The functions of the others copy strided tensors first, by `Tensor::contiguous`. An operation that is
//! applied to a strided tensor and takes slices returns
//! [`RequiresContiguous`](candle_core::Error::RequiresContiguous). Results are contiguous.
//!
//! # Errors
//! Dtypes and shapes are checked before the result is allocated, with candle's errors. An error of a launch is a
//! [`WrappedContext`](candle_core::Error::WrappedContext) whose `wrapped` is a [`tilewright::Error`].
//!
//! # Features
//! - `cuda`: the GPU.
//! - `attention` and `products` (both default): attention, and products of bytes. Their kernels take longest to
//!   compile.
#![deny(missing_docs)]

mod activations;
mod argument;
#[cfg(feature = "attention")]
mod attention;
mod check;
mod cpu;
#[cfg(feature = "cuda")]
mod cuda;
mod element;
mod embedding;
mod failure;
#[cfg(feature = "products")]
mod int8;
#[allow(missing_docs)]
mod kernels;
mod losses;
mod macros;
mod norms;
mod operation;
#[doc(hidden)]
pub mod private;
mod rope;
mod softmax;
mod sort;

pub use activations::swiglu;
pub use argument::{Input, InputType, Output, OutputType, View, ViewMut};
#[cfg(feature = "attention")]
pub use attention::{flash_attn, flash_attn_varlen};
pub use element::TensorElement;
pub use embedding::embedding;
pub use failure::{Failure, LaunchResult};
#[cfg(feature = "products")]
pub use int8::{Int8Linear, int8_matmul, quantize_rows};
pub use losses::{cross_entropy, cross_entropy_rows};
pub use norms::{add_rms_norm, layer_norm, layer_norm_no_bias, rms_norm};
pub use operation::{Operation, Tensors, apply, apply_no_bwd};
pub use rope::{rope, rope_i, rope_thd};
pub use softmax::{softmax, softmax_last_dim};
pub use sort::{arg_sort_last_dim, sort_last_dim};
