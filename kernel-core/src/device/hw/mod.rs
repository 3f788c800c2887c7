//! The primitive steps, for the target that is compiled.
//!
//! # Contract
//! Lowered code alone calls these steps, from entries that are `unsafe fn`. On the host every step panics outside
//! [`emulator::launch`](crate::emulator::launch), and the emulated SM checks offsets into shared memory, barriers and
//! the threads that meet. In PTX nothing checks them: the compiler that writes lowered code vouches that
//! - offsets into shared memory, with the bytes that a step accesses there, lie in the shared memory that the entry is
//!   launched with;
//! - an mbarrier is initialized before it is used, in a thread block that has not ended;
//! - a step of a warp, a warpgroup, a block or a cluster is reached by all of its threads.
//!
//! Steps that take addresses of global memory or of tensor maps, which the emulated SM cannot always check, are
//! `unsafe fn`.

use super::mem::Words;

#[cfg(any(test, all(target_arch = "nvptx64", not(target_feature = "sm_80"))))]
pub(crate) mod composed;
#[cfg(not(target_arch = "nvptx64"))]
mod host;
#[cfg(not(target_arch = "nvptx64"))]
mod host_tensor;
#[cfg(not(target_arch = "nvptx64"))]
mod host_trace;
#[cfg(target_arch = "nvptx64")]
mod ptx;
#[cfg(target_arch = "nvptx64")]
mod ptx_atomics;
#[cfg(target_arch = "nvptx64")]
mod ptx_cluster;
#[cfg(target_arch = "nvptx64")]
mod ptx_memory;
#[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
mod ptx_sm75;
#[cfg(target_arch = "nvptx64")]
mod ptx_tensor;
#[cfg(target_arch = "nvptx64")]
mod ptx_trace;

#[cfg(all(target_arch = "nvptx64", not(target_feature = "sm_80")))]
pub use ptx_sm75::*;
#[cfg(not(target_arch = "nvptx64"))]
pub use {host::*, host_tensor::*, host_trace::*};
#[cfg(target_arch = "nvptx64")]
pub use {ptx::*, ptx_atomics::*, ptx_cluster::*, ptx_memory::*, ptx_tensor::*, ptx_trace::*};

/// A memory, as loads and stores see it.
///
/// Sizes are constants after inlining. `r` is the first register of the access, by which the emulator knows which
/// accesses of a warp's lanes are one instruction.
pub trait Space {
    /// One load or store of registers.
    type Call: Copy;

    fn begin(write: bool, site: u32) -> Self::Call;

    /// `bytes` (1 to 16) as 64-bit words if `wide`, else as 32-bit words.
    ///
    /// # Safety
    /// The bytes at `addr` may be read in this space, and `addr` is a multiple of their number.
    unsafe fn load(addr: u64, bytes: usize, wide: bool, hint: u32, call: Self::Call, r: usize) -> Words;

    /// As [`load`](Self::load) where `ok`, else `other`; without a branch.
    ///
    /// # Safety
    /// If `ok`, as [`load`](Self::load).
    unsafe fn load_words_if(
        addr: u64,
        ok: bool,
        bytes: usize,
        wide: bool,
        other: Words,
        hint: u32,
        call: Self::Call,
        r: usize,
    ) -> Words;

    /// One element of `bytes` (1 to 8), or `other`.
    ///
    /// # Safety
    /// If `ok`, as [`load`](Self::load).
    unsafe fn load_if(addr: u64, ok: bool, bytes: usize, other: u64, hint: u32, call: Self::Call, r: usize) -> u64;

    /// # Safety
    /// The bytes at `addr` may be written in this space, and `addr` is a multiple of their number.
    unsafe fn store(addr: u64, bytes: usize, wide: bool, words: Words, hint: u32, call: Self::Call, r: usize);

    /// # Safety
    /// If `ok`, as [`store`](Self::store).
    unsafe fn store_words_if(
        addr: u64,
        ok: bool,
        bytes: usize,
        wide: bool,
        words: Words,
        hint: u32,
        call: Self::Call,
        r: usize,
    );

    /// # Safety
    /// If `ok`, as [`store`](Self::store).
    unsafe fn store_if(addr: u64, ok: bool, bytes: usize, bits: u64, hint: u32, call: Self::Call, r: usize);
}

/// The device's memory.
pub struct Global;

/// The program's dynamic shared memory.
pub struct Shared;
