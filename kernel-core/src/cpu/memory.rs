//! Memory that programs share: loads, stores, atomics.
//!
//! Addresses are aligned to the element only. Programs that race on an element without atomics have undefined values,
//! as on a GPU.

use super::Mem;
use super::pool::Buffer;
use super::shape::Shape;
use super::tile::{Tile, fill};
use crate::scalar::atomic_op;
use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering};

/// Runs shorter than this are not worth the check of the whole.
const SHORTEST_RUN: usize = 4;

/// The elements at `addr(i)`, where `ok(i)`, else `other(i)`.
///
/// # Safety
/// `addr(i)` is readable where `ok(i)`. Each `run` consecutive `i` have consecutive addresses.
#[inline(always)]
pub unsafe fn load<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    other: impl Fn(usize) -> T,
) -> Tile<T> {
    let all = |first, len| (first..first + len).fold(true, |all, i| all & ok(i));
    load_runs(shape, run, addr, &ok, all, other)
}

/// [`load`] where `ok` is a bounds check alone: within a run it holds on an interval, so its ends decide for all.
///
/// # Safety
/// As [`load`].
#[inline(always)]
pub unsafe fn load_clipped<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    other: impl Fn(usize) -> T,
) -> Tile<T> {
    let all = |first, len: usize| ok(first) && ok(first + len - 1);
    load_runs(shape, run, addr, &ok, all, other)
}

#[inline(always)]
unsafe fn load_runs<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: &impl Fn(usize) -> bool,
    all: impl Fn(usize, usize) -> bool,
    other: impl Fn(usize) -> T,
) -> Tile<T> {
    let shape = Shape::new(shape);
    let mut elements = Buffer::new(shape.elements());
    let out = elements.uninit();
    let step = if run < SHORTEST_RUN { out.len().max(1) } else { run };
    for (k, out) in out.chunks_mut(step).enumerate() {
        let first = k * step;
        if run >= SHORTEST_RUN && all(first, out.len()) {
            std::ptr::copy_nonoverlapping(addr(first) as *const MaybeUninit<T>, out.as_mut_ptr(), out.len());
        } else {
            fill(out, |i| if ok(first + i) { *(addr(first + i) as *const T) } else { other(first + i) });
        }
    }
    Tile::new(shape, elements)
}

/// Stores `val(i)` at `addr(i)` where `ok(i)`. `val` is called for every i.
///
/// # Safety
/// `addr(i)` is writable where `ok(i)`. Each `run` consecutive `i` have consecutive addresses.
#[inline(always)]
pub unsafe fn store<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
) {
    let all = |first, len| (first..first + len).fold(true, |all, i| all & ok(i));
    store_runs(shape, run, addr, &ok, all, val)
}

/// [`store`] where `ok` is a bounds check alone: within a run it holds on an interval, so its ends decide for all.
///
/// # Safety
/// As [`store`].
#[inline(always)]
pub unsafe fn store_clipped<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: impl Fn(usize) -> bool,
    val: impl Fn(usize) -> T,
) {
    let all = |first, len: usize| ok(first) && ok(first + len - 1);
    store_runs(shape, run, addr, &ok, all, val)
}

#[inline(always)]
unsafe fn store_runs<T: Mem>(
    shape: &[usize],
    run: usize,
    addr: impl Fn(usize) -> u64,
    ok: &impl Fn(usize) -> bool,
    all: impl Fn(usize, usize) -> bool,
    val: impl Fn(usize) -> T,
) {
    let n = Shape::new(shape).elements();
    let step = if run < SHORTEST_RUN { n.max(1) } else { run };
    let mut aside = None;
    let mut first = 0;
    while first < n {
        let len = step.min(n - first);
        let whole = run >= SHORTEST_RUN && all(first, len);
        // In one place, so that `val`, which may be most of the kernel, is inlined.
        let out = if whole {
            std::slice::from_raw_parts_mut(addr(first) as *mut MaybeUninit<T>, len)
        } else {
            &mut aside.get_or_insert_with(|| Buffer::new(step)).uninit()[..len]
        };
        fill(out, |i| val(first + i));
        if !whole {
            let out = out.as_ptr().cast::<T>();
            for i in (0..len).filter(|&i| ok(first + i)) {
                *(addr(first + i) as *mut T) = *out.add(i);
            }
        }
        first += len;
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
    super::each(shape, |i| if ok(i) { atomic_one::<T, OP>(addr(i), val(i)) } else { T::ZERO })
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
    let one =
        |i| T::from_bits64(cas::<T>(addr(i), expected(i).to_bits64(), new(i).to_bits64()).unwrap_or_else(|old| old));
    super::each(shape, |i| if ok(i) { one(i) } else { T::ZERO })
}

/// One atomic on one element, of any type: by compare and swap of its bits.
unsafe fn atomic_one<T: Mem, const OP: u32>(addr: u64, v: T) -> T {
    if OP == atomic_op::STORE {
        write_bits::<T>(addr, v.to_bits64());
        return T::ZERO;
    }
    let mut old = read_bits::<T>(addr);
    if OP == atomic_op::LOAD {
        super::launch::wait_a_little();
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
        match cas::<T>(addr, old, new.to_bits64()) {
            Ok(_) => return a,
            Err(now) => old = now,
        }
    }
}

/// The expression with `$atomic` as the atomic integer of the size of `$t`.
macro_rules! by_size {
    ($t:ident, $atomic:ident => $e:expr) => {
        match $t::BYTES {
            1 => by_size!(@with AtomicU8, $atomic, $e),
            2 => by_size!(@with AtomicU16, $atomic, $e),
            4 => by_size!(@with AtomicU32, $atomic, $e),
            _ => by_size!(@with AtomicU64, $atomic, $e),
        }
    };
    (@with $a:ident, $atomic:ident, $e:expr) => {{
        type $atomic = $a;
        #[allow(clippy::unnecessary_cast)]
        let r = $e;
        r
    }};
}

unsafe fn read_bits<T: Mem>(addr: u64) -> u64 {
    by_size!(T, Atomic => (*(addr as *const Atomic)).load(Ordering::Acquire) as u64)
}

unsafe fn write_bits<T: Mem>(addr: u64, bits: u64) {
    by_size!(T, Atomic => (*(addr as *const Atomic)).store(bits as _, Ordering::Release))
}

/// The old bits: as `Ok` if they were as expected.
unsafe fn cas<T: Mem>(addr: u64, expected: u64, new: u64) -> Result<u64, u64> {
    by_size!(T, Atomic => {
        let atomic = &*(addr as *const Atomic);
        let r = atomic.compare_exchange(expected as _, new as _, Ordering::AcqRel, Ordering::Acquire);
        r.map(|old| old as u64).map_err(|old| old as u64)
    })
}
