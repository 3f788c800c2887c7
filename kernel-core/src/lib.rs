//! The runtime side of tile kernels: dtypes and kernel descriptors, the meaning of every scalar operation
//! ([`scalar`]), the CPU backend ([`cpu`]), the device library that lowered code calls (`device`) and the emulated
//! SM that runs lowered code on the host (`emulator`). The last two need the feature `emulator`.
//!
//! `kernel-build` compiles this crate for `nvptx64-nvidia-cuda` with bare `rustc`, where it is `no_std` and has no
//! dependencies: only [`scalar`] and `device` exist there.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, stdarch_nvptx, abi_ptx, link_llvm_intrinsics))]
#![allow(clippy::missing_safety_doc)]
#![cfg_attr(not(target_arch = "nvptx64"), warn(missing_docs))]

#[doc(hidden)]
#[macro_use]
pub mod planted;

#[cfg(any(target_arch = "nvptx64", feature = "emulator"))]
#[doc(hidden)]
pub mod device;
pub mod scalar;

#[cfg(not(target_arch = "nvptx64"))]
pub mod args;
#[cfg(not(target_arch = "nvptx64"))]
pub mod bundle;
#[cfg(not(target_arch = "nvptx64"))]
pub mod call;
#[cfg(not(target_arch = "nvptx64"))]
#[doc(hidden)]
pub mod cpu;
#[cfg(not(target_arch = "nvptx64"))]
pub mod desc;
#[cfg(all(not(target_arch = "nvptx64"), feature = "emulator"))]
pub mod emulator;

// Device code is compiled again when this file changes, so the names of the host are listed in another file.
#[cfg(not(target_arch = "nvptx64"))]
mod host;
#[cfg(not(target_arch = "nvptx64"))]
pub use host::*;
