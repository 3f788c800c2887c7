//! Runs tile kernels: devices, buffers, streams, launches and the autotuner.
//!
//! ```
//! use tilewright_runtime::{Buffer, Runtime};
//! let rt = Runtime::cpu();                       // Runtime::new() takes a GPU where there is one
//! let x = Buffer::from_slice(&rt, &[1.0f32, 2.0])?;
//! assert_eq!(x.to_vec()?, [1.0, 2.0]);
//! # Ok::<(), tilewright_runtime::Error>(())
//! ```
//! A kernel's function under `#[tile_kernel]` binds arguments to a [`Call`]; [`Runtime::launch`] checks and runs it.
//! Every error is an [`Error`]; nothing was enqueued unless its documentation says otherwise.
#![warn(missing_docs)]

mod blocks;
mod borrowed_scratch;
mod buffer;
mod captures;
mod check;
mod cuda;
#[cfg(feature = "cudarc")]
mod cudarc;
#[cfg(feature = "emulator")]
pub(crate) mod debug;
mod device;
pub mod dlpack;
#[cfg_attr(not(feature = "emulator"), path = "no_emulator.rs")]
mod emulate;
mod emulator_options;
mod error;
mod event;
mod extension;
mod external;
mod external_work;
mod failures;
mod graph;
mod joins;
mod launch;
mod launch_options;
mod launched;
mod leases;
mod marks;
mod memory;
mod occupancy;
mod owners;
mod plan;
#[doc(hidden)]
pub mod private;
mod queue;
mod runtime;
mod runtime_streams;
mod scratch;
mod scratch_limit;
mod select;
mod stream;
/// The primitives of `blocks`, `captures`, `joins`, `leases`, `marks` and `owners`, which their tests replace.
mod sync {
    pub(crate) use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize};
    pub(crate) use std::sync::{Mutex, MutexGuard, RwLock, RwLockReadGuard, RwLockWriteGuard};
    pub(crate) use std::thread::{self, ThreadId};
}
mod tensor_map;
#[cfg(test)]
mod test_kernel;
#[cfg(test)]
mod tests;
mod trace;
mod traced_launch;
mod tuner;
pub mod tuning;
mod variant;
#[cfg(feature = "warnings")]
mod warnings;
pub mod workload;

pub use buffer::Buffer;
#[doc(hidden)]
pub use cuda::api::Driver;
pub use device::{Device, Limits, Multiprocessor};
pub use error::{DriverError, Error, ErrorKind, Result};
pub use event::Event;
pub use extension::Extension;
pub use external::{ExternalSlice, ExternalSliceMut};
pub use graph::Graph;
pub use launch::Launcher;
pub use launch_options::{LaunchOptions, Pdl};
#[cfg(feature = "emulator")]
#[doc(hidden)]
pub use launched::{EmulatedLaunch, Launched};
pub use runtime::{BackendKind, Runtime, cuda_status};
pub use scratch::Scratch;
pub use stream::Stream;
#[cfg(feature = "warnings")]
pub use warnings::warnings_to_stderr;

pub use tilewright_core::{
    self, AsSlice, AsSliceMut, AsView, AsViewMut, BindError, Call, DType, DeviceId, Element, KernelDesc, RawArg,
    ViewError,
};
