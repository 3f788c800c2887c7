//! Loads and stores in PTX.
//!
//! Loads are `pure, readonly`: LLVM merges equal ones as long as no store, atomic or barrier lies between.

use core::arch::asm;

use super::{Global, Shared, Space};
use crate::device::mem::Words;

macro_rules! load {
    ($space:literal, $addr:expr, $bytes:expr, $wide:expr, $p:ident) => {{
        let p = $addr;
        match ($bytes, $wide) {
            (16, true) => {
                let (a, b): (u64, u64);
                asm!(concat!("ld", $space, ".v2.b64 {{{}, {}}}, [{}];"), out(reg64) a, out(reg64) b, in($p) p, options(pure, readonly, nostack));
                [a, b, 0, 0]
            }
            (16, _) => {
                let (a, b, c, d): (u32, u32, u32, u32);
                asm!(concat!("ld", $space, ".v4.b32 {{{}, {}, {}, {}}}, [{}];"), out(reg32) a, out(reg32) b, out(reg32) c, out(reg32) d, in($p) p, options(pure, readonly, nostack));
                [a as u64, b as u64, c as u64, d as u64]
            }
            (8, true) => {
                let a: u64;
                asm!(concat!("ld", $space, ".b64 {}, [{}];"), out(reg64) a, in($p) p, options(pure, readonly, nostack));
                [a, 0, 0, 0]
            }
            (8, _) => {
                let (a, b): (u32, u32);
                asm!(concat!("ld", $space, ".v2.b32 {{{}, {}}}, [{}];"), out(reg32) a, out(reg32) b, in($p) p, options(pure, readonly, nostack));
                [a as u64, b as u64, 0, 0]
            }
            (bytes, _) => {
                let a: u32;
                match bytes {
                    4 => asm!(concat!("ld", $space, ".b32 {}, [{}];"), out(reg32) a, in($p) p, options(pure, readonly, nostack)),
                    2 => asm!(concat!("ld", $space, ".u16 {}, [{}];"), out(reg32) a, in($p) p, options(pure, readonly, nostack)),
                    _ => asm!(concat!("ld", $space, ".u8 {}, [{}];"), out(reg32) a, in($p) p, options(pure, readonly, nostack)),
                }
                [a as u64, 0, 0, 0]
            }
        }
    }};
}

/// One guarded load: no branch, so that a tile's loads stay one basic block and are issued together.
macro_rules! load_if {
    ($space:literal, $type:literal, $move:literal, $reg:ident, $word:ty, $addr:expr, $ok:expr, $other:expr, $p:ident) => {{
        let value: $word;
        asm!(
            "{{",
            ".reg .pred ok;",
            "setp.ne.u32 ok, {ok}, 0;",
            concat!("mov", $move, " {value}, {other};"),
            concat!("@ok ld", $space, $type, " {value}, [{p}];"),
            "}}",
            value = out($reg) value, other = in($reg) $other as $word, ok = in(reg32) $ok as u32, p = in($p) $addr,
            options(pure, readonly, nostack)
        );
        value as u64
    }};
    ($space:literal, $addr:expr, $ok:expr, $bytes:expr, $other:expr, $p:ident) => {
        match $bytes {
            8 => load_if!($space, ".b64", ".b64", reg64, u64, $addr, $ok, $other, $p),
            4 => load_if!($space, ".b32", ".b32", reg32, u32, $addr, $ok, $other, $p),
            2 => load_if!($space, ".u16", ".b32", reg32, u32, $addr, $ok, $other, $p),
            _ => load_if!($space, ".u8", ".b32", reg32, u32, $addr, $ok, $other, $p),
        }
    };
}

/// A wide load under a predicate, of registers that hold `other` before.
macro_rules! load_words_if {
    ($space:literal, $addr:expr, $ok:expr, $bytes:expr, $wide:expr, $other:expr, $p:ident) => {{
        let (p, ok, other): (_, u32, Words) = ($addr, $ok as u32, $other);
        match ($bytes, $wide) {
            (16, true) => {
                let (mut a, mut b) = (other[0], other[1]);
                asm!("{{", ".reg .pred ok;", "setp.ne.u32 ok, {ok}, 0;", concat!("@ok ld", $space, ".v2.b64 {{{a}, {b}}}, [{p}];"), "}}",
                    a = inout(reg64) a, b = inout(reg64) b, ok = in(reg32) ok, p = in($p) p, options(pure, readonly, nostack));
                [a, b, 0, 0]
            }
            (16, _) => {
                let [mut a, mut b, mut c, mut d] = other.map(|x| x as u32);
                asm!("{{", ".reg .pred ok;", "setp.ne.u32 ok, {ok}, 0;", concat!("@ok ld", $space, ".v4.b32 {{{a}, {b}, {c}, {d}}}, [{p}];"), "}}",
                    a = inout(reg32) a, b = inout(reg32) b, c = inout(reg32) c, d = inout(reg32) d, ok = in(reg32) ok, p = in($p) p, options(pure, readonly, nostack));
                [a as u64, b as u64, c as u64, d as u64]
            }
            (8, false) => {
                let (mut a, mut b) = (other[0] as u32, other[1] as u32);
                asm!("{{", ".reg .pred ok;", "setp.ne.u32 ok, {ok}, 0;", concat!("@ok ld", $space, ".v2.b32 {{{a}, {b}}}, [{p}];"), "}}",
                    a = inout(reg32) a, b = inout(reg32) b, ok = in(reg32) ok, p = in($p) p, options(pure, readonly, nostack));
                [a as u64, b as u64, 0, 0]
            }
            (bytes, _) => [load_if!($space, p, ok != 0, bytes, other[0], $p), 0, 0, 0],
        }
    }};
}

macro_rules! store {
    ($space:literal, $addr:expr, $bytes:expr, $wide:expr, $words:expr, $p:ident) => {{
        let (p, w): (_, Words) = ($addr, $words);
        let [a, b, c, d] = w.map(|x| x as u32);
        match ($bytes, $wide) {
            (16, true) => asm!(concat!("st", $space, ".v2.b64 [{}], {{{}, {}}};"), in($p) p, in(reg64) w[0], in(reg64) w[1], options(nostack)),
            (16, _) => asm!(concat!("st", $space, ".v4.b32 [{}], {{{}, {}, {}, {}}};"), in($p) p, in(reg32) a, in(reg32) b, in(reg32) c, in(reg32) d, options(nostack)),
            (8, true) => asm!(concat!("st", $space, ".b64 [{}], {};"), in($p) p, in(reg64) w[0], options(nostack)),
            (8, _) => asm!(concat!("st", $space, ".v2.b32 [{}], {{{}, {}}};"), in($p) p, in(reg32) a, in(reg32) b, options(nostack)),
            (4, _) => asm!(concat!("st", $space, ".b32 [{}], {};"), in($p) p, in(reg32) a, options(nostack)),
            (2, _) => asm!(concat!("st", $space, ".u16 [{}], {};"), in($p) p, in(reg32) a, options(nostack)),
            _ => asm!(concat!("st", $space, ".u8 [{}], {};"), in($p) p, in(reg32) a, options(nostack)),
        }
    }};
}

macro_rules! store_if {
    ($space:literal, $type:literal, $reg:ident, $word:ty, $addr:expr, $ok:expr, $bits:expr, $p:ident) => {
        asm!(
            "{{",
            ".reg .pred ok;",
            "setp.ne.u32 ok, {ok}, 0;",
            concat!("@ok st", $space, $type, " [{p}], {value};"),
            "}}",
            value = in($reg) $bits as $word, ok = in(reg32) $ok as u32, p = in($p) $addr,
            options(nostack)
        )
    };
    ($space:literal, $addr:expr, $ok:expr, $bytes:expr, $bits:expr, $p:ident) => {
        match $bytes {
            8 => store_if!($space, ".b64", reg64, u64, $addr, $ok, $bits, $p),
            4 => store_if!($space, ".b32", reg32, u32, $addr, $ok, $bits, $p),
            2 => store_if!($space, ".u16", reg32, u32, $addr, $ok, $bits, $p),
            _ => store_if!($space, ".u8", reg32, u32, $addr, $ok, $bits, $p),
        }
    };
}

macro_rules! store_words_if {
    ($space:literal, $addr:expr, $ok:expr, $bytes:expr, $wide:expr, $words:expr, $p:ident) => {{
        let (p, ok, w): (_, u32, Words) = ($addr, $ok as u32, $words);
        let [a, b, c, d] = w.map(|x| x as u32);
        match ($bytes, $wide) {
            (16, true) => asm!("{{", ".reg .pred ok;", "setp.ne.u32 ok, {ok}, 0;", concat!("@ok st", $space, ".v2.b64 [{p}], {{{a}, {b}}};"), "}}",
                a = in(reg64) w[0], b = in(reg64) w[1], ok = in(reg32) ok, p = in($p) p, options(nostack)),
            (16, _) => asm!("{{", ".reg .pred ok;", "setp.ne.u32 ok, {ok}, 0;", concat!("@ok st", $space, ".v4.b32 [{p}], {{{a}, {b}, {c}, {d}}};"), "}}",
                a = in(reg32) a, b = in(reg32) b, c = in(reg32) c, d = in(reg32) d, ok = in(reg32) ok, p = in($p) p, options(nostack)),
            (8, false) => asm!("{{", ".reg .pred ok;", "setp.ne.u32 ok, {ok}, 0;", concat!("@ok st", $space, ".v2.b32 [{p}], {{{a}, {b}}};"), "}}",
                a = in(reg32) a, b = in(reg32) b, ok = in(reg32) ok, p = in($p) p, options(nostack)),
            (bytes, _) => store_if!($space, p, ok != 0, bytes, w[0], $p),
        }
    }};
}

/// `$do!` with the global space and the hint's suffix. The hints are of sm_70 and PTX 7.4.
macro_rules! hinted {
    ($hint:expr, $do:ident, $($argument:tt)*) => {
        match $hint {
            1 => $do!(".global.L1::evict_first", $($argument)*),
            2 => $do!(".global.L1::evict_last", $($argument)*),
            3 => $do!(".global.L1::no_allocate", $($argument)*),
            _ => $do!(".global", $($argument)*),
        }
    };
}

impl Space for Global {
    type Call = ();

    #[inline(always)]
    fn begin(_write: bool, _site: u32) {}

    #[inline(always)]
    unsafe fn load(addr: u64, bytes: usize, wide: bool, hint: u32, _: (), _: usize) -> Words {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { hinted!(hint, load, addr, bytes, wide, reg64) }
    }

    #[inline(always)]
    unsafe fn load_words_if(
        addr: u64,
        ok: bool,
        bytes: usize,
        wide: bool,
        other: Words,
        hint: u32,
        _: (),
        _: usize,
    ) -> Words {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { hinted!(hint, load_words_if, addr, ok, bytes, wide, other, reg64) }
    }

    #[inline(always)]
    unsafe fn store_words_if(addr: u64, ok: bool, bytes: usize, wide: bool, words: Words, hint: u32, _: (), _: usize) {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { hinted!(hint, store_words_if, addr, ok, bytes, wide, words, reg64) }
    }

    #[inline(always)]
    unsafe fn load_if(addr: u64, ok: bool, bytes: usize, other: u64, hint: u32, _: (), _: usize) -> u64 {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { hinted!(hint, load_if, addr, ok, bytes, other, reg64) }
    }

    #[inline(always)]
    unsafe fn store(addr: u64, bytes: usize, wide: bool, words: Words, hint: u32, _: (), _: usize) {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { hinted!(hint, store, addr, bytes, wide, words, reg64) }
    }

    #[inline(always)]
    unsafe fn store_if(addr: u64, ok: bool, bytes: usize, bits: u64, hint: u32, _: (), _: usize) {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { hinted!(hint, store_if, addr, ok, bytes, bits, reg64) }
    }
}

impl Shared {
    /// The address of an offset into dynamic shared memory in the shared window.
    #[inline(always)]
    pub fn address(off: u32) -> u64 {
        let base: u32;
        // SAFETY: a constant of the module, declared by `device_prelude!`.
        unsafe { asm!("mov.u32 {}, tile_shared;", out(reg32) base, options(pure, nomem, nostack)) };
        base.wrapping_add(off) as u64
    }
}

impl Space for Shared {
    type Call = ();

    #[inline(always)]
    fn begin(_write: bool, _site: u32) {}

    #[inline(always)]
    unsafe fn load(addr: u64, bytes: usize, wide: bool, _: u32, _: (), _: usize) -> Words {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { load!(".shared", addr as u32, bytes, wide, reg32) }
    }

    #[inline(always)]
    unsafe fn load_words_if(
        addr: u64,
        ok: bool,
        bytes: usize,
        wide: bool,
        other: Words,
        _: u32,
        _: (),
        _: usize,
    ) -> Words {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { load_words_if!(".shared", addr as u32, ok, bytes, wide, other, reg32) }
    }

    #[inline(always)]
    unsafe fn store_words_if(addr: u64, ok: bool, bytes: usize, wide: bool, words: Words, _: u32, _: (), _: usize) {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { store_words_if!(".shared", addr as u32, ok, bytes, wide, words, reg32) }
    }

    #[inline(always)]
    unsafe fn load_if(addr: u64, ok: bool, bytes: usize, other: u64, _: u32, _: (), _: usize) -> u64 {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { load_if!(".shared", addr as u32, ok, bytes, other, reg32) }
    }

    #[inline(always)]
    unsafe fn store(addr: u64, bytes: usize, wide: bool, words: Words, _: u32, _: (), _: usize) {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { store!(".shared", addr as u32, bytes, wide, words, reg32) }
    }

    #[inline(always)]
    unsafe fn store_if(addr: u64, ok: bool, bytes: usize, bits: u64, _: u32, _: (), _: usize) {
        // SAFETY: the caller's contract, which is the trait's.
        unsafe { store_if!(".shared", addr as u32, ok, bytes, bits, reg32) }
    }
}
