//! Loads and stores of elements that other programs may store to meanwhile.
//!
//! Every access has the effect of relaxed atomics, one for each element. LLVM does not vectorize atomics, so runs are
//! copied by vector instructions in an `asm!` block where the processor has AVX. Such an instruction may be split
//! between elements only: elements are aligned to their size, and a processor splits an access at boundaries of 8 bytes
//! or more.

use super::Mem;
use std::mem::{MaybeUninit, transmute_copy};
use std::sync::atomic::Ordering;

/// The expression with `$atomic` as the element at an address: an atomic integer of the size of `$t`.
macro_rules! by_size {
    ($t:ident at $addr:ident, $atomic:ident => $e:expr) => {
        match $t::BYTES {
            1 => by_size!(@with std::sync::atomic::AtomicU8, $addr, $atomic, $e),
            2 => by_size!(@with std::sync::atomic::AtomicU16, $addr, $atomic, $e),
            4 => by_size!(@with std::sync::atomic::AtomicU32, $addr, $atomic, $e),
            _ => by_size!(@with std::sync::atomic::AtomicU64, $addr, $atomic, $e),
        }
    };
    (@with $type:ty, $addr:ident, $atomic:ident, $e:expr) => {{
        // SAFETY: the contract of the function around it: an element of the same size and alignment may be read and
        // written there. Others reach it by atomics meanwhile.
        let $atomic: &$type = unsafe { &*($addr as *const $type) };
        #[allow(clippy::unnecessary_cast)]
        let r = $e;
        r
    }};
}

pub(super) use by_size;

/// # Safety
/// `addr` is readable.
#[inline(always)]
pub(super) unsafe fn load<T: Mem>(addr: u64) -> T {
    by_size!(T at addr, atomic => T::from_bits64(atomic.load(Ordering::Relaxed) as u64))
}

/// # Safety
/// `addr` is writable.
#[inline(always)]
pub(super) unsafe fn store<T: Mem>(addr: u64, value: T) {
    // SAFETY: the caller's contract. The integer has the size of the element.
    by_size!(T at addr, atomic => atomic.store(unsafe { transmute_copy(&value) }, Ordering::Relaxed))
}

/// Loads as many elements as `out` has from consecutive addresses.
///
/// # Safety
/// All of them are readable.
#[inline(never)]
pub(super) unsafe fn load_run<T: Mem>(out: &mut [MaybeUninit<T>], addr: u64) {
    // SAFETY: the caller's contract.
    unsafe { load_short_run(out, addr, has_vectors()) }
}

/// As [`load_run`], inlined. `vectors`: whether the processor [has vectors](has_vectors). Callers that load many runs
/// are compiled for AVX: other instructions wait for the upper halves of vectors.
///
/// # Safety
/// As of [`load_run`], and the processor has vectors if `vectors` says so.
#[inline(always)]
pub(super) unsafe fn load_short_run<T: Mem>(out: &mut [MaybeUninit<T>], addr: u64, vectors: bool) {
    // Memory of a `bool` may hold other bytes than 0 and 1. These are `true`, which `load` makes of them.
    let has_any_bits = !matches!(T::NAME.as_bytes(), b"bool");
    let bytes = if has_any_bits && vectors { size_of_val(out) / VECTOR * VECTOR } else { 0 };
    // SAFETY: the caller's contract; `out` is the caller's own, and any bits are those of an element.
    unsafe { copy_vectors(out.as_mut_ptr() as u64, addr, bytes) };
    for (i, o) in out.iter_mut().enumerate().skip(bytes / size_of::<T>()) {
        // SAFETY: the caller's contract.
        o.write(unsafe { load(addr + (i * size_of::<T>()) as u64) });
    }
}

/// Stores elements to consecutive addresses.
///
/// # Safety
/// All of these are writable. The values are initialized.
#[inline(never)]
pub(super) unsafe fn store_run<T: Mem>(addr: u64, values: &[MaybeUninit<T>]) {
    let bytes = if has_vectors() { size_of_val(values) / VECTOR * VECTOR } else { 0 };
    // SAFETY: the caller's contract; nobody writes `values` meanwhile, which is borrowed.
    unsafe { copy_vectors(addr, values.as_ptr() as u64, bytes) };
    for (i, value) in values.iter().enumerate().skip(bytes / size_of::<T>()) {
        // SAFETY: the caller's contract.
        unsafe { store(addr + (i * size_of::<T>()) as u64, value.assume_init()) };
    }
}

/// Bytes of a vector.
const VECTOR: usize = 32;
/// Copies of up to so many bytes are inlined.
const SHORT: usize = 128;

/// Whether vectors can be copied.
pub(super) fn has_vectors() -> bool {
    cfg!(all(target_arch = "x86_64", not(miri))) && super::is_supported()
}

/// Copies `bytes`, a multiple of [`VECTOR`].
///
/// # Safety
/// `from` may be read, `to` may be written, and other threads reach both by atomics at most. If there are any bytes,
/// the processor [has vectors](has_vectors).
#[inline(always)]
unsafe fn copy_vectors(to: u64, from: u64, bytes: usize) {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if bytes > SHORT {
        // SAFETY: the caller's contract.
        unsafe { copy_avx(to, from, bytes) };
    } else {
        for at in (0..bytes as u64).step_by(VECTOR) {
            // SAFETY: the caller's contract.
            unsafe { copy_vector(to + at, from + at) };
        }
    }
    let _ = (to, from, bytes);
}

/// # Safety
/// As of [`copy_vectors`], of one vector.
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx")]
#[inline]
unsafe fn copy_vector(to: u64, from: u64) {
    // SAFETY: the block reads and writes the bytes that the caller allows. It does what relaxed atomic loads and stores
    // of the elements do, as the top of this file says, and names its clobbers. The prefetch of the next step's loads
    // in a loop over columns may name any address.
    unsafe {
        std::arch::asm!(
            "vmovups {a}, [{from}]",
            "prefetcht0 [{from} + 128]",
            "vmovups [{to}], {a}",
            from = in(reg) from,
            to = in(reg) to,
            a = out(ymm_reg) _,
            options(nostack, preserves_flags),
        );
    }
}

/// # Safety
/// As of [`copy_vectors`]. `bytes` is a positive multiple of [`VECTOR`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx")]
#[inline(never)]
unsafe fn copy_avx(to: u64, from: u64, bytes: usize) {
    // SAFETY: the block reads and writes the bytes that the caller allows. It does what a loop of relaxed atomic loads
    // and stores of the elements does, as the top of this file says, and names its clobbers.
    unsafe {
        std::arch::asm!(
            "test {n}, 32",
            "jz 2f",
            "sub {n}, 32",
            "vmovups ymm0, [{from} + {n}]",
            "vmovups [{to} + {n}], ymm0",
            "2:",
            "xor {i:e}, {i:e}",
            "cmp {i}, {n}",
            "je 4f",
            ".p2align 4",
            "3:",
            "vmovups ymm0, [{from} + {i}]",
            "vmovups ymm1, [{from} + {i} + 32]",
            "vmovups [{to} + {i}], ymm0",
            "vmovups [{to} + {i} + 32], ymm1",
            "add {i}, 64",
            "cmp {i}, {n}",
            "jne 3b",
            "4:",
            // Else instructions without AVX, which callers have in builds for any x86-64, would wait for these halves.
            "vzeroupper",
            n = inout(reg) bytes => _,
            i = out(reg) _,
            from = in(reg) from,
            to = in(reg) to,
            out("ymm0") _, out("ymm1") _, out("ymm2") _, out("ymm3") _, out("ymm4") _, out("ymm5") _,
            out("ymm6") _, out("ymm7") _, out("ymm8") _, out("ymm9") _, out("ymm10") _, out("ymm11") _,
            out("ymm12") _, out("ymm13") _, out("ymm14") _, out("ymm15") _,
            options(nostack),
        );
    }
}
