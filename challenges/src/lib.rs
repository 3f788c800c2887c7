//! Operations of public challenges, written as a user of the crate `tilewright` writes them: kernels, and a typed
//! function for each operation.
//!
//! The first argument of every function is a [`Queue`]: a runtime, or a runtime and a stream. Arrays are buffers, parts
//! of buffers, and on the CPU slices and vectors of the host; they are contiguous and row-major. Shapes are checked
//! before anything is enqueued, so that an error leaves the output as it was.
//!
//! # Errors
//! Every function returns [`Error::Shape`](tilewright::Error::Shape) if lengths do not fit together, and the errors of
//! a launch: memory of another device, an output that overlaps an input, no code for the device.
//!
//! # Examples
//! ```
//! use tilewright::{Buffer, Runtime, Stream};
//! use tilewright_challenges::{sigmoid, softmax_cross_entropy};
//!
//! let rt = Runtime::cpu();
//! let x = Buffer::from_slice(&rt, &[0.0f32, 1000.0, -1000.0])?;
//! let mut y = Buffer::<f32>::zeros(&rt, 3)?;
//! sigmoid(&rt, &x, &mut y)?;
//! assert_eq!(y.to_vec()?, [0.5, 1.0, 0.0]);
//!
//! let stream = Stream::new(&rt)?;
//! let mut loss = Buffer::<f32>::zeros(&rt, 1)?;
//! softmax_cross_entropy(&(&rt, &stream), &x, &[1], &mut loss)?;
//! assert_eq!(loss.to_vec_on(&stream)?, [0.0]);
//! # Ok::<(), tilewright::Error>(())
//! ```
#![warn(missing_docs)]

mod attention;
mod check;
mod elementwise;
#[allow(missing_docs)]
pub mod kernels;
mod losses;
mod norms;
mod pairs;
mod queue;
mod rows;
mod scans;
mod sorts;
mod stencil;
mod sums;

pub use attention::{Int8Cache, int8_kv_cache_attention};
pub use elementwise::{
    geglu, interleave, matrix_addition, rgb_to_grayscale, rope_embedding, sigmoid, silu, swiglu, value_clipping,
    weight_dequantization,
};
pub use losses::{
    dpo_sequence_loss, grpo_surrogate_loss, mean_squared_error, ppo_clipped_surrogate_loss, softmax_cross_entropy,
};
pub use norms::{EmbeddingTables, batch_normalization, group_normalization, rms_normalization, token_embedding_layer};
pub use pairs::{multi_agent_sim, nearest_neighbor};
pub use queue::Queue;
pub use rows::{matrix_vector_product, moe_topk_gating};
pub use scans::{
    SelectiveScan, gae_reverse_scan, linear_recurrence, max_subarray_sum, prefix_sum, segmented_prefix_sum,
    ssm_selective_scan, stream_compaction,
};
pub use sorts::{histogramming, parallel_merge, radix_sort, sorted, sorting, top_k_selection};
pub use stencil::{
    Pooling, causal_depthwise_conv1d, convolution_2d, convolution_3d, gaussian_blur, jacobi_stencil_2d, max_pooling_2d,
};
pub use sums::{count_elements, dot_product, monte_carlo_integration, subarray_sum, subarray_sum_3d};

tilewright::kernels!();
