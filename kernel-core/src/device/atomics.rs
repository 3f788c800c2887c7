//! Atomic operations: on global memory at device scope, on the shared memory of a program for its threads.

use super::{Mem, each, hw};

/// Combines `val` into memory by `OP`, a constant of [`atomic`](mod@super::atomic), and returns the old values, zero
/// where not allowed. Without `relaxed`, the operation both acquires and releases at device scope; a load takes no
/// value and only acquires, a store gives zero and only releases.
///
/// MAX and MIN on floats keep the number if the other is NaN. They and operations on 8-bit and bfloat16 types are loops
/// around compare-and-swap if the hardware has no such operation. `f32` additions flush subnormals to zero on the GPU.
///
/// # Safety
/// Allowed addresses are valid, writable and aligned to the type.
#[inline(always)]
pub unsafe fn atomic<T: Mem, const R: usize, const OP: u32>(
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
    relaxed: bool,
    site: u32,
) -> [T; R] {
    let (relaxed, ok) =
        (relaxed || planted!("device-atomic-is-relaxed"), |r| ok(r) || planted!("device-atomic-unmasked"));
    // SAFETY: an allowed address is valid, writable and aligned, by this function's contract.
    each(|r| if ok(r) { unsafe { hw::atomic::<T, OP>(addr(r), val(r), relaxed, site) } } else { T::ZERO })
}

/// Adds to memory, without results and relaxed: VEC neighbors at once where the target has such an instruction, which
/// is compute capability 9.0 and later. With `WHOLE`, the elements of an access are allowed as a whole or not at all.
///
/// # Safety
/// Allowed addresses are valid, writable and aligned to the type; where all of an access are, the first of them is
/// aligned to all its bytes.
#[inline(always)]
pub unsafe fn atomic_add_vectors<T: Mem, const R: usize, const VEC: usize, const WHOLE: bool>(
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
    site: u32,
) {
    const { assert!(R.is_multiple_of(VEC), "whole vectors") };
    let mut first = 0;
    while first < R {
        let is_whole = if WHOLE || planted!("device-add-vector-by-its-first") {
            ok(first)
        } else {
            let (mut all, mut i) = (true, 0);
            while i < VEC {
                all &= ok(first + i);
                i += 1;
            }
            all
        };
        if is_whole {
            // SAFETY: all elements of the access are allowed, by this function's contract.
            unsafe { hw::add_vector::<T, VEC>(addr(first), |i| val(first + i), site) };
        } else if !WHOLE && !planted!("device-add-vector-drops-the-rest") {
            let mut i = first;
            while i < first + VEC {
                if ok(i) {
                    // SAFETY: the element is allowed.
                    unsafe { hw::atomic::<T, { super::atomic::ADD }>(addr(i), val(i), true, site) };
                }
                i += 1;
            }
        }
        first += VEC;
    }
}

/// If memory holds the bits of `expected`, replaces them by those of `new`. Returns the old values, zero where masked.
///
/// # Safety
/// As [`atomic`](fn@atomic).
#[inline(always)]
pub unsafe fn atomic_cas<T: Mem, const R: usize>(
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    expected: impl Fn(usize) -> T,
    new: impl Fn(usize) -> T,
    relaxed: bool,
    site: u32,
) -> [T; R] {
    let ok = |r| ok(r) || planted!("device-atomic-cas-unmasked");
    // SAFETY: an allowed address is valid, writable and aligned, by this function's contract.
    each(|r| if ok(r) { unsafe { hw::atomic_cas(addr(r), expected(r), new(r), relaxed, site) } } else { T::ZERO })
}

/// Adds to elements of 4 or 8 bytes in the program's dynamic shared memory, at byte offsets, where allowed. It orders
/// no other accesses.
///
/// # Safety
/// Allowed offsets lie in the program's shared memory, and are aligned to the type.
#[inline(always)]
pub unsafe fn shared_atomic_add<T: Mem, const R: usize>(
    off: impl Fn(usize) -> u32,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
    site: u32,
) {
    const { assert!(T::BYTES >= 4, "elements of 4 or 8 bytes") };
    let mut r = 0;
    while r < R {
        // SAFETY: an allowed offset lies in the program's shared memory, aligned, by this function's contract.
        unsafe { hw::shared_atomic_add(off(r), ok(r) || planted!("device-shared-atomic-unmasked"), val(r), site) };
        r += 1;
    }
}

/// As [`atomic`](fn@atomic), of elements in the program's dynamic shared memory, at byte offsets. It orders no other
/// accesses.
///
/// # Safety
/// Allowed offsets lie in the program's shared memory, and are aligned to the type.
#[inline(always)]
pub unsafe fn shared_atomic<T: Mem, const R: usize, const OP: u32>(
    off: impl Fn(usize) -> u32,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
    site: u32,
) -> [T; R] {
    let ok = |r| ok(r) || planted!("device-shared-array-atomic-unmasked");
    // SAFETY: an allowed offset lies in the program's shared memory, aligned, by this function's contract.
    each(|r| if ok(r) { unsafe { hw::shared_atomic::<T, OP>(off(r), val(r), site) } } else { T::ZERO })
}

/// As [`atomic_cas`], of elements in the program's dynamic shared memory, at byte offsets. It orders no other accesses.
///
/// # Safety
/// As [`shared_atomic`].
#[inline(always)]
pub unsafe fn shared_atomic_cas<T: Mem, const R: usize>(
    off: impl Fn(usize) -> u32,
    ok: impl Fn(usize) -> bool,
    expected: impl Fn(usize) -> T,
    new: impl Fn(usize) -> T,
    site: u32,
) -> [T; R] {
    let ok = |r| ok(r) || planted!("device-shared-atomic-cas-unmasked");
    // SAFETY: an allowed offset lies in the program's shared memory, aligned, by this function's contract.
    each(|r| if ok(r) { unsafe { hw::shared_atomic_cas(off(r), expected(r), new(r), site) } } else { T::ZERO })
}
