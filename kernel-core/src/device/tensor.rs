//! Products of tiles on tensor cores, and the copies that feed them.

pub use super::hw::{
    cp_async, cp_async_commit, cp_async_wait, group_barrier, ldmatrix, mbarrier_arrive, mbarrier_expect, mbarrier_init, mbarrier_wait, mbarriers_ready,
    mma, opaque, prefetch_map, proxy_fence, set_registers, tma_store_wait_read,
};
use super::Mem;
use super::hw::{self, Shared};
use crate::scalar::{Cast, Num};

/// Copies a box of a view to shared memory; `at` is its first element, slowest dimension first. Outside are zeros.
///
/// # Safety
/// `map` is the address of a tensor map whose memory may be read, and the box fits at `dst`.
#[inline(always)]
pub unsafe fn copy_box<const RANK: usize>(dst: u32, map: u64, at: [u64; RANK], bar: u32, site: u32) {
    hw::tma_load(dst, map, coordinates(at), bar, site)
}

/// Copies a box from shared memory to a view, clipped at its ends, where `ok`; a group of its own.
///
/// # Safety
/// `map` is the address of a tensor map whose memory may be written.
#[inline(always)]
pub unsafe fn store_box<const RANK: usize>(src: u32, map: u64, at: [u64; RANK], ok: bool, site: u32) {
    hw::tma_store(src, map, coordinates(at), ok, site)
}

/// As the hardware wants them. Extents are below 2^31, so that what lies beyond stays outside.
#[inline(always)]
fn coordinates<const RANK: usize>(at: [u64; RANK]) -> [i32; RANK] {
    super::each(|d| at[RANK - 1 - d].min(i32::MAX as u64) as i32)
}

/// How a matrix lies in shared memory, beside where: the upper bits of its descriptor. All in bytes.
#[derive(Clone, Copy)]
pub struct Matrix {
    /// From one block of the contiguous dimension to the next.
    pub leading: u32,
    /// From eight rows to the next eight.
    pub stride: u32,
    /// Bytes of the swizzled row: 32, 64 or 128.
    pub swizzle: u32,
}

impl Matrix {
    #[inline(always)]
    fn at(self, off: u32) -> u64 {
        let address = Shared::address(off) as u32;
        let mode = match self.swizzle {
            128 => 1,
            64 => 2,
            32 => 3,
            _ => 0,
        };
        let field = |bytes: u32| ((bytes & 0x3FFFF) >> 4) as u64;
        field(address) | field(self.leading) << 16 | field(self.stride) << 32 | mode << 62
    }
}

/// Where a product stands among those that follow each other on the same accumulators: only between the first and the last are
/// these the instructions' alone.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    pub first: bool,
    pub last: bool,
}

/// `acc += a·b` of a warpgroup: MB × NB blocks of 64 rows and N columns, KB steps of the instruction's depth. `a(m, k)` and
/// `b(n, k)` are where a block's step lies. Accumulators of a block are together, blocks of columns before those of rows.
///
/// # Safety
/// The operands lie in the program's shared memory, complete and visible to the tensor cores.
#[inline(always)]
pub unsafe fn wgmma<A: Mem, D: Mem, const R: usize, const N: usize, const MB: usize, const NB: usize, const KB: usize, const TA: bool, const TB: bool>(
    mut acc: [D; R],
    a: impl Fn(u32, u32) -> u32,
    b: impl Fn(u32, u32) -> u32,
    of_a: Matrix,
    of_b: Matrix,
    chain: Chain,
    site: u32,
) -> [D; R] {
    if chain.first {
        hw::wgmma_fence(site);
    }
    let mut k = 0;
    while k < KB {
        let mut i = 0;
        while i < MB * NB {
            let (m, n) = (i / NB, i % NB);
            let block = acc.as_mut_ptr().add(i * N / 2);
            hw::wgmma::<A, D, N, TA, TB>(block, of_a.at(a(m as u32, k as u32)), of_b.at(b(n as u32, k as u32)), site);
            i += 1;
        }
        k += 1;
    }
    if chain.last {
        hw::wgmma_commit(site);
        hw::wgmma_wait::<D, 0, R>(&mut acc, site);
    }
    acc
}

/// Two 16-bit elements in a word, the first in the low half.
#[inline(always)]
pub fn pair<T: Mem>(lo: T, hi: T) -> u32 {
    lo.to_bits64() as u32 | (hi.to_bits64() as u32) << 16
}

/// Element `r % 2` of a pair.
#[inline(always)]
pub fn of_pair<T: Mem>(word: u32, r: usize) -> T {
    T::from_bits64((word >> (r % 2 * 16)) as u16 as u64)
}

/// One of two values, both at hand: a branch would choose between their places, and places are memory.
#[inline(always)]
pub fn pick<T: Copy>(first: bool, a: T, b: T) -> T {
    core::hint::select_unpredictable(first, a, b)
}

/// `acc + a·b` of a warp: MB × NB blocks of 16 rows and 8 columns, KB steps of the instruction's depth. Registers of an
/// operand are together by block, then by step.
#[inline(always)]
pub fn mma_tile<A: Mem, D: Mem, const RA: usize, const RB: usize, const RD: usize, const MB: usize, const NB: usize, const KB: usize>(
    acc: [D; RD],
    a: [A; RA],
    b: [A; RB],
    site: u32,
) -> [D; RD] {
    blocks::<D, RD, MB, NB, KB>(acc, |d, m, n, k| hw::mma::<A, D>(d, words(&a, (m * KB + k) * 4, nearest), words(&b, (n * KB + k) * 2, nearest), site))
}

/// As [`mma_tile`] of f32 in three products of tf32: `a = high + low`, and `low·low` is left out.
#[inline(always)]
pub fn mma_tile_tf32x3<A: Mem, D: Mem, const RA: usize, const RB: usize, const RD: usize, const MB: usize, const NB: usize, const KB: usize>(
    acc: [D; RD],
    a: [A; RA],
    b: [A; RB],
    site: u32,
) -> [D; RD] {
    blocks::<D, RD, MB, NB, KB>(acc, |d, m, n, k| {
        let (i, j) = ((m * KB + k) * 4, (n * KB + k) * 2);
        let d = hw::mma::<A, D>(d, words(&a, i, rest), words(&b, j, nearest), site);
        let d = hw::mma::<A, D>(d, words(&a, i, nearest), words(&b, j, rest), site);
        hw::mma::<A, D>(d, words(&a, i, nearest), words(&b, j, nearest), site)
    })
}

#[inline(always)]
fn blocks<D: Mem, const RD: usize, const MB: usize, const NB: usize, const KB: usize>(
    mut acc: [D; RD],
    step: impl Fn([D; 4], usize, usize, usize) -> [D; 4],
) -> [D; RD] {
    let mut k = 0;
    while k < KB {
        let mut i = 0;
        while i < MB * NB {
            let d = step(super::each(|r| acc[i * 4 + r]), i / NB, i % NB, k);
            let mut r = 0;
            while r < 4 {
                acc[i * 4 + r] = d[r];
                r += 1;
            }
            i += 1;
        }
        k += 1;
    }
    acc
}

/// The operand's words from word `first` on; `of_f32` is what an f32 becomes.
#[inline(always)]
fn words<A: Mem, const R: usize, const W: usize>(regs: &[A; R], first: usize, of_f32: impl Fn(u32) -> u32) -> [u32; W] {
    super::each(|w| {
        let per = 4 / A::BYTES;
        let mut word = 0;
        let mut e = 0;
        while e < per {
            word |= (regs[(first + w) * per + e].to_bits64() as u32) << (e * A::BYTES * 8);
            e += 1;
        }
        if A::BYTES == 4 { of_f32(word) } else { word }
    })
}

/// The nearest tf32 of an f32, ties away from zero; a NaN stays one.
#[inline(always)]
fn nearest(bits: u32) -> u32 {
    const UNUSED: u32 = (1 << 13) - 1;
    let special = bits & 0x7F80_0000 == 0x7F80_0000;
    if special { bits } else { (bits + (UNUSED >> 1) + 1) & !UNUSED }
}

/// The nearest tf32 of what the nearest tf32 leaves.
#[inline(always)]
fn rest(bits: u32) -> u32 {
    let (x, high) = (f32::from_bits(bits), f32::from_bits(nearest(bits)));
    // What is infinite or no number has no rest.
    if bits & 0x7F80_0000 == 0x7F80_0000 { 0 } else { nearest((x - high).to_bits()) }
}

/// `acc + a·b` by multiply-adds, without tensor cores: MB rows, NB columns and KB of the depth in each thread.
#[inline(always)]
pub fn fma_tile<A: Mem + Cast<D>, D: Num, const RA: usize, const RB: usize, const RD: usize, const MB: usize, const NB: usize, const KB: usize>(
    mut acc: [D; RD],
    a: [A; RA],
    b: [A; RB],
    _site: u32,
) -> [D; RD] {
    let mut k = 0;
    while k < KB {
        let mut i = 0;
        while i < MB * NB {
            let (m, n) = (i / NB, i % NB);
            acc[i] = D::fma(a[m * KB + k].cast(), b[k * NB + n].cast(), acc[i]);
            i += 1;
        }
        k += 1;
    }
    acc
}
