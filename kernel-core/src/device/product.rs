//! Products by warps and by single threads: fragments are fetched step by step, from registers or from shared memory.

use super::hw;
use super::mem::{Repr, repr};
use super::{Mem, each};
use crate::scalar::{Cast, F16, Num};

/// `acc + a·b` of a warp: MB × NB blocks of 16 rows and 8 columns, KB steps of the K of an instruction. `a(m, k)`
/// fetches the words of a block of rows, `b(p, k)` the words of the NP pairs of blocks of columns. Of a single block
/// the second half is not used. f32 becomes tf32; with X3 in three products of `high + low` each, where `low·low` is
/// left out. If tensor cores do not take the operands, products are multiply-adds of f32, and X3 needs no splitting.
/// Floats of 8 bits are multiplied as f16.
#[inline(always)]
pub fn mma_tile<
    A: Mem,
    D: Mem,
    const RD: usize,
    const MB: usize,
    const NB: usize,
    const NP: usize,
    const KB: usize,
    const X3: bool,
>(
    mut acc: [D; RD],
    a: impl Fn(usize, usize) -> [u32; 4],
    b: impl Fn(usize, usize) -> [u32; 4],
    site: u32,
) -> [D; RD] {
    let mut k = 0;
    while k < KB {
        let (a, b): ([[u32; 4]; MB], [[u32; 4]; NP]) = (each(|m| a(m, k)), each(|p| b(p, k)));
        if const { matches!(repr::<A>(), Repr::E4M3 | Repr::E5M2) } {
            acc = by_halves::<A, D, RD, MB, NB, NP>(acc, a, b, site);
            k += 1;
            continue;
        }
        let to_tf32 = |x| if X3 { high(x) } else { nearest(x) };
        let (high_a, high_b) = (a.map(|x| round::<A, 4>(x, to_tf32)), b.map(|x| round::<A, 4>(x, to_tf32)));
        if !const { hw::multiplies::<A>() } {
            acc = if X3 {
                by_lanes::<A, D, RD, MB, NB, NP>(acc, a, b, site)
            } else {
                by_lanes::<A, D, RD, MB, NB, NP>(acc, high_a, high_b, site)
            };
            k += 1;
            continue;
        }
        acc = by_parts(acc, |i, mut d| {
            let (m, n) = (i / NB, i % NB);
            let half = |x: [u32; 4]| [x[n % 2 * 2], x[n % 2 * 2 + 1]];
            if X3 && !planted!("device-tf32x3-is-tf32") {
                d = hw::mma::<A, D>(d, round::<A, 4>(a[m], rest), half(high_b[n / 2]), site);
                d = hw::mma::<A, D>(d, high_a[m], round::<A, 2>(half(b[n / 2]), rest), site);
            }
            hw::mma::<A, D>(d, high_a[m], half(high_b[n / 2]), site)
        });
        k += 1;
    }
    acc
}

/// A step of [`mma_tile`] of 8-bit floats as two of f16: of the first and of the second half of K, in which
/// both operands have their elements in the same order, whichever that is.
#[inline(always)]
fn by_halves<A: Mem, D: Mem, const RD: usize, const MB: usize, const NB: usize, const NP: usize>(
    mut acc: [D; RD],
    a: [[u32; 4]; MB],
    b: [[u32; 4]; NP],
    site: u32,
) -> [D; RD] {
    let mut half = 0;
    while half < 2 {
        let a: [[u32; 4]; MB] = each(|m| {
            let ([x0, x1], [y0, y1]) = (widened::<A>(a[m][2 * half]), widened::<A>(a[m][2 * half + 1]));
            [x0, y0, x1, y1]
        });
        let b: [[u32; 2]; NB] = each(|n| widened::<A>(b[n / 2][n % 2 * 2 + half]));
        acc = by_parts(acc, |i, d| hw::mma::<F16, D>(d, a[i / NB], b[i % NB], site));
        half += 1;
    }
    acc
}

/// Four 8-bit floats as f16, which has all of them.
#[inline(always)]
pub(super) fn widened<A: Mem>(word: u32) -> [u32; 2] {
    let bytes = [((word & 0xFF) << 8) | ((word & 0xFF00) << 16), ((word >> 8) & 0xFF00) | (word & 0xFF00_0000)];
    if const { matches!(repr::<A>(), Repr::E5M2) } {
        return bytes;
    }
    bytes.map(|x| {
        // One bit more of exponent, whose bias is greater by 8; all ones are no number here.
        let small = (x & 0x8000_8000) | ((x & 0x7F00_7F00) >> 1);
        let times = |h: u32| F16::mul(F16(h as u16), F16(0x5C00)).0 as u32;
        let no_number = (((x & 0x7F00_7F00) >> 8) + 0x0001_0001) & 0x0080_0080;
        let no_number = if planted!("device-e4m3-nan-is-480") { 0 } else { no_number };
        times(small & 0xFFFF) | (times(small >> 16) << 16) | ((no_number << 8) - (no_number << 2))
    })
}

/// A step of [`mma_tile`] of bf16 or f32 by multiply-adds. Lane `4·g + t` has the words `t` and `t + 4` of K of
/// rows `g` and `g + 8` and of column `g` of each block, and accumulators of these rows and columns `2·t` and
/// `2·t + 1`: it asks the lanes that have the same rows, or those columns, for their words.
#[inline(always)]
pub fn by_lanes<A: Mem, D: Mem, const RD: usize, const MB: usize, const NB: usize, const NP: usize>(
    acc: [D; RD],
    a: [[u32; 4]; MB],
    b: [[u32; 4]; NP],
    site: u32,
) -> [D; RD] {
    let lane = hw::thread() % 32;
    let mut sums: [f32; RD] = each(|i| f32::from_bits(acc[i].to_bits64() as u32));
    let mut t = 0;
    // It stays a loop: the multiply-adds of all words would be thousands of instructions.
    while hw::opaque(t < 4) {
        let mut half = 0;
        while half < 2 {
            let rows: [[u32; 2]; MB] = each(|m| each(|r| hw::shuffle(a[m][2 * half + r], lane & !3 | t, site)));
            let columns: [[u32; 2]; NB] =
                each(|n| each(|c| hw::shuffle(b[n / 2][n % 2 * 2 + half], (lane & 3) * 8 + 4 * c as u32 + t, site)));
            let mut e = 0;
            while e < 4 / A::BYTES {
                let mut i = 0;
                while i < RD {
                    let (m, n, r, c) = (i / 4 / NB, i / 4 % NB, i / 2 % 2, i % 2);
                    sums[i] = f32::fma(float::<A>(rows[m][r], e), float::<A>(columns[n][c], e), sums[i]);
                    i += 1;
                }
                e += 1;
            }
            half += 1;
        }
        t += 1;
    }
    each(|i| D::from_bits64(sums[i].to_bits() as u64))
}

/// Element `e` of a word: bf16 is the upper half of f32.
#[inline(always)]
fn float<A: Mem>(word: u32, e: usize) -> f32 {
    f32::from_bits(match (A::BYTES, e) {
        (4, _) => word,
        (_, 0) => word << 16,
        _ => word & 0xFFFF_0000,
    })
}

/// P products, one after another: `f(p, acc)` of the `p`-th R of all RD accumulators.
#[inline(always)]
pub fn batch<D: Mem, const RD: usize, const R: usize, const P: usize>(
    acc: [D; RD],
    f: impl Fn(usize, [D; R]) -> [D; R],
) -> [D; RD] {
    const { assert!(P * R == RD, "products have all accumulators") };
    by_parts(acc, f)
}

/// R accumulators after another: `f(p, part)` of the `p`-th.
#[inline(always)]
fn by_parts<D: Mem, const RD: usize, const R: usize>(mut acc: [D; RD], f: impl Fn(usize, [D; R]) -> [D; R]) -> [D; RD] {
    let mut p = 0;
    while p < RD / R {
        let part = f(p, each(|r| acc[p * R + r]));
        let mut r = 0;
        while r < R {
            acc[p * R + r] = part[r];
            r += 1;
        }
        p += 1;
    }
    acc
}

/// The words of a fragment; `of_f32` converts an f32.
#[inline(always)]
fn round<A: Mem, const W: usize>(words: [u32; W], of_f32: impl Fn(u32) -> u32) -> [u32; W] {
    each(|w| if A::BYTES == 4 { of_f32(words[w]) } else { words[w] })
}

/// Elements `at(0), at(1), ..` in words.
#[inline(always)]
pub fn words<A: Mem, const W: usize>(at: impl Fn(usize) -> A) -> [u32; W] {
    each(|w| {
        let per = 4 / A::BYTES;
        let mut word = 0;
        let mut e = 0;
        while e < per {
            word |= (at(w * per + e).to_bits64() as u32) << (e * A::BYTES * 8);
            e += 1;
        }
        word
    })
}

/// The nearest tf32 of an f32, ties away from zero; a NaN stays one.
#[inline(always)]
pub(super) fn nearest(bits: u32) -> u32 {
    const UNUSED: u32 = (1 << 13) - 1;
    if planted!("device-tf32-truncated") {
        return bits & !UNUSED;
    }
    // Of a NaN the low bits alone may be set, which tensor cores do not read. An infinity is rounded to itself.
    let is_nan = bits & 0x7FFF_FFFF > 0x7F80_0000 && !planted!("device-tf32-of-a-nan-by-its-bits");
    if is_nan { 0x7FFF_FFFF } else { (bits + (UNUSED >> 1) + 1) & !UNUSED }
}

/// The nearest tf32; of the largest numbers the one below, which is finite.
#[inline(always)]
fn high(bits: u32) -> u32 {
    const UP_TO_INFINITY: u32 = 0x7F7F_F000;
    let is_among_the_largest = (UP_TO_INFINITY..0x7F80_0000).contains(&(bits & 0x7FFF_FFFF));
    if is_among_the_largest { bits & !((1 << 13) - 1) } else { nearest(bits) }
}

/// The nearest tf32 of the difference from the high part.
#[inline(always)]
fn rest(bits: u32) -> u32 {
    let (x, high) = (f32::from_bits(bits), f32::from_bits(high(bits)));
    // An infinity or NaN has no rest.
    if bits & 0x7F80_0000 == 0x7F80_0000 { 0 } else { nearest((x - high).to_bits()) }
}

/// `acc + a·b` by multiply-adds, without tensor cores: MB rows and NB columns in each thread, CHUNKS times KC of
/// K. `a(c)` and `b(c)` fetch a chunk's elements; with AK and BK those along K are together.
#[inline(always)]
pub fn fma_tile<
    A: Mem + Cast<D>,
    D: Num,
    const RA: usize,
    const RB: usize,
    const RD: usize,
    const MB: usize,
    const NB: usize,
    const KC: usize,
    const CHUNKS: usize,
    const AK: bool,
    const BK: bool,
>(
    mut acc: [D; RD],
    a: impl Fn(usize) -> [A; RA],
    b: impl Fn(usize) -> [A; RB],
) -> [D; RD] {
    let mut c = 0;
    while c < CHUNKS {
        let (a, b) = (a(c), b(c));
        let mut k = 0;
        while k < KC {
            let mut i = 0;
            while i < MB * NB {
                let (m, n) = (i / NB, i % NB);
                let (x, y) = (a[if AK { m * KC + k } else { k * MB + m }], b[if BK { n * KC + k } else { k * NB + n }]);
                acc[i] = D::fma(x.cast(), y.cast(), acc[i]);
                i += 1;
            }
            k += 1;
        }
        c += 1;
    }
    acc
}

#[cfg(test)]
mod tests {
    use super::widened;
    use crate::scalar::{F8E4M3, F8E5M2, F16};

    #[test]
    fn every_8_bit_float_is_its_f16() {
        for byte in 0..=255u8 {
            let word = u32::from_le_bytes([byte, !byte, byte, 0x7F]);
            let check = |[x, y]: [u32; 2], of: fn(u8) -> f32| {
                let found = [x as u16, (x >> 16) as u16, y as u16, (y >> 16) as u16].map(|h| F16(h).to_f32());
                for (found, wanted) in found.into_iter().zip([byte, !byte, byte, 0x7F].map(of)) {
                    assert!(
                        found.to_bits() == wanted.to_bits() || found.is_nan() && wanted.is_nan(),
                        "{byte:#x}: {found} instead of {wanted}"
                    );
                }
            };
            check(widened::<F8E4M3>(word), |b| F8E4M3(b).to_f32());
            check(widened::<F8E5M2>(word), |b| F8E5M2(b).to_f32());
        }
    }
}
