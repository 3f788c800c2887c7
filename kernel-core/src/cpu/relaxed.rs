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
    // Memory of a `bool` may hold other bytes than 0 and 1. These are `true`, which `load` makes of them.
    let has_any_bits = !matches!(T::NAME.as_bytes(), b"bool");
    let bytes = if has_any_bits { size_of_val(out) } else { 0 };
    // SAFETY: the caller's contract; `out` is the caller's own, and any bits are those of an element.
    let done = unsafe { copy_vectors(out.as_mut_ptr() as u64, addr, bytes) };
    for (i, o) in out.iter_mut().enumerate().skip(done / size_of::<T>()) {
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
    // SAFETY: the caller's contract; nobody writes `values` meanwhile, which is borrowed.
    let done = unsafe { copy_vectors(addr, values.as_ptr() as u64, size_of_val(values)) };
    for (i, value) in values.iter().enumerate().skip(done / size_of::<T>()) {
        // SAFETY: the caller's contract.
        unsafe { store(addr + (i * size_of::<T>()) as u64, value.assume_init()) };
    }
}

/// Copies as many vectors of [`VECTOR`] bytes as `bytes` has, if there is an instruction for that. How many bytes these
/// are.
///
/// # Safety
/// `from` may be read, `to` may be written, and other threads reach both by atomics at most.
#[inline(always)]
unsafe fn copy_vectors(to: u64, from: u64, bytes: usize) -> usize {
    #[cfg(all(target_arch = "x86_64", not(miri)))]
    if bytes >= VECTOR && super::is_supported() {
        // SAFETY: the caller's contract, and the processor has AVX.
        unsafe { copy_avx(to, from, bytes / VECTOR * VECTOR) };
        return bytes / VECTOR * VECTOR;
    }
    let _ = (to, from, bytes);
    0
}

#[cfg(all(target_arch = "x86_64", not(miri)))]
const VECTOR: usize = 32;

/// # Safety
/// As of [`copy_vectors`]. `bytes` is a positive multiple of [`VECTOR`].
#[cfg(all(target_arch = "x86_64", not(miri)))]
#[target_feature(enable = "avx")]
#[inline(never)]
unsafe fn copy_avx(to: u64, from: u64, bytes: usize) {
    // SAFETY: the block reads and writes the bytes that the caller allows. It does what a loop of relaxed atomic loads
    // and stores of the elements does, as the top of this file says, and clobbers what it names.
    unsafe {
        std::arch::asm!(
            "test {n}, 32",
            "jz 2f",
            "sub {n}, 32",
            "vmovups {a}, [{from} + {n}]",
            "vmovups [{to} + {n}], {a}",
            "2:",
            "xor {i:e}, {i:e}",
            "cmp {i}, {n}",
            "je 4f",
            ".p2align 4",
            "3:",
            "vmovups {a}, [{from} + {i}]",
            "vmovups {b}, [{from} + {i} + 32]",
            "vmovups [{to} + {i}], {a}",
            "vmovups [{to} + {i} + 32], {b}",
            "add {i}, 64",
            "cmp {i}, {n}",
            "jne 3b",
            "4:",
            n = inout(reg) bytes => _,
            i = out(reg) _,
            from = in(reg) from,
            to = in(reg) to,
            a = out(ymm_reg) _,
            b = out(ymm_reg) _,
            options(nostack),
        );
    }
}
