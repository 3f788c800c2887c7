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
//! - `ops`: the operations, `tilewright::ops`. `ops-attention`, `ops-convolutions`, `ops-elementwise`,
//!   `ops-embeddings`, `ops-losses`, `ops-norms`, `ops-products`, `ops-reductions` and `ops-softmax` are the operations
//!   of one family, whose kernels alone are compiled.
//! - `build`: `tilewright::build`, for build scripts.
#![warn(missing_docs)]

#[cfg(feature = "runtime")]
pub mod grid;
#[cfg(feature = "runtime")]
pub mod random;

/// Descriptors of kernels, bundles of compiled code, scalar operations, the emulated SM.
#[cfg(feature = "runtime")]
pub use tilewright_core as kernel;
#[cfg(feature = "runtime")]
pub use tilewright_core::{bf16, f8e4m3, f8e5m2, f16};
/// # Examples
/// The crate `first` with one kernel, whose build script is `fn main() { tilewright::build::compile() }`:
/// ```ignore
/// // src/lib.rs
/// pub mod copy; // it has the kernel `copy`
/// tilewright::kernels!();
///
/// #[test]
/// fn the_kernels() {
///     let names: Vec<_> = all().iter().map(|k| k.name).collect();
///     assert_eq!((names, SOURCES.len()), (vec!["copy"], 1));
/// }
/// ```
#[cfg(feature = "runtime")]
pub use tilewright_macros::kernels;
/// # Examples
/// A kernel for two types, with two configurations:
/// ```
/// use tilewright::{Buffer, Runtime, f16, tile_kernel};
///
/// /// y = a·x, element by element.
/// #[tile_kernel(
///     types(T = [f32, f16]),
///     tune(BLOCK = [1024, 2048], warps = [4]),
///     grid = [cdiv(y.len(), BLOCK)],
/// )]
/// pub fn scale<T: Float, const BLOCK: usize>(a: f32, x: &[T], y: &mut [T]) {
///     let i = program_id(0) * BLOCK + arange(BLOCK);
///     let v = load(x, i).to::<f32>();
///     store(y, i, (a * v).to::<T>());
/// }
///
/// let rt = Runtime::cpu();
/// let x = Buffer::from_slice(&rt, &[1.0, 2.0].map(f16::from_f32))?;
/// let mut y = Buffer::<f16>::zeros(&rt, 2)?;
/// rt.launch(scale(3.0, &x, &mut y))?;
/// assert_eq!(y.to_vec()?, [3.0, 6.0].map(f16::from_f32));
///
/// // A module of the kernel's name has a descriptor for each type.
/// let ids: Vec<_> = scale::DESCS[0].configs.iter().map(|c| c.id).collect();
/// assert_eq!((scale::DESCS.len(), ids), (2, vec!["BLOCK=1024,warps=4", "BLOCK=2048,warps=4"]));
/// # Ok::<(), tilewright::Error>(())
/// ```
/// The caller of an `unsafe fn` kernel vouches for its pointers:
/// ```
/// use tilewright::{Runtime, tile_kernel};
///
/// /// # Safety
/// /// `p` addresses `n` elements, which nothing else uses.
/// #[tile_kernel(grid = [cdiv(n, 64)])]
/// pub unsafe fn ones(p: *mut f32, n: usize) {
///     let i = program_id(0) * 64 + arange(64);
///     store(p.add(i), 1.0).mask(i < n);
/// }
///
/// let mut y = vec![0.0f32; 100];
/// // SAFETY: the elements of `y`, which is not used until the launch is done.
/// Runtime::cpu().launch(unsafe { ones(y.as_mut_ptr(), 100) })?;
/// assert_eq!(y, [1.0; 100]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[cfg(feature = "runtime")]
pub use tilewright_macros::tile_kernel;
/// # Examples
/// ```standalone_crate
/// use tilewright::{Error, Runtime, tile_library, tile_module};
///
/// #[tile_library]
/// pub mod activations {
///     pub enum Activation {
///         Relu,
///         LeakyRelu,
///     }
///
///     fn activate<const ACTIVATION: Activation>(x: Tile<f32>) -> Tile<f32> {
///         match ACTIVATION {
///             Activation::Relu => maximum(x, 0.0),
///             Activation::LeakyRelu => where_(x < 0.0, 0.5 * x, x),
///         }
///     }
/// }
///
/// #[tile_module(use crate::activations)]
/// pub mod kernels {
///     #[tile_kernel(kernel(relu, ACTIVATION = Relu), kernel(leaky_relu, ACTIVATION = LeakyRelu), grid = [1])]
///     pub fn activated<const ACTIVATION: Activation>(x: &[f32], y: &mut [f32]) {
///         store(y, arange(2), activate::<ACTIVATION>(load(x, arange(2))));
///     }
/// }
///
/// fn main() -> Result<(), Error> {
///     let (rt, mut y) = (Runtime::cpu(), [0.0; 2]);
///     rt.launch(kernels::relu(&[-2.0, 2.0], &mut y))?;
///     assert_eq!(y, [0.0, 2.0]);
///     rt.launch(kernels::leaky_relu(&[-2.0, 2.0], &mut y))?;
///     assert_eq!(y, [-1.0, 2.0]);
///     Ok(())
/// }
/// ```
#[cfg(feature = "runtime")]
pub use tilewright_macros::tile_library;
/// # Examples
/// ```
/// use tilewright::{Runtime, tile_module};
///
/// #[tile_module]
/// mod kernels {
///     const HALF: f32 = 0.5;
///
///     fn blend(a: Tile<f32>, b: Tile<f32>) -> Tile<f32> {
///         HALF * a + (1.0 - HALF) * b
///     }
///
///     #[tile_kernel(grid = [1])]
///     pub fn blend_all(a: &[f32], b: &[f32], y: &mut [f32]) {
///         store(y, arange(2), blend(load(a, arange(2)), load(b, arange(2))));
///     }
/// }
///
/// let mut y = [0.0; 2];
/// Runtime::cpu().launch(kernels::blend_all(&[1.0, 2.0], &[3.0, 6.0], &mut y))?;
/// assert_eq!(y, [2.0, 4.0]);
/// # Ok::<(), tilewright::Error>(())
/// ```
#[cfg(feature = "runtime")]
pub use tilewright_macros::tile_module;
/// Typed operations: shapes are checked, scratch is provided, the kernel is chosen, the work is enqueued.
#[cfg(any(
    feature = "ops-attention",
    feature = "ops-convolutions",
    feature = "ops-elementwise",
    feature = "ops-embeddings",
    feature = "ops-losses",
    feature = "ops-norms",
    feature = "ops-products",
    feature = "ops-reductions",
    feature = "ops-softmax",
))]
pub use tilewright_ops as ops;
#[cfg(feature = "runtime")]
#[doc(inline)]
pub use tilewright_runtime::{
    AsSlice, AsSliceMut, AsView, AsViewMut, BackendKind, BindError, Buffer, Call, DType, Device, DeviceId, DriverError,
    Element, Error, ErrorKind, Event, Extension, ExternalSlice, ExternalSliceMut, Graph, LaunchOptions, Launcher,
    Limits, Multiprocessor, Pdl, RawArg, Result, Runtime, Scratch, Stream, ViewError, cuda_status, dlpack, tuning,
    workload,
};

/// The functions of build scripts.
///
/// # Examples
/// ```no_run
/// // The `main` of build.rs:
/// tilewright::build::compile();
/// ```
#[cfg(feature = "build")]
pub mod build {
    pub use tilewright_build::{BuildError, Report, Settings, Target, compile};
}

/// The items that expanded kernels name.
#[cfg(feature = "runtime")]
#[doc(hidden)]
pub mod __private {
    pub use tilewright_core::*;
    pub use tilewright_lang as lang;
    pub use tilewright_macros::tile_module_with;
}
