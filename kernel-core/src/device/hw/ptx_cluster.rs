//! Steps of clusters of thread blocks in PTX.

use core::arch::asm;

use super::ptx_tensor::{policy, shared, tma_load_asm};
use crate::scalar::Scalar as Mem;

/// As [`mbarrier_arrive`], at the barrier of another block of the cluster, or of this one.
#[inline(always)]
pub fn mbarrier_arrive_at(bar: u32, rank: u32, ok: bool, _site: u32) {
    // A release to the cluster would be a `MEMBAR`; reads were waited for, and no writes are published.
    // SAFETY: the contract of `hw`: the barrier was initialized, and the block has not ended.
    unsafe {
        asm!(
            "{{",
            ".reg .pred ok;",
            ".reg .b32 there;",
            "setp.ne.u32 ok, {ok}, 0;",
            "mapa.shared::cluster.u32 there, {bar}, {rank};",
            "@ok mbarrier.arrive.shared::cluster.b64 _, [there];",
            "}}",
            ok = in(reg32) ok as u32, bar = in(reg32) shared(bar), rank = in(reg32) rank, options(nostack)
        )
    }
}

/// As [`tma_load`], into the memory of all blocks of the cluster in the mask `ctas`, where it counts at their barriers.
///
/// # Safety
/// As of [`tma_load`], and none of the blocks has ended.
#[inline(always)]
pub unsafe fn tma_load_multicast<const RANK: usize, const HINT: u32>(
    dst: u32,
    map: u64,
    at: [i32; RANK],
    bar: u32,
    ctas: u16,
    _site: u32,
) {
    let (dst, bar) = (shared(dst), shared(bar));
    // SAFETY: the caller's contract.
    unsafe {
        tma_load_asm!(HINT, at, ".multicast::cluster", ", {ctas}", dst = in(reg32) dst, map = in(reg64) map, bar = in(reg32) bar, ctas = in(reg16) ctas,)
    }
}

macro_rules! store_there {
    ($ty:literal, $class:ident, $cta:ident, $off:ident, $ok:ident, $v:expr) => {
        // SAFETY: the contract of `cluster_store`.
        unsafe {
            asm!(
                "{{",
                ".reg .pred ok;",
                ".reg .b32 there;",
                "setp.ne.u32 ok, {ok}, 0;",
                "mapa.shared::cluster.u32 there, {off}, {cta};",
                concat!("@ok st.shared::cluster.", $ty, " [there], {v};"),
                "}}",
                ok = in(reg32) $ok as u32, off = in(reg32) shared($off), cta = in(reg32) $cta, v = in($class) $v,
                options(nostack)
            )
        }
    };
}

/// Stores an element to the dynamic shared memory of a block of the cluster, where `ok`.
///
/// # Safety
/// If `ok`, the offset lies in the shared memory of the block, aligned to the type. The block has begun, and has not
/// ended.
#[inline(always)]
pub unsafe fn cluster_store<T: Mem>(cta: u32, off: u32, ok: bool, v: T, _site: u32) {
    let bits = v.to_bits64();
    match T::BYTES {
        1 => store_there!("b8", reg32, cta, off, ok, bits as u32),
        2 => store_there!("b16", reg16, cta, off, ok, bits as u16),
        4 => store_there!("b32", reg32, cta, off, ok, bits as u32),
        _ => store_there!("b64", reg64, cta, off, ok, bits),
    }
}

unsafe extern "C" {
    #[link_name = "llvm.nvvm.barrier.cluster.arrive"]
    fn cluster_arrive();
    #[link_name = "llvm.nvvm.barrier.cluster.wait"]
    fn cluster_wait();
    #[link_name = "llvm.nvvm.read.ptx.sreg.cluster.ctarank"]
    fn ctarank() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.clusterid.x"]
    fn clusterid_x() -> u32;
    #[link_name = "llvm.nvvm.read.ptx.sreg.nclusterid.x"]
    fn nclusterid_x() -> u32;
}

/// Waits for all threads of the cluster's blocks that have not ended.
#[inline(always)]
pub fn cluster_sync(_site: u32) {
    // SAFETY: the contract of `hw`: every thread of the cluster reaches it.
    unsafe {
        cluster_arrive();
        cluster_wait();
    }
}

#[inline(always)]
pub fn cluster_rank() -> u32 {
    // SAFETY: it reads a special register.
    unsafe { ctarank() }
}

/// Clusters consist of neighbors on the first axis.
#[inline(always)]
pub fn cluster_id(axis: u32) -> u32 {
    // SAFETY: it reads a special register.
    if axis == 0 { unsafe { clusterid_x() } } else { super::ptx::program_id(axis) }
}

#[inline(always)]
pub fn num_clusters(axis: u32) -> u32 {
    // SAFETY: it reads a special register.
    if axis == 0 { unsafe { nclusterid_x() } } else { super::ptx::num_programs(axis) }
}
