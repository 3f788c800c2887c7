//! The hardware steps of a thread, which the device library calls on the host.

use core::ffi::CStr;

use super::access::Next;
pub use super::access_kind::AccessKind;
pub use super::banks::Access;
use super::cluster::SharedAddress;
use super::machine::{State, suspend, with};
use super::memory::{read, write};
use super::report::Kind;
pub use super::sectors::GlobalCall;
use super::watch::Passed;
use crate::scalar::Scalar as Mem;

/// The lane whose word a shuffle gives.
#[derive(Clone, Copy)]
pub enum Source {
    Xor(u32),
    Lane(u32),
}

pub fn thread() -> u32 {
    with(|m| m.current - m.cluster.threads_of(m.rank).start)
}

/// The number of this CTA along an axis: those of a cluster are neighbors along the first.
pub fn program_id(axis: u32) -> u32 {
    if axis == 0 { cluster_id(0) * with(|m| m.cluster.ctas) + cluster_rank() } else { cluster_id(axis) }
}

/// CTAs along an axis.
pub fn num_programs(axis: u32) -> u32 {
    if axis == 0 { num_clusters(0) * with(|m| m.cluster.ctas) } else { num_clusters(axis) }
}

/// The number of this CTA in its cluster.
pub fn cluster_rank() -> u32 {
    with(|m| m.rank)
}

/// The number of this cluster along an axis.
pub fn cluster_id(axis: u32) -> u32 {
    with(|m| m.program[axis as usize] as u32)
}

/// Clusters along an axis.
pub fn num_clusters(axis: u32) -> u32 {
    with(|m| m.grid[axis as usize] as u32)
}

/// Waits for all threads of all CTAs of the cluster that have not ended, and orders their earlier accesses before their
/// later ones.
pub fn cluster_sync(site: u32) {
    if with(|m| m.arrive_in_cluster(site)) {
        suspend();
    }
}

pub fn barrier(site: u32) {
    if with(|m| m.arrive(site)) {
        suspend();
    }
}

pub fn warp_barrier(site: u32) {
    if with(|m| m.arrive_in_warp(State::AtWarpBarrier { site }, 0, 0)) {
        suspend();
    }
}

/// Waits until the launch in front has ended.
pub fn wait_for_launch() {
    with(|m| m.wait_for_launch());
}

pub fn shuffle(v: u32, from: Source, site: u32) -> u32 {
    let waits = with(|m| {
        let lane = match from {
            Source::Xor(mask) => m.current ^ mask,
            Source::Lane(lane) => lane,
        };
        !m.may_give(v as u128, 4, site) || m.arrive_in_warp(State::AtShuffle { site }, v, lane % 32)
    });
    if waits {
        suspend();
    }
    with(|m| m.received())
}

pub fn fence() {
    with(|m| m.fence());
}

/// A failure is recorded: this thread must not go on. The scheduler stops, and its stack is unwound from here.
#[cold]
fn stop() -> ! {
    loop {
        suspend();
    }
}

/// A thread begins a load or a store of global memory.
#[inline]
pub fn begin_global(write: bool, site: u32) -> GlobalCall {
    with(|m| m.sectors.begin(m.current, write, site))
}

/// # Safety
/// An address outside of the known regions, where the launch allows those, can be read as lowered code says.
#[inline]
pub unsafe fn global_load(addr: u64, bytes: usize, call: GlobalCall, register: usize) -> u128 {
    let allowed = with(|m| {
        m.report.global_loads += 1;
        m.sectors.access(m.current, false, addr, bytes, call, register);
        m.global(AccessKind::Read, addr, bytes, 0, call.site)
    });
    if !allowed {
        stop();
    }
    // SAFETY: the machine allows the access: it lies in a region of the launch, or elsewhere by the caller's contract.
    unsafe { read(addr as *const u8, bytes) }
}

/// # Safety
/// As [`global_load`], of memory that is written.
#[inline]
pub unsafe fn global_store(addr: u64, bytes: usize, value: u128, call: GlobalCall, register: usize) {
    let allowed = with(|m| {
        m.report.global_stores += 1;
        m.sectors.access(m.current, true, addr, bytes, call, register);
        m.may_give(value, bytes, call.site) && m.global(AccessKind::Write, addr, bytes, value, call.site)
    });
    if !allowed {
        stop();
    }
    // SAFETY: the machine allows the access: in a mutable region of the launch, or elsewhere by the caller's contract.
    unsafe { write(addr as *mut u8, bytes, value) };
}

/// An instruction takes an address of global memory that is a multiple of `bytes` alone.
pub fn aligned(addr: u64, bytes: usize, site: u32) {
    if addr.is_multiple_of(bytes as u64) {
        return;
    }
    with(|m| {
        let message =
            format!("an atomic of {bytes} bytes at {}, which is no multiple of them", m.global.describe(addr));
        m.fail(Kind::Misaligned, site, message);
    });
    stop();
}

/// The old value, which `replace` gives the new one of, or none where nothing is written.
///
/// # Safety
/// As [`global_load`] and [`global_store`].
pub unsafe fn atomic(
    kind: AccessKind,
    addr: u64,
    bytes: usize,
    relaxed: bool,
    site: u32,
    replace: impl Fn(u64) -> Option<u64>,
) -> u64 {
    let allowed = with(|m| {
        m.report.atomics += 1;
        m.global_atomic(kind, addr, bytes, relaxed, site)
    });
    if !allowed {
        stop();
    }
    // SAFETY: as in `global_load`.
    let old = unsafe { read(addr as *const u8, bytes) as u64 };
    let new = if kind.writes() { replace(old) } else { None };
    let next = with(|m| {
        if kind.writes() && new.is_none() {
            m.order.has_not_written();
        }
        match new.is_none_or(|new| m.may_give(new as u128, bytes, site)) {
            true => m.asked(kind, addr, new.is_some_and(|new| old != new), site),
            false => Next::Stop,
        }
    });
    if next == Next::Stop {
        stop();
    }
    if let Some(new) = new {
        // SAFETY: as in `global_store`.
        unsafe { write(addr as *mut u8, bytes, new as u128) };
    }
    if next == Next::Yield {
        suspend();
    }
    old
}

#[inline]
pub fn begin_shared(write: bool, site: u32) -> Access {
    with(|m| m.banks.begin(m.current, write, site))
}

#[inline]
pub fn shared_load(off: u32, bytes: usize, call: Access, r: usize) -> u128 {
    let place = with(|m| {
        m.report.shared_loads += 1;
        m.banks.access(m.current, call, r, off, bytes);
        m.shared(AccessKind::Read, off, bytes, 0, call.site)
    });
    match place {
        // SAFETY: the machine gives the place of that many bytes in the CTA's shared memory.
        Some(place) => unsafe { read(place, bytes) },
        None => stop(),
    }
}

#[inline]
pub fn shared_store(off: u32, bytes: usize, value: u128, call: Access, r: usize) {
    let place = with(|m| {
        m.report.shared_stores += 1;
        if !m.may_give(value, bytes, call.site) {
            return None;
        }
        m.banks.access(m.current, call, r, off, bytes);
        m.shared(AccessKind::Write, off, bytes, value, call.site)
    });
    match place {
        // SAFETY: the machine gives the place of that many bytes in the CTA's shared memory.
        Some(place) => unsafe { write(place, bytes, value) },
        None => stop(),
    }
}

/// A store to the shared memory of a CTA of the cluster.
pub fn cluster_store(cta: u32, off: u32, bytes: usize, value: u64, site: u32) {
    let place = with(|m| {
        m.report.shared_stores += 1;
        if !m.may_give(value as u128, bytes, site) {
            return None;
        }
        m.shared_of_cta(AccessKind::Write, SharedAddress { cta, off }, bytes, value as u128, site)
    });
    match place {
        // SAFETY: the machine gives the place of that many bytes in the CTA's shared memory.
        Some(place) => unsafe { write(place, bytes, value as u128) },
        None => stop(),
    }
}

/// An atomic on shared memory, which orders nothing else. The old value.
pub fn shared_atomic(kind: AccessKind, off: u32, bytes: usize, site: u32, replace: impl Fn(u64) -> u64) -> u64 {
    let place = with(|m| {
        m.report.atomics += 1;
        m.shared(kind, off, bytes, 0, site)
    });
    let Some(place) = place else { stop() };
    // SAFETY: the machine gives the place of that many bytes in the CTA's shared memory.
    let old = unsafe { read(place, bytes) as u64 };
    if kind.writes() {
        let new = replace(old);
        if !with(|m| m.may_give(new as u128, bytes, site)) {
            stop();
        }
        // SAFETY: as above.
        unsafe { write(place, bytes, new as u128) };
    }
    old
}

pub fn assert_failed(msg: &str, site: u32) {
    with(|m| m.fail(Kind::Assertion, site, format!("thread {}: {msg}", m.name(m.current))));
    stop();
}

pub fn print(msg: &str, value: String, site: u32) {
    with(|m| {
        let [x, y, z] = m.program;
        let line = format!("{msg} program ({x}, {y}, {z}) thread {} line {site}: {value}", m.name(m.current));
        m.report.printed.push(line);
    });
}

/// A register of a thread at a breakpoint. Of a tile all threads hand over all registers, register 0 first, and the
/// bases of its layout: the bits of the index, over padded extents, that the bits of the number of the register and of
/// the thread stand for.
pub fn watch<T: Mem>(
    name: &'static CStr,
    extents: &[u32],
    registers: &[u32],
    threads: &[u32],
    register: usize,
    value: T,
    line: u32,
) {
    let thread = thread();
    with(|m| {
        if m.program == m.options.watch.program {
            let passed = Passed { line, name, current: m.current, thread, rank: m.rank };
            let (tile, layout) = ((T::NAME, extents), (registers, threads));
            m.watched.register(&passed, &m.options.watch, tile, layout, register, || format!("{value:?}"));
        }
    });
}
