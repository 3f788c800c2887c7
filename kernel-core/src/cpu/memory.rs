//! Memory that programs share: loads, stores, atomics.
//!
//! Addresses are aligned to the element only. Programs that store to one element without atomics leave the value of one
//! of them, as on a GPU: all accesses are atomic for the element ([`relaxed`](super::relaxed)).
//!
//! An address is *readable* or *writable* if an element of the type may be loaded from or stored to it: it is aligned,
//! lies in an argument of the kernel, and a load finds a valid value of the type there.

use super::Mem;
use super::relaxed::{self, by_size};
use super::shape::elements;
use super::tile::{Tile, fill_from, unwritten};
use crate::scalar::atomic_op;
use std::sync::atomic::Ordering;

/// The shortest run of elements whose masks are checked as a whole.
const MIN_RUN: usize = 4;

/// Whether `len` consecutive indices from `first` on have consecutive addresses. An index of few bits wraps around to
/// an earlier element: then the last address is nearer than `len - 1` elements.
#[inline(always)]
fn is_consecutive<T>(first: usize, len: usize, addr: impl Fn(usize) -> u64) -> bool {
    addr(first + len - 1).wrapping_sub(addr(first)) == ((len - 1) * size_of::<T>()) as u64
}

/// The elements at `addr(i)`, where `ok(i)`, else `other(i)`.
///
/// # Safety
/// `addr(i)` is readable where `ok(i)`. Each `run` consecutive `i` have consecutive indices, which may wrap around.
#[inline(always)]
pub unsafe fn load<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    other: impl Fn(usize) -> T,
) -> Tile<T> {
    let all = |first, len| (first..first + len).fold(true, |all, i| all & ok(i));
    // SAFETY: the caller's contract; `all` asks every element.
    unsafe { load_runs(shape, run, addr, &ok, all, other) }
}

/// [`load`] where `ok` is a bounds check alone: within a run it holds on an interval, so its ends decide for all.
///
/// # Safety
/// As [`load`], and within a run whose addresses are consecutive `ok` holds on an interval.
#[inline(always)]
pub unsafe fn load_clipped<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    other: impl Fn(usize) -> T,
) -> Tile<T> {
    let all = |first, len: usize| ok(first) && ok(first + len - 1);
    // SAFETY: the caller's contract; where the ends of an interval are allowed, all of it is.
    unsafe { load_runs(shape, run, addr, &ok, all, other) }
}

/// # Safety
/// As [`load`]. `all(first, len)` says no more than that `ok` holds for the `len` elements from `first` on.
#[inline(always)]
unsafe fn load_runs<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: &impl Fn(usize) -> bool,
    all: impl Fn(usize, usize) -> bool,
    other: impl Fn(usize) -> T,
) -> Tile<T> {
    let (shape, mut elements) = unwritten(shape);
    let out = elements.uninit();
    let step = if run < MIN_RUN { out.len().max(1) } else { run };
    for (k, out) in out.chunks_mut(step).enumerate() {
        let first = k * step;
        if run >= MIN_RUN && is_consecutive::<T>(first, out.len(), &addr) && all(first, out.len()) {
            // SAFETY: all elements of the run are readable, at consecutive addresses; `out` is the tile's own.
            unsafe { relaxed::load_run(out, addr(first)) };
        } else {
            // SAFETY: an allowed address is readable.
            fill_from(out, first, |i| if ok(i) { unsafe { relaxed::load(addr(i)) } } else { other(i) });
        }
    }
    // SAFETY: the chunks are all of the tile's elements, and each was filled.
    unsafe { Tile::new(shape, elements) }
}

/// Stores `val(i)` at `addr(i)` where `ok(i)`. `val` is called for every i.
///
/// # Safety
/// `addr(i)` is writable where `ok(i)`. Each `run` consecutive `i` have consecutive indices, which may wrap around.
#[inline(always)]
pub unsafe fn store<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
) {
    let all = |first, len| (first..first + len).fold(true, |all, i| all & ok(i));
    // SAFETY: the caller's contract; `all` asks every element.
    unsafe { store_runs(shape, run, addr, &ok, all, val) }
}

/// [`store`] where `ok` is a bounds check alone: within a run it holds on an interval, so its ends decide for all.
///
/// # Safety
/// As [`store`], and within a run whose addresses are consecutive `ok` holds on an interval.
#[inline(always)]
pub unsafe fn store_clipped<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
) {
    let all = |first, len: usize| ok(first) && ok(first + len - 1);
    // SAFETY: the caller's contract; where the ends of an interval are allowed, all of it is.
    unsafe { store_runs(shape, run, addr, &ok, all, val) }
}

/// # Safety
/// As [`store`]. `all(first, len)` says no more than that `ok` holds for the `len` elements from `first` on.
#[inline(always)]
unsafe fn store_runs<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: &impl Fn(usize) -> bool,
    all: impl Fn(usize, usize) -> bool,
    val: impl Fn(usize) -> T,
) {
    let n = elements(shape);
    let step = if run < MIN_RUN { n.max(1) } else { run }.min(n);
    let (_, mut aside) = unwritten(&[step]);
    for first in (0..n).step_by(step.max(1)) {
        let out = &mut aside.uninit()[..step.min(n - first)];
        fill_from(out, first, &val);
        if run >= MIN_RUN && is_consecutive::<T>(first, out.len(), &addr) && all(first, out.len()) {
            // SAFETY: all elements of the run are writable, at consecutive addresses, and their values are
            // written above.
            unsafe { relaxed::store_run(addr(first), out) };
        } else {
            for (i, value) in out.iter().enumerate().filter(|&(i, _)| ok(first + i)) {
                // SAFETY: an allowed address is writable, and its value is written above.
                unsafe { relaxed::store(addr(first + i), value.assume_init()) };
            }
        }
    }
}

/// Applies the [`atomic_op`] `OP`, with acquire and release. The old values; 0 where not `ok(i)`, and of stores.
///
/// # Safety
/// `addr(i)` is readable and writable where `ok(i)`.
#[inline(always)]
pub unsafe fn atomic<T: Mem, const OP: u32>(
    shape: &[usize],
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
) -> Tile<T> {
    // SAFETY: an allowed address is readable and writable.
    super::each(shape, |i| if ok(i) { unsafe { atomic_one::<T, OP>(addr(i), val(i)) } } else { T::ZERO })
}

/// Stores `new(i)` where the bits of `expected(i)` are found. The old values; 0 where not `ok(i)`.
///
/// # Safety
/// `addr(i)` is readable and writable where `ok(i)`.
#[inline(always)]
pub unsafe fn atomic_cas<T: Mem>(
    shape: &[usize],
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    expected: impl Fn(usize) -> T,
    new: impl Fn(usize) -> T,
) -> Tile<T> {
    let one = |i| {
        let (expected, new) = (expected(i).to_bits64(), new(i).to_bits64());
        // SAFETY: called for allowed addresses alone, which are readable and writable.
        let old = unsafe { cas::<T>(addr(i), expected, new) }.unwrap_or_else(|old| {
            super::launch::may_wait(addr(i), old);
            old
        });
        T::from_bits64(old)
    };
    super::each(shape, |i| if ok(i) { one(i) } else { T::ZERO })
}

/// One atomic on one element, of any type: by compare and swap of its bits.
///
/// # Safety
/// `addr` is readable and writable.
unsafe fn atomic_one<T: Mem, const OP: u32>(addr: u64, v: T) -> T {
    if OP == atomic_op::STORE {
        // SAFETY: the caller's contract.
        unsafe { write_bits::<T>(addr, v.to_bits64()) };
        return T::ZERO;
    }
    // SAFETY: the caller's contract.
    let mut old = unsafe { read_bits::<T>(addr) };
    if OP == atomic_op::LOAD {
        super::launch::may_wait(addr, old);
        return T::from_bits64(old);
    }
    loop {
        let a = T::from_bits64(old);
        let new = match OP {
            atomic_op::ADD => T::atomic_add(a, v),
            atomic_op::MAX => T::max(a, v),
            atomic_op::MIN => T::min(a, v),
            atomic_op::XCHG => v,
            _ => T::atomic_bits(OP, a, v),
        };
        // SAFETY: the caller's contract.
        match unsafe { cas::<T>(addr, old, new.to_bits64()) } {
            Ok(_) => {
                // The program may wait for another value. An exchange is how one takes a lock; other operations that
                // change nothing, such as a maximum of smaller numbers, are rarely repeated for that.
                if new.to_bits64() == old {
                    match OP {
                        atomic_op::XCHG => super::launch::may_wait(addr, old),
                        _ => super::launch::fail_with_others(),
                    }
                }
                return a;
            }
            Err(now) => old = now,
        }
    }
}

/// # Safety
/// `addr` is readable and writable.
unsafe fn read_bits<T: Mem>(addr: u64) -> u64 {
    by_size!(T at addr, atomic => atomic.load(Ordering::Acquire) as u64)
}

/// # Safety
/// `addr` is readable and writable.
unsafe fn write_bits<T: Mem>(addr: u64, bits: u64) {
    by_size!(T at addr, atomic => atomic.store(bits as _, Ordering::Release))
}

/// The old bits: as `Ok` if they were as expected.
///
/// # Safety
/// `addr` is readable and writable.
unsafe fn cas<T: Mem>(addr: u64, expected: u64, new: u64) -> Result<u64, u64> {
    by_size!(T at addr, atomic => {
        let r = atomic.compare_exchange(expected as _, new as _, Ordering::AcqRel, Ordering::Acquire);
        r.map(|old| old as u64).map_err(|old| old as u64)
    })
}
