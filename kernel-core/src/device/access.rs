//! Loads and stores of registers, in global and in shared memory.
//!
//! Registers come in groups of `V` with consecutive addresses: a group is one access (several, beyond 16 bytes).

use core::hint::cold_path;
use core::mem::MaybeUninit;

use super::Mem;
use super::each;
use super::hw::{self, Global, Shared, Space};
use super::mem::{self, Words};

/// Bytes of one access in a group of `V`.
const fn access_bytes<T: Mem, const V: usize>() -> usize {
    if V * T::BYTES > 16 { 16 } else { V * T::BYTES }
}

/// The condition of the loops over groups: registers are whole groups, and groups whole accesses.
const fn check_groups<T: Mem, const R: usize, const V: usize>() {
    assert!(R.is_multiple_of(V), "registers come in whole groups");
    assert!(V.is_multiple_of(access_bytes::<T, V>() / T::BYTES), "a group is a whole number of accesses");
}

/// Loads `R` registers from global memory, `other` where not allowed.
///
/// Register groups of `V` have consecutive addresses (descending if `REV`), the lowest aligned to the group's size.
/// `full` says that all accesses of this thread are allowed; else `ok` is asked for each. With `UNDIVIDED` a group is
/// allowed as a whole or not at all, and is one wide access. Without, it is one if `full`, or if the same holds at run
/// time. Single elements are always loaded without a branch.
///
/// # Safety
/// Allowed addresses are valid, and aligned as said. With `UNDIVIDED` no group is divided.
#[inline(always)]
pub unsafe fn load<T: Mem, const R: usize, const V: usize, const REV: bool, const UNDIVIDED: bool>(
    addr: impl Fn(usize) -> u64,
    full: bool,
    ok: impl Fn(usize) -> bool,
    other: impl Fn(usize) -> T,
    hint: u32,
    site: u32,
) -> [T; R] {
    let call = Global::begin(false, site);
    if V > 1 && full {
        // SAFETY: `full` says that all addresses are allowed; those are valid and aligned by this function's contract.
        return unsafe { load_groups::<Global, T, R, V, REV>(addr, hint, call) };
    }
    if V > 1 {
        unlikely::<UNDIVIDED>();
        if is_undivided::<R, V, UNDIVIDED>(&ok) {
            // SAFETY: the contract of this function; a group is allowed as a whole or not at all.
            return unsafe { load_groups_if::<Global, T, R, V, REV>(addr, ok, other, hint, call) };
        }
    }
    // `full` may be known only at run time: folded into the predicate, it costs no branch.
    // SAFETY: an allowed address is valid and aligned by this function's contract.
    each(|r| unsafe { load_one::<Global, T>(addr(r), full | ok(r), other(r), hint, call, r) })
}

/// Stores `R` registers to global memory where allowed. Groups, `full`, `ok` and `UNDIVIDED` as in [`load`].
///
/// # Safety
/// As [`load`], and the memory may be written.
#[inline(always)]
pub unsafe fn store<T: Mem, const R: usize, const V: usize, const REV: bool, const UNDIVIDED: bool>(
    addr: impl Fn(usize) -> u64,
    full: bool,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
    hint: u32,
    site: u32,
) {
    let call = Global::begin(true, site);
    if V > 1 && full {
        // SAFETY: `full` says that all addresses are allowed; those may be written by this function's contract.
        return unsafe { store_groups::<Global, T, R, V, REV>(addr, |_| true, val, hint, call) };
    }
    if V > 1 {
        unlikely::<UNDIVIDED>();
        if is_undivided::<R, V, UNDIVIDED>(&ok) {
            // SAFETY: the contract of this function; a group is allowed as a whole or not at all.
            return unsafe { store_groups_if::<Global, T, R, V, REV>(addr, ok, val, hint, call) };
        }
    }
    let mut r = 0;
    while r < R {
        // SAFETY: an allowed address may be written by this function's contract.
        unsafe { Global::store_if(addr(r), full | ok(r), T::BYTES, val(r).to_bits64(), hint, call, r) };
        r += 1;
    }
}

/// Starts to copy the elements that [`load`] would load to the program's dynamic shared memory, with zeros for masked
/// ones. Groups are of 4, 8 or 16 bytes, at offsets `off` as in [`shared_store`]. Complete after a `cp_async_wait`, and
/// a barrier.
///
/// # Safety
/// As [`load`] and [`shared_store`].
#[inline(always)]
pub unsafe fn copy_ahead<T: Mem, const R: usize, const V: usize, const UNDIVIDED: bool>(
    off: impl Fn(usize) -> u32,
    addr: impl Fn(usize) -> u64,
    full: bool,
    ok: impl Fn(usize) -> bool,
    site: u32,
) {
    const { assert!(matches!(V * T::BYTES, 4 | 8 | 16), "copies of 4, 8 or 16 bytes") };
    const { check_groups::<T, R, V>() };
    // SAFETY: an allowed group is valid to load and its offset valid to store to, by this function's contract.
    let copy = |g: usize, ok: bool| unsafe {
        match const { V * T::BYTES } {
            16 => super::cp_async::<16>(off(g), addr(g), ok, site),
            8 => super::cp_async::<8>(off(g), addr(g), ok, site),
            _ => super::cp_async::<4>(off(g), addr(g), ok, site),
        }
    };
    // Apart, so that the usual way has no predicates.
    if V > 1 && full {
        return each_group::<R, V>(|g| copy(g, true));
    }
    if V > 1 {
        unlikely::<UNDIVIDED>();
    }
    if is_undivided::<R, V, UNDIVIDED>(&ok) {
        return each_group::<R, V>(|g| copy(g, ok(g) || planted!("device-cp-async-unmasked")));
    }
    // One group after the other, so that this rare way takes few registers.
    each_group::<R, V>(|g| {
        hw::in_order();
        // SAFETY: element `e` of the group is loaded where `ok(g + e)`; the whole group's offset is in shared memory.
        unsafe {
            let values: [T; V] = load::<T, V, 1, false, false>(
                |e| addr(g).wrapping_add((e * T::BYTES) as u64),
                false,
                |e| ok(if planted!("device-cp-async-mask-of-first") { g } else { g + e }),
                |_| T::ZERO,
                0,
                site,
            );
            shared_store::<T, V, V>(|_| off(g), |_| true, |e| values[e], site);
        }
    });
}

/// Stores `R` registers to the program's dynamic shared memory at byte offsets, in groups of `V` as in [`load`].
/// A group is one wide access where all of it is allowed.
///
/// # Safety
/// Allowed offsets lie in the program's shared memory.
#[inline(always)]
pub unsafe fn shared_store<T: Mem, const R: usize, const V: usize>(
    off: impl Fn(usize) -> u32,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
    site: u32,
) {
    let call = Shared::begin(true, site);
    // SAFETY: allowed offsets lie in the program's shared memory, which its threads may write.
    unsafe { store_groups::<Shared, T, R, V, false>(|r| Shared::address(off(r)), ok, val, 0, call) };
}

/// Stores `R` registers one by one to the dynamic shared memory of thread blocks of the cluster, `cta` by rank, where
/// allowed. Threads of that block see them after a `cluster_sync`.
///
/// # Safety
/// Allowed offsets lie in the shared memory of the blocks, aligned to the type. The blocks have begun, and do not end
/// before a `cluster_sync` that comes after.
#[inline(always)]
pub unsafe fn cluster_store<T: Mem, const R: usize>(
    cta: impl Fn(usize) -> u32,
    off: impl Fn(usize) -> u32,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
    site: u32,
) {
    let mut r = 0;
    while r < R {
        // SAFETY: an allowed offset lies in the block's shared memory by this function's contract.
        unsafe { hw::cluster_store::<T>(cta(r), off(r), ok(r), val(r), site) };
        r += 1;
    }
}

/// Loads `R` registers from the program's dynamic shared memory, as [`shared_store`]; zero where not allowed.
///
/// # Safety
/// Allowed offsets lie in the program's shared memory.
#[inline(always)]
pub unsafe fn shared_load<T: Mem, const R: usize, const V: usize>(
    off: impl Fn(usize) -> u32,
    ok: impl Fn(usize) -> bool,
    site: u32,
) -> [T; R] {
    const { check_groups::<T, R, V>() };
    let call = Shared::begin(false, site);
    let addr = |r| Shared::address(off(r));
    if V == 1 {
        // SAFETY: an allowed offset lies in the program's shared memory.
        return each(|r| unsafe { load_one::<Shared, T>(addr(r), ok(r), T::ZERO, 0, call, r) });
    }
    let mut out = MaybeUninit::<[T; R]>::uninit();
    let regs = out.as_mut_ptr().cast::<T>();
    let mut g = 0;
    while g < R {
        // SAFETY: allowed offsets lie in the program's shared memory. The registers of the group are below R, of which
        // V is a divisor.
        unsafe {
            if all::<V>(&ok, g) || planted!("device-shared-load-by-first") && ok(g) {
                load_group::<Shared, T, V, false>(&addr, g, regs, 0, call);
            } else {
                let mut k = g;
                while k < g + V {
                    regs.add(k).write(load_one::<Shared, T>(addr(k), ok(k), T::ZERO, 0, call, k));
                    k += 1;
                }
            }
        }
        g += V;
    }
    // SAFETY: the loop has written every group.
    unsafe { out.assume_init() }
}

/// The first register of each group of V.
#[inline(always)]
fn each_group<const R: usize, const V: usize>(f: impl Fn(usize)) {
    let mut g = 0;
    while g < R {
        f(g);
        g += V;
    }
}

/// A mark of a rare way, unless `USUAL`.
#[inline(always)]
fn unlikely<const USUAL: bool>() {
    if !USUAL {
        cold_path();
    }
}

/// Whether every group is allowed as a whole or not at all. With `KNOWN` the compiler has proved it: the emulated SM
/// tests that it has, and a GPU does not ask.
#[inline(always)]
fn is_undivided<const R: usize, const V: usize, const KNOWN: bool>(ok: &impl Fn(usize) -> bool) -> bool {
    if KNOWN && cfg!(not(target_arch = "nvptx64")) {
        assert!(undivided::<R, V>(ok), "a mask divides an access that is known to be allowed as a whole or not at all");
    }
    KNOWN || undivided::<R, V>(ok)
}

/// Whether every group is allowed as a whole or not at all: the end of a row whose length is a multiple of V.
#[inline(always)]
fn undivided<const R: usize, const V: usize>(ok: &impl Fn(usize) -> bool) -> bool {
    let mut same = true;
    let mut r = 0;
    while r < R {
        same &= ok(r) == ok(r - r % V);
        r += 1;
    }
    same || planted!("device-divided-group-as-whole")
}

/// Loads groups that are each allowed or not, without a branch.
///
/// # Safety
/// As [`load`], where `ok` of a group's first register is that of all.
#[inline(always)]
unsafe fn load_groups_if<S: Space, T: Mem, const R: usize, const V: usize, const REV: bool>(
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    other: impl Fn(usize) -> T,
    hint: u32,
    call: S::Call,
) -> [T; R] {
    const { check_groups::<T, R, V>() };
    let mut out = MaybeUninit::<[T; R]>::uninit();
    let regs = out.as_mut_ptr().cast::<T>();
    let bytes = const { access_bytes::<T, V>() };
    let per_access = bytes / T::BYTES;
    let mut k = 0;
    while k < R {
        let g = k - k % V;
        let register = |e: usize| if REV { g + V - 1 - (k % V + e) } else { k + e };
        let mut words: Words = [0; 4];
        let mut e = 0;
        while e < per_access {
            let from = if planted!("device-descending-other-ascends") { k + e } else { register(e) };
            mem::pack(&mut words, e, other(from));
            e += 1;
        }
        // SAFETY: where the group is allowed its addresses are valid, and the lowest is aligned to the group.
        let words = unsafe {
            S::load_words_if(
                addr(register(0)),
                ok(g) || planted!("device-load-group-unmasked"),
                bytes,
                T::BYTES == 8,
                words,
                hint,
                call,
                k,
            )
        };
        let mut e = 0;
        while e < per_access {
            // SAFETY: a register of group `g / V`, which is below R, of which V is a divisor.
            unsafe { regs.add(register(e)).write(mem::unpack(&words, e)) };
            e += 1;
        }
        k += per_access;
    }
    // SAFETY: the loop has written every access of every group.
    unsafe { out.assume_init() }
}

/// Stores groups that are each allowed or not, without a branch.
///
/// # Safety
/// As [`store`], where `ok` of a group's first register is that of all.
#[inline(always)]
unsafe fn store_groups_if<S: Space, T: Mem, const R: usize, const V: usize, const REV: bool>(
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
    hint: u32,
    call: S::Call,
) {
    let bytes = const { access_bytes::<T, V>() };
    let per_access = bytes / T::BYTES;
    let mut k = 0;
    while k < R {
        let g = k - k % V;
        let register = |e: usize| if REV { g + V - 1 - (k % V + e) } else { k + e };
        let mut words: Words = [0; 4];
        let mut e = 0;
        while e < per_access {
            let from = if planted!("device-descending-store-ascends") { k + e } else { register(e) };
            mem::pack(&mut words, e, val(from));
            e += 1;
        }
        // SAFETY: where the group is allowed its addresses may be written, and the lowest is aligned to the group.
        unsafe {
            S::store_words_if(
                addr(register(0)),
                ok(g) || planted!("device-store-group-unmasked"),
                bytes,
                T::BYTES == 8,
                words,
                hint,
                call,
                k,
            )
        };
        k += per_access;
    }
}

#[inline(always)]
fn all<const V: usize>(ok: &impl Fn(usize) -> bool, group: usize) -> bool {
    let mut all = true;
    let mut k = 0;
    while k < V {
        all &= ok(group + k);
        k += 1;
    }
    all
}

/// # Safety
/// If `ok`, the address is valid and aligned to the type.
#[inline(always)]
unsafe fn load_one<S: Space, T: Mem>(addr: u64, ok: bool, other: T, hint: u32, call: S::Call, r: usize) -> T {
    // SAFETY: the caller's contract.
    T::from_bits64(unsafe { S::load_if(addr, ok, T::BYTES, other.to_bits64(), hint, call, r) })
}

/// # Safety
/// As [`load`], all addresses allowed.
#[inline(always)]
unsafe fn load_groups<S: Space, T: Mem, const R: usize, const V: usize, const REV: bool>(
    addr: impl Fn(usize) -> u64,
    hint: u32,
    call: S::Call,
) -> [T; R] {
    const { check_groups::<T, R, V>() };
    let mut out = MaybeUninit::<[T; R]>::uninit();
    let mut g = 0;
    while g < R {
        // SAFETY: all addresses are allowed. The registers of the group are below R, of which V is a divisor.
        unsafe { load_group::<S, T, V, REV>(&addr, g, out.as_mut_ptr().cast::<T>(), hint, call) };
        g += V;
    }
    // SAFETY: the loop has written every group.
    unsafe { out.assume_init() }
}

/// Loads the group that starts at register `g` into `regs`.
///
/// # Safety
/// The group's addresses are valid, the lowest is aligned to the group, and `regs` has room for `g + V` registers.
#[inline(always)]
unsafe fn load_group<S: Space, T: Mem, const V: usize, const REV: bool>(
    addr: &impl Fn(usize) -> u64,
    g: usize,
    regs: *mut T,
    hint: u32,
    call: S::Call,
) {
    let lowest = addr(if REV { g + V - 1 } else { g });
    let bytes = const { access_bytes::<T, V>() };
    let per_access = bytes / T::BYTES;
    let mut k = 0;
    while k < V {
        let at = lowest + (k * T::BYTES) as u64;
        // SAFETY: an access within the group, at a multiple of its size from the lowest address.
        let words = unsafe { S::load(at, bytes, T::BYTES == 8, hint, call, g + k) };
        let mut e = 0;
        while e < per_access {
            let r = if REV && !planted!("device-descending-as-ascending") { g + V - 1 - (k + e) } else { g + k + e };
            // SAFETY: `k + e < V`, so that `g <= r < g + V`, for which the caller has room.
            unsafe { regs.add(r).write(mem::unpack(&words, e)) };
            e += 1;
        }
        k += per_access;
    }
}

/// # Safety
/// As [`store`] and [`shared_store`], by the space.
#[inline(always)]
unsafe fn store_groups<S: Space, T: Mem, const R: usize, const V: usize, const REV: bool>(
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
    hint: u32,
    call: S::Call,
) {
    const { check_groups::<T, R, V>() };
    let bytes = const { access_bytes::<T, V>() };
    let per_access = bytes / T::BYTES;
    let mut g = 0;
    while g < R {
        if V > 1 && (all::<V>(&ok, g) || planted!("device-shared-store-by-first") && ok(g)) {
            let lowest = addr(if REV { g + V - 1 } else { g });
            let mut k = 0;
            while k < V {
                let mut words: Words = [0; 4];
                let mut e = 0;
                while e < per_access {
                    let r = if REV { g + V - 1 - (k + e) } else { g + k + e };
                    mem::pack(&mut words, e, val(r));
                    e += 1;
                }
                let at = lowest + (k * T::BYTES) as u64;
                // SAFETY: the whole group is allowed; an access at a multiple of its size from the lowest address.
                unsafe { S::store(at, bytes, T::BYTES == 8, words, hint, call, g + k) };
                k += per_access;
            }
        } else {
            let mut k = g;
            while k < g + V {
                // SAFETY: an allowed address may be written.
                unsafe { S::store_if(addr(k), ok(k), T::BYTES, val(k).to_bits64(), hint, call, k) };
                k += 1;
            }
        }
        g += V;
    }
}
