//! What a tile kernel may say and what it means: dtypes and kernel descriptors, the meaning of every scalar
//! operation ([`scalar`]), the CPU backend ([`cpu`]), the device library that lowered code calls (`device`) and
//! the emulated SM that runs lowered code on the host (`emulator`). The last two need the feature `emulator`.
//!
//! `kernel-build` compiles this crate for `nvptx64-nvidia-cuda` with bare `rustc`, where it is `no_std` and has no
//! dependencies: only [`scalar`] and `device` exist there.
#![cfg_attr(target_arch = "nvptx64", no_std)]
#![cfg_attr(target_arch = "nvptx64", feature(asm_experimental_arch, stdarch_nvptx, abi_ptx, link_llvm_intrinsics))]
#![allow(clippy::missing_safety_doc)]

#[cfg(any(target_arch = "nvptx64", feature = "emulator"))]
#[doc(hidden)]
#[macro_use]
pub mod planted;

#[cfg(any(target_arch = "nvptx64", feature = "emulator"))]
pub mod device;
pub mod scalar;

#[cfg(not(target_arch = "nvptx64"))]
pub mod args;
#[cfg(not(target_arch = "nvptx64"))]
pub mod bundle;
#[cfg(not(target_arch = "nvptx64"))]
pub mod call;
#[cfg(not(target_arch = "nvptx64"))]
pub mod cpu;
#[cfg(not(target_arch = "nvptx64"))]
pub mod desc;
#[cfg(all(not(target_arch = "nvptx64"), feature = "emulator"))]
pub mod emulator;

#[cfg(not(target_arch = "nvptx64"))]
pub use args::{
    AsSize, AsSlice, AsSliceMut, AsView, AsViewMut, Place, RawArg, SliceArg, SliceMutArg, ViewArg, ViewError,
    ViewMutArg,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use call::{BindError, BufferUse, Call};
#[cfg(not(target_arch = "nvptx64"))]
pub use desc::{
    Condition, ConfigDesc, CpuCode, CpuFn, Element, Emulated, GridCtx, Guard, KernelDesc, KernelParts, MapDesc, MapDim,
    Number, ParamDesc, ParamKind, ParamType, VariantDesc, cdiv,
};
#[cfg(not(target_arch = "nvptx64"))]
pub use half::{bf16, f16};
#[cfg(not(target_arch = "nvptx64"))]
pub use scalar::{F8E4M3 as f8e4m3, F8E5M2 as f8e5m2};

#[cfg(not(target_arch = "nvptx64"))]
pub use tilewright_types::limits::{MAX_BUFFERS, MAX_SLOTS};
#[cfg(not(target_arch = "nvptx64"))]
pub use tilewright_types::{DType, Test};

/// The folder of this crate's sources: `kernel-build` compiles them for the device.
#[cfg(not(target_arch = "nvptx64"))]
pub const SOURCE_DIR: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src");
