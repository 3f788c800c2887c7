//! GPU kernels written as Rust functions on *tiles*: arrays that one thread block works on as a whole, as in Triton.
//!
//! ```
//! use tilewright::{Buffer, Runtime, tile_kernel};
//!
//! #[tile_kernel(tune(BLOCK = [1024], warps = [4]), grid = [cdiv(y.len(), BLOCK)])]
//! fn axpy<const BLOCK: usize>(a: f32, x: &[f32], y: &mut [f32]) {
//!     let i = program_id(0) * BLOCK + arange(BLOCK);
//!     store(y, i, a * load(x, i) + load(y, i));
//! }
//!
//! let rt = Runtime::cpu(); // Runtime::new() takes a GPU where there is one
//! let x = Buffer::from_slice(&rt, &[1.0f32, 2.0])?;
//! let mut y = Buffer::from_slice(&rt, &[10.0f32, 20.0])?;
//! rt.launch(axpy(2.0, &x, &mut y))?;
//! assert_eq!(y.to_vec()?, [12.0, 24.0]);
//! # Ok::<(), tilewright::Error>(())
//! ```
//!
//! A crate with kernels has `tilewright` as a dependency and, with the feature `build`, as a build dependency. Its
//! build script is `fn main() { tilewright::build::compile() }`.
//!
//! # Features
//! - `cuda` (default): launches on the GPU. It implies `runtime`: buffers, streams, launches and the attributes of
//!   kernels.
//! - `cudarc`: streams and slices of cudarc as arguments.
//! - `emulator`: `Runtime::emulator`, which runs the GPU code of kernels on the host and reports races.
//! - `ops`: the operations, `tilewright::ops`.
//! - `build`: `tilewright::build`, for build scripts.

/// What kernels are made of: descriptors, bundles, scalar operations.
#[cfg(feature = "runtime")]
pub use tilewright_core as kernel;
#[cfg(feature = "runtime")]
pub use tilewright_core::{ConfigDesc, RawArg, bf16, f8e4m3, f8e5m2, f16};
#[cfg(feature = "runtime")]
pub use tilewright_macros::{kernels, tile_kernel, tile_library, tile_module};
#[cfg(feature = "runtime")]
pub use tilewright_runtime::*;

/// What build scripts call.
#[cfg(feature = "build")]
pub mod build {
    pub use tilewright_build::{BuildError, Report, Settings, Target, compile};
}

/// What expanded kernels name.
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod __private {
    pub use tilewright_core::*;
    pub use tilewright_lang as lang;
    pub use tilewright_macros::tile_module_with;
}
