//! The same steps on the emulated SM.

use core::ffi::CStr;

use super::{Global, Shared, Space};
use crate::device::Mem;
use crate::device::mem::{Wide, Words, combine};
use crate::emulator::step::{self, Access, AccessKind, GlobalCall, Source};
use crate::scalar::atomic_op;

pub use crate::emulator::step::{
    barrier, cluster_id, cluster_rank, cluster_sync, fence, num_clusters, num_programs, program_id, thread,
    warp_barrier,
};

/// Launches are emulated one after another. The machine notes the threads that have called this, to find accesses that
/// come too early.
pub fn grid_dependency_wait() {
    step::wait_for_launch()
}

pub fn shuffle_xor(v: u32, mask: u32, site: u32) -> u32 {
    step::shuffle(v, Source::Xor(mask), site)
}

pub fn shuffle(v: u32, lane: u32, site: u32) -> u32 {
    step::shuffle(v, Source::Lane(lane), site)
}

fn access_kind<const OP: u32>() -> AccessKind {
    match OP {
        atomic_op::LOAD => AccessKind::AtomicLoad,
        atomic_op::STORE => AccessKind::AtomicStore,
        _ => AccessKind::Atomic,
    }
}

/// # Safety
/// As [`step::atomic`].
pub unsafe fn atomic<T: Mem, const OP: u32>(addr: u64, v: T, relaxed: bool, site: u32) -> T {
    let replace = |old| Some(combine::<T, OP>(T::from_bits64(old), v).to_bits64());
    let kind = access_kind::<OP>();
    // SAFETY: the caller's contract.
    let old = unsafe { step::atomic(kind, addr, T::BYTES, relaxed, site, replace) };
    if kind == AccessKind::AtomicStore { T::ZERO } else { T::from_bits64(old) }
}

/// # Safety
/// As [`step::atomic`], of VEC elements.
pub unsafe fn add_vector<T: Mem, const VEC: usize>(addr: u64, v: impl Fn(usize) -> T, site: u32) {
    step::aligned(addr, VEC * T::BYTES, site);
    for i in 0..VEC {
        // SAFETY: the caller's contract.
        unsafe { atomic::<T, { atomic_op::ADD }>(addr + (i * T::BYTES) as u64, v(i), true, site) };
    }
}

/// # Safety
/// As [`step::atomic`].
pub unsafe fn atomic_cas<T: Mem>(addr: u64, expected: T, new: T, relaxed: bool, site: u32) -> T {
    let replace = |old| (old == expected.to_bits64()).then(|| new.to_bits64());
    // SAFETY: the caller's contract.
    T::from_bits64(unsafe { step::atomic(AccessKind::Atomic, addr, T::BYTES, relaxed, site, replace) })
}

/// # Safety
/// None: the emulated SM checks the block and the offset.
pub unsafe fn cluster_store<T: Mem>(cta: u32, off: u32, ok: bool, v: T, site: u32) {
    if ok {
        step::cluster_store(cta, off, T::BYTES, v.to_bits64(), site);
    }
}

/// # Safety
/// None: the emulated SM checks the offset.
pub unsafe fn shared_atomic_add<T: Mem>(off: u32, ok: bool, v: T, site: u32) {
    if ok {
        let replace = |old| T::atomic_add(T::from_bits64(old), v).to_bits64();
        step::shared_atomic(AccessKind::Atomic, off, T::BYTES, site, replace);
    }
}

/// # Safety
/// None: the emulated SM checks the offset.
pub unsafe fn shared_atomic<T: Mem, const OP: u32>(off: u32, v: T, site: u32) -> T {
    let replace = |old| combine::<T, OP>(T::from_bits64(old), v).to_bits64();
    let old = step::shared_atomic(access_kind::<OP>(), off, T::BYTES, site, replace);
    if OP == atomic_op::STORE { T::ZERO } else { T::from_bits64(old) }
}

/// # Safety
/// None: the emulated SM checks the offset.
pub unsafe fn shared_atomic_cas<T: Mem>(off: u32, expected: T, new: T, site: u32) -> T {
    let replace = |old| if old == expected.to_bits64() { new.to_bits64() } else { old };
    T::from_bits64(step::shared_atomic(AccessKind::Atomic, off, T::BYTES, site, replace))
}

pub fn assert_failed(msg: &'static CStr, site: u32) {
    step::assert_failed(&msg.to_string_lossy(), site)
}

pub fn print(msg: &'static CStr, v: Wide, site: u32) {
    let value = match v {
        Wide::Float(x) => x.to_string(),
        Wide::Signed(x) => x.to_string(),
        Wide::Unsigned(x) => x.to_string(),
    };
    step::print(&msg.to_string_lossy(), value, site)
}

fn to_words(bits: u128, wide: bool) -> Words {
    let at = |shift: u32| (bits >> shift) as u32 as u64;
    if wide { [bits as u64, (bits >> 64) as u64, 0, 0] } else { [at(0), at(32), at(64), at(96)] }
}

fn from_words(w: Words, wide: bool) -> u128 {
    let at = |k: usize, shift: u32| (w[k] as u128) << shift;
    if wide { at(0, 0) | at(1, 64) } else { at(0, 0) | at(1, 32) | at(2, 64) | at(3, 96) }
}

impl Space for Global {
    type Call = GlobalCall;

    #[inline]
    fn begin(write: bool, site: u32) -> GlobalCall {
        step::begin_global(write, site)
    }

    #[inline]
    unsafe fn load(addr: u64, bytes: usize, wide: bool, _hint: u32, call: GlobalCall, r: usize) -> Words {
        // SAFETY: the caller's contract, which is the trait's.
        to_words(unsafe { step::global_load(addr, bytes, call, r) }, wide)
    }

    #[inline]
    unsafe fn load_words_if(
        addr: u64,
        ok: bool,
        bytes: usize,
        wide: bool,
        other: Words,
        hint: u32,
        call: GlobalCall,
        r: usize,
    ) -> Words {
        // SAFETY: the caller's contract, which is the trait's.
        if ok { unsafe { Self::load(addr, bytes, wide, hint, call, r) } } else { other }
    }

    #[inline]
    unsafe fn store_words_if(
        addr: u64,
        ok: bool,
        bytes: usize,
        wide: bool,
        words: Words,
        hint: u32,
        call: GlobalCall,
        r: usize,
    ) {
        if ok {
            // SAFETY: the caller's contract, which is the trait's.
            unsafe { Self::store(addr, bytes, wide, words, hint, call, r) }
        }
    }

    #[inline]
    unsafe fn load_if(addr: u64, ok: bool, bytes: usize, other: u64, _hint: u32, call: GlobalCall, r: usize) -> u64 {
        // SAFETY: the caller's contract, which is the trait's.
        if ok { unsafe { step::global_load(addr, bytes, call, r) as u64 } } else { other }
    }

    #[inline]
    unsafe fn store(addr: u64, bytes: usize, wide: bool, words: Words, _hint: u32, call: GlobalCall, r: usize) {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { step::global_store(addr, bytes, from_words(words, wide), call, r) }
    }

    #[inline]
    unsafe fn store_if(addr: u64, ok: bool, bytes: usize, bits: u64, _hint: u32, call: GlobalCall, r: usize) {
        if ok {
            // SAFETY: the caller's contract, which is the trait's.
            unsafe { step::global_store(addr, bytes, bits as u128, call, r) }
        }
    }
}

impl Shared {
    pub fn address(off: u32) -> u64 {
        off as u64
    }
}

impl Space for Shared {
    type Call = Access;

    #[inline]
    fn begin(write: bool, site: u32) -> Access {
        step::begin_shared(write, site)
    }

    #[inline]
    unsafe fn load(addr: u64, bytes: usize, wide: bool, _hint: u32, call: Access, r: usize) -> Words {
        to_words(step::shared_load(addr as u32, bytes, call, r), wide)
    }

    #[inline]
    unsafe fn load_words_if(
        addr: u64,
        ok: bool,
        bytes: usize,
        wide: bool,
        other: Words,
        hint: u32,
        call: Access,
        r: usize,
    ) -> Words {
        // SAFETY: the caller's contract, which is the trait's.
        if ok { unsafe { Self::load(addr, bytes, wide, hint, call, r) } } else { other }
    }

    #[inline]
    unsafe fn store_words_if(
        addr: u64,
        ok: bool,
        bytes: usize,
        wide: bool,
        words: Words,
        hint: u32,
        call: Access,
        r: usize,
    ) {
        if ok {
            // SAFETY: the caller's contract, which is the trait's.
            unsafe { Self::store(addr, bytes, wide, words, hint, call, r) }
        }
    }

    #[inline]
    unsafe fn load_if(addr: u64, ok: bool, bytes: usize, other: u64, _hint: u32, call: Access, r: usize) -> u64 {
        if ok { step::shared_load(addr as u32, bytes, call, r) as u64 } else { other }
    }

    #[inline]
    unsafe fn store(addr: u64, bytes: usize, wide: bool, words: Words, _hint: u32, call: Access, r: usize) {
        step::shared_store(addr as u32, bytes, from_words(words, wide), call, r)
    }

    #[inline]
    unsafe fn store_if(addr: u64, ok: bool, bytes: usize, bits: u64, _hint: u32, call: Access, r: usize) {
        if ok {
            step::shared_store(addr as u32, bytes, bits as u128, call, r)
        }
    }
}

#[inline(always)]
pub fn in_order() {}
