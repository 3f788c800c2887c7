//! Compiles a crate's kernels for the GPU.
//!
//! The build script of a crate with kernels is one line; [`Settings`] has options. The crate `tilewright` re-exports
//! this one as `tilewright::build`, with the feature `build`.
//! ```no_run
//! // The `main` of build.rs:
//! tilewright_build::compile();
//! ```
//!
//! If the device toolchain is missing, the build goes on with a warning that says how to get it; the kernels then run
//! on the CPU only. See [`Settings::from_env`] for the environment variables.
//!
//! [`host_code`] writes the code of kernels for the host, which their macros include. The way of a kernel to the
//! device: [`units`] asks the compiler for the lowered code of every kernel in the crate, [`prebuilt`] makes `core` and
//! `tilewright_core` for the device, [`compile`](mod@compile) turns each unit into PTX with bare `rustc`, [`ptx`] takes
//! the PTX apart into one file per entry, [`ptxas`] assembles it, and [`bundle`] packs the lot. Every product is kept
//! in a [`cache`] under the hash of its inputs.
#![warn(missing_docs)]

#[doc(hidden)]
pub mod cache;
#[doc(hidden)]
pub mod files;
#[doc(hidden)]
pub mod ptxas;
#[doc(hidden)]
pub mod toolchain;

#[cfg(feature = "compile")]
mod archive;
#[cfg(feature = "compile")]
mod assemble;
#[cfg(feature = "compile")]
mod bundle;
#[cfg(feature = "compile")]
mod cargo;
#[cfg(feature = "compile")]
mod compile;
#[cfg(feature = "compile")]
mod dependencies;
#[cfg(feature = "compile")]
mod host_code;
#[cfg(feature = "compile")]
mod pool;
#[cfg(feature = "compile")]
mod prebuilt;
#[cfg(feature = "compile")]
#[doc(hidden)]
pub mod ptx;
#[cfg(feature = "compile")]
mod registry;
#[cfg(feature = "compile")]
mod report;
#[cfg(feature = "compile")]
mod rustc;
#[cfg(feature = "compile")]
mod settings;
#[cfg(feature = "compile")]
#[doc(hidden)]
pub mod single;
#[cfg(feature = "compile")]
mod sources;
#[cfg(feature = "compile")]
mod target;
#[cfg(feature = "compile")]
mod units;
#[cfg(feature = "compile")]
mod watch;

#[cfg(feature = "compile")]
pub use {cargo::compile, compile::BuildError, report::Report, settings::Settings, target::Target};
