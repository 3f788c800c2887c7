//! Atomics in PTX: at device scope on global memory, and relaxed ones on the shared memory of the thread block.
//!
//! Every function that takes an address has one contract: an element of the type may be read and written there, and the
//! address is aligned to it. A byte is exchanged with the word around it, which every allocation of the device has as a
//! whole; other bytes of the word keep their values.

use core::arch::asm;

use super::Shared;
use crate::device::Mem;
use crate::device::mem::{Repr, combine, repr};
use crate::scalar::atomic_op;

/// The memory of an atomic: constants that choose the instruction.
#[derive(Clone, Copy, PartialEq)]
enum To {
    Shared,
    Global { relaxed: bool },
}

const RELAXED: To = To::Global { relaxed: true };

impl To {
    fn relaxed(self) -> To {
        if let To::Shared = self { self } else { RELAXED }
    }
}

macro_rules! atom {
    ($to:expr, $op:literal, $reg:ident, $word:ty, $addr:expr, $($v:expr),+) => {{
        let old: $word;
        // SAFETY: an element of this many bits may be read and written at the address: the contract of this module.
        unsafe {
            if let To::Shared = $to {
                asm!(concat!("atom.relaxed.cta.shared.", $op, ";"), out($reg) old, in(reg32) $addr as u32, $(in($reg) $v as $word),+, options(nostack));
            } else if $to == RELAXED {
                asm!(concat!("atom.relaxed.gpu.global.", $op, ";"), out($reg) old, in(reg64) $addr, $(in($reg) $v as $word),+, options(nostack));
            } else {
                asm!(concat!("atom.acq_rel.gpu.global.", $op, ";"), out($reg) old, in(reg64) $addr, $(in($reg) $v as $word),+, options(nostack));
            }
        }
        old as u64
    }};
}

/// A load that sees concurrent stores of other threads.
macro_rules! fresh {
    ($to:expr, $bits:literal, $reg:ident, $word:ty, $addr:expr) => {{
        let w: $word;
        // SAFETY: an element of this many bits may be read at the address: the contract of this module.
        unsafe {
            if let To::Shared = $to {
                asm!(concat!("ld.relaxed.cta.shared.", $bits, " {}, [{}];"), out($reg) w, in(reg32) $addr as u32, options(nostack));
            } else if $to == RELAXED {
                asm!(concat!("ld.relaxed.gpu.global.", $bits, " {}, [{}];"), out($reg) w, in(reg64) $addr, options(nostack));
            } else {
                asm!(concat!("ld.acquire.gpu.global.", $bits, " {}, [{}];"), out($reg) w, in(reg64) $addr, options(nostack));
            }
        }
        w
    }};
}

/// A store that others see at once.
macro_rules! publish {
    ($to:expr, $bits:literal, $reg:ident, $word:ty, $addr:expr, $v:expr) => {
        // SAFETY: an element of this many bits may be written at the address: the contract of this module.
        unsafe {
            if let To::Shared = $to {
                asm!(concat!("st.relaxed.cta.shared.", $bits, " [{}], {};"), in(reg32) $addr as u32, in($reg) $v as $word, options(nostack))
            } else if $to == RELAXED {
                asm!(concat!("st.relaxed.gpu.global.", $bits, " [{}], {};"), in(reg64) $addr, in($reg) $v as $word, options(nostack))
            } else {
                asm!(concat!("st.release.gpu.global.", $bits, " [{}], {};"), in(reg64) $addr, in($reg) $v as $word, options(nostack))
            }
        }
    };
}

/// # Safety
/// The contract of this module.
#[inline(always)]
pub unsafe fn atomic<T: Mem, const OP: u32>(addr: u64, v: T, relaxed: bool, _site: u32) -> T {
    // SAFETY: the caller's contract.
    unsafe { atomic_at::<T, OP>(To::Global { relaxed }, addr, v) }
}

/// Adds VEC neighbors. Targets that lack vectors add them one by one.
///
/// # Safety
/// VEC elements may be read and written at the address, which is aligned to all of them.
#[inline(always)]
pub unsafe fn add_vector<T: Mem, const VEC: usize>(addr: u64, v: impl Fn(usize) -> T, site: u32) {
    #[cfg(target_feature = "sm_90")]
    {
        let bits = |i: usize| v(i).to_bits64() as u32;
        // One element, or two of 16 bits.
        let word = |i: usize| if T::BYTES == 4 { bits(i) } else { bits(2 * i) | bits(2 * i + 1) << 16 };
        /// Adds registers of 32 bits at an address.
        macro_rules! red {
            ($op:literal, $($i:literal)+) => {
                // SAFETY: the caller's contract.
                unsafe { asm!(concat!("red.relaxed.gpu.global.add.", $op, ";"), in(reg64) addr, $(in(reg32) word($i)),+, options(nostack)) }
            };
        }
        match (VEC, const { repr::<T>() }) {
            (2, Repr::F32) => return red!("v2.f32 [{}], {{{}, {}}}", 0 1),
            (4, Repr::F32) => return red!("v4.f32 [{}], {{{}, {}, {}, {}}}", 0 1 2 3),
            (2, Repr::F16) => return red!("noftz.f16x2 [{}], {}", 0),
            (4, Repr::F16) => return red!("noftz.v2.f16x2 [{}], {{{}, {}}}", 0 1),
            (8, Repr::F16) => return red!("noftz.v4.f16x2 [{}], {{{}, {}, {}, {}}}", 0 1 2 3),
            (2, Repr::BF16) => return red!("noftz.bf16x2 [{}], {}", 0),
            (4, Repr::BF16) => return red!("noftz.v2.bf16x2 [{}], {{{}, {}}}", 0 1),
            (8, Repr::BF16) => return red!("noftz.v4.bf16x2 [{}], {{{}, {}, {}, {}}}", 0 1 2 3),
            _ => {}
        }
    }
    let mut i = 0;
    while i < VEC {
        // SAFETY: the caller's contract.
        unsafe { atomic::<T, { atomic_op::ADD }>(addr + (i * T::BYTES) as u64, v(i), true, site) };
        i += 1;
    }
}

/// # Safety
/// An element of the type lies at the offset into shared memory, aligned to it.
#[inline(always)]
pub unsafe fn shared_atomic<T: Mem, const OP: u32>(off: u32, v: T, _site: u32) -> T {
    // SAFETY: the caller's contract.
    unsafe { atomic_at::<T, OP>(To::Shared, Shared::address(off), v) }
}

/// # Safety
/// The contract of this module.
#[inline(always)]
unsafe fn atomic_at<T: Mem, const OP: u32>(to: To, addr: u64, v: T) -> T {
    let bits = v.to_bits64();
    match (T::BYTES, OP) {
        (4, atomic_op::LOAD) => return T::from_bits64(fresh!(to, "b32", reg32, u32, addr) as u64),
        (2, atomic_op::LOAD) => return T::from_bits64(fresh!(to, "b16", reg16, u16, addr) as u64),
        (8, atomic_op::LOAD) => return T::from_bits64(fresh!(to, "b64", reg64, u64, addr)),
        (4, atomic_op::STORE) => publish!(to, "b32", reg32, u32, addr, bits),
        (2, atomic_op::STORE) => publish!(to, "b16", reg16, u16, addr, bits),
        (8, atomic_op::STORE) => publish!(to, "b64", reg64, u64, addr, bits),
        _ => {}
    }
    if OP == atomic_op::STORE && T::BYTES >= 2 {
        return T::ZERO;
    }
    macro_rules! a32 {
        ($op:literal) => {
            atom!(to, $op, reg32, u32, addr, bits)
        };
    }
    macro_rules! a64 {
        ($op:literal) => {
            atom!(to, $op, reg64, u64, addr, bits)
        };
    }
    use Repr::*;
    let old = match (T::BYTES, OP, const { repr::<T>() }) {
        (4, atomic_op::ADD, F32) => a32!("add.f32 {}, [{}], {}"),
        (4, atomic_op::ADD, _) => a32!("add.u32 {}, [{}], {}"),
        (4, atomic_op::MAX, Signed) => a32!("max.s32 {}, [{}], {}"),
        (4, atomic_op::MAX, Unsigned) => a32!("max.u32 {}, [{}], {}"),
        (4, atomic_op::MIN, Signed) => a32!("min.s32 {}, [{}], {}"),
        (4, atomic_op::MIN, Unsigned) => a32!("min.u32 {}, [{}], {}"),
        (4, atomic_op::AND, _) => a32!("and.b32 {}, [{}], {}"),
        (4, atomic_op::OR, _) => a32!("or.b32 {}, [{}], {}"),
        (4, atomic_op::XOR, _) => a32!("xor.b32 {}, [{}], {}"),
        (4, atomic_op::XCHG, _) => a32!("exch.b32 {}, [{}], {}"),
        (8, atomic_op::ADD, F64) => a64!("add.f64 {}, [{}], {}"),
        (8, atomic_op::ADD, _) => a64!("add.u64 {}, [{}], {}"),
        (8, atomic_op::MAX, Signed) => a64!("max.s64 {}, [{}], {}"),
        (8, atomic_op::MAX, Unsigned) => a64!("max.u64 {}, [{}], {}"),
        (8, atomic_op::MIN, Signed) => a64!("min.s64 {}, [{}], {}"),
        (8, atomic_op::MIN, Unsigned) => a64!("min.u64 {}, [{}], {}"),
        (8, atomic_op::AND, _) => a64!("and.b64 {}, [{}], {}"),
        (8, atomic_op::OR, _) => a64!("or.b64 {}, [{}], {}"),
        (8, atomic_op::XOR, _) => a64!("xor.b64 {}, [{}], {}"),
        (8, atomic_op::XCHG, _) => a64!("exch.b64 {}, [{}], {}"),
        (2, atomic_op::ADD, F16) => atom!(to, "add.noftz.f16 {}, [{}], {}", reg16, u16, addr, bits),
        #[cfg(target_feature = "sm_90")]
        (2, atomic_op::ADD, BF16) => atom!(to, "add.noftz.bf16 {}, [{}], {}", reg16, u16, addr, bits),
        // SAFETY: the caller's contract.
        _ => return unsafe { by_cas::<T, OP>(to, addr, v) },
    };
    T::from_bits64(old)
}

/// Under a predicate, which takes no branch. The old value is not asked for.
macro_rules! shared_add {
    ($type:literal, $reg:ident, $word:ty, $off:expr, $ok:expr, $v:expr) => {
        // SAFETY: where `ok`, an element of this many bits may be written at the address: the contract of this module.
        unsafe {
            asm!(
                "{{",
                ".reg .pred ok;",
                "setp.ne.u32 ok, {ok}, 0;",
                concat!("@ok red.relaxed.cta.shared.add.", $type, " [{p}], {v};"),
                "}}",
                ok = in(reg32) $ok as u32, p = in(reg32) Shared::address($off) as u32, v = in($reg) $v as $word,
                options(nostack)
            )
        }
    };
}

/// # Safety
/// If `ok`, an element of the type, of 4 or 8 bytes, lies at the offset into shared memory, aligned to it.
#[inline(always)]
pub unsafe fn shared_atomic_add<T: Mem>(off: u32, ok: bool, v: T, _site: u32) {
    let bits = v.to_bits64();
    match (T::BYTES, const { repr::<T>() }) {
        (8, Repr::F64) => shared_add!("f64", reg64, u64, off, ok, bits),
        (8, _) => shared_add!("u64", reg64, u64, off, ok, bits),
        (_, Repr::F32) => shared_add!("f32", reg32, u32, off, ok, bits),
        (_, _) => shared_add!("u32", reg32, u32, off, ok, bits),
    }
}

/// For operations that the hardware lacks. The first read need not be fresh: a stale one fails the exchange.
///
/// # Safety
/// The contract of this module.
#[inline(always)]
unsafe fn by_cas<T: Mem, const OP: u32>(to: To, addr: u64, v: T) -> T {
    let word = if T::BYTES == 1 { addr & !3 } else { addr };
    let mut seen: u64 = match T::BYTES {
        8 => fresh!(to.relaxed(), "b64", reg64, u64, word),
        2 => fresh!(to.relaxed(), "b16", reg16, u16, word) as u64,
        _ => fresh!(to.relaxed(), "b32", reg32, u32, word) as u64,
    };
    let shift = byte_shift::<T>(addr);
    loop {
        let old = T::from_bits64(seen >> shift);
        let new = place::<T>(seen, combine::<T, OP>(old, v), shift);
        // SAFETY: the caller's contract; of a byte, the word around it.
        let found = unsafe { cas_word::<T>(to, word, seen, new) };
        if found == seen {
            return old;
        }
        seen = found;
    }
}

/// # Safety
/// The contract of this module.
#[inline(always)]
pub unsafe fn atomic_cas<T: Mem>(addr: u64, expected: T, new: T, relaxed: bool, _site: u32) -> T {
    // SAFETY: the caller's contract.
    unsafe { cas_at(To::Global { relaxed }, addr, expected, new) }
}

/// # Safety
/// As [`shared_atomic`].
#[inline(always)]
pub unsafe fn shared_atomic_cas<T: Mem>(off: u32, expected: T, new: T, _site: u32) -> T {
    // SAFETY: the caller's contract.
    unsafe { cas_at(To::Shared, Shared::address(off), expected, new) }
}

/// # Safety
/// The contract of this module.
#[inline(always)]
unsafe fn cas_at<T: Mem>(to: To, addr: u64, expected: T, new: T) -> T {
    if T::BYTES != 1 {
        // SAFETY: the caller's contract.
        return T::from_bits64(unsafe { cas_word::<T>(to, addr, expected.to_bits64(), new.to_bits64()) });
    }
    let (word, shift) = (addr & !3, byte_shift::<T>(addr));
    let mut seen = fresh!(to.relaxed(), "b32", reg32, u32, word) as u64;
    loop {
        let old = T::from_bits64(seen >> shift);
        // A mismatch also goes through an exchange, of the word for itself: it must order memory like one.
        let new = if old.to_bits64() == expected.to_bits64() { place::<T>(seen, new, shift) } else { seen };
        // SAFETY: the caller's contract; of a byte, the word around it.
        let found = unsafe { cas_word::<T>(to, word, seen, new) };
        if found == seen {
            return old;
        }
        seen = found;
    }
}

/// Compare-and-swap of the type's width, of the containing word for bytes.
///
/// # Safety
/// The contract of this module; of a byte, its word is at the address.
#[inline(always)]
unsafe fn cas_word<T: Mem>(to: To, addr: u64, expected: u64, new: u64) -> u64 {
    match T::BYTES {
        8 => atom!(to, "cas.b64 {}, [{}], {}, {}", reg64, u64, addr, expected, new),
        2 => atom!(to, "cas.b16 {}, [{}], {}, {}", reg16, u16, addr, expected, new),
        _ => atom!(to, "cas.b32 {}, [{}], {}, {}", reg32, u32, addr, expected, new),
    }
}

/// The position of a byte in its word. Wider types fill theirs.
#[inline(always)]
fn byte_shift<T: Mem>(addr: u64) -> u32 {
    if T::BYTES == 1 { (addr as u32 & 3) * 8 } else { 0 }
}

#[inline(always)]
fn place<T: Mem>(word: u64, v: T, shift: u32) -> u64 {
    if T::BYTES == 1 { word & !(0xff << shift) | v.to_bits64() << shift } else { v.to_bits64() }
}
