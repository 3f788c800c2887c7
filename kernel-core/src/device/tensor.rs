//! Products of warpgroups, and the copies that feed products.

use super::Mem;
use super::hw::{self, Shared};
pub use super::hw::{
    cluster_sync, cp_async, cp_async_commit, cp_async_wait, group_barrier, ldmatrix, mbarrier_arrive,
    mbarrier_arrive_at, mbarrier_expect, mbarrier_init, mbarrier_wait, mbarriers_ready, opaque, opaque_word,
    prefetch_map, proxy_fence, set_registers, stmatrix, tma_store_wait, tma_store_wait_read, wgmma_wait_previous,
};

/// Copies a box of a view to shared memory; `at` is its first element, slowest dimension first. Outside are zeros.
/// `HINT` as of [`load`](super::load): no copy goes through the L1 cache.
///
/// # Safety
/// `map` is the address of a tensor map whose memory may be read, and the box fits at `dst`.
#[inline(always)]
pub unsafe fn tma_load<const HINT: u32, const RANK: usize>(dst: u32, map: u64, at: [u64; RANK], bar: u32, site: u32) {
    // SAFETY: the caller's contract.
    unsafe { hw::tma_load::<RANK, HINT>(dst, map, coordinates(at), bar, site) }
}

/// As [`tma_load`], to the same place in all thread blocks of the cluster whose bits `ctas` has.
///
/// # Safety
/// As of [`tma_load`], and none of the blocks has ended.
#[inline(always)]
pub unsafe fn tma_load_multicast<const HINT: u32, const RANK: usize>(
    dst: u32,
    map: u64,
    at: [u64; RANK],
    bar: u32,
    ctas: u16,
    site: u32,
) {
    // SAFETY: the caller's contract.
    unsafe { hw::tma_load_multicast::<RANK, HINT>(dst, map, coordinates(at), bar, ctas, site) }
}

/// This thread block's number in its cluster.
#[inline(always)]
pub fn cluster_rank() -> u64 {
    hw::cluster_rank() as u64
}

/// This program's number along an axis (0, 1, 2), of a program that is a cluster.
#[inline(always)]
pub fn cluster_id(axis: u32) -> u64 {
    hw::cluster_id(axis) as u64
}

/// Such programs along an axis.
#[inline(always)]
pub fn num_clusters(axis: u32) -> u64 {
    hw::num_clusters(axis) as u64
}

/// Copies a box from shared memory to a view, clipped at its ends, where `ok`; a group of its own. `HINT` as of
/// [`tma_load`].
///
/// # Safety
/// `map` is the address of a tensor map whose memory may be written.
#[inline(always)]
pub unsafe fn tma_store<const HINT: u32, const RANK: usize>(src: u32, map: u64, at: [u64; RANK], ok: bool, site: u32) {
    // SAFETY: the caller's contract.
    unsafe { hw::tma_store::<RANK, HINT>(src, map, stored_coordinates(at), ok, site) }
}

/// The greatest coordinate, of whole 16 bytes: copies that begin between them are illegal instructions.
const MAX_COORDINATE: i64 = (1 << 31) - 128;

/// Coordinates as the hardware takes them: with signs, because an offset below 0 has wrapped around, and so have its
/// successors. No extent is above [`MAX_COORDINATE`], so elements beyond it stay outside.
#[inline(always)]
fn coordinates<const RANK: usize>(at: [u64; RANK]) -> [i32; RANK] {
    if planted!("device-coordinates-wrap") {
        return super::each(|d| at[RANK - 1 - d] as i32);
    }
    super::each(|d| (at[RANK - 1 - d] as i64).clamp(i32::MIN as i64, MAX_COORDINATE) as i32)
}

/// The same of a box that is stored. It does not begin before the array: the compiler knows so of the sums and products
/// that an offset is, and an argument of 2^63 or more is an offset beyond the array.
#[inline(always)]
fn stored_coordinates<const RANK: usize>(at: [u64; RANK]) -> [i32; RANK] {
    super::each(|d| at[RANK - 1 - d].min(MAX_COORDINATE as u64) as i32)
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

    /// The descriptors of the steps of its blocks: the first one, plus a constant. Addresses are below 2^18, so that
    /// nothing is carried into the next field.
    #[inline(always)]
    fn steps(self, at: impl Fn(u32, u32) -> u32) -> impl Fn(usize, usize) -> u64 {
        let start = at(0, 0);
        let first = self.at(start);
        move |block, k| {
            let low = (first as u32).wrapping_add(at(block as u32, k as u32).wrapping_sub(start) >> 4);
            first >> 32 << 32 | low as u64
        }
    }
}

/// The position of a product among successive products on the same accumulators. Between the first and the last one
/// only the instructions use the accumulators.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Chain {
    /// The product is the first of the chain.
    pub first: bool,
    /// The product is the last of the chain.
    pub last: bool,
    /// Whether the last is waited for; else they stay the instructions' until [`wgmma_done`].
    pub wait: bool,
}

/// `acc += a·b` of a warpgroup: MB × NB blocks of 64 rows and N columns, KB steps of the K of an instruction. `a(m, k)`
/// and `b(n, k)` are the offsets of a block's step in shared memory. Accumulators of a block are together, blocks of
/// columns before blocks of rows. Unless `add`, their old values do not count. If N is no power of two there is one
/// block, and the accumulators after its own are unused.
///
/// # Safety
/// The operands lie in the program's shared memory, complete and visible to the tensor cores.
#[inline(always)]
pub unsafe fn wgmma<
    A: Mem,
    D: Mem,
    const R: usize,
    const N: usize,
    const MB: usize,
    const NB: usize,
    const KB: usize,
    const TA: bool,
    const TB: bool,
>(
    acc: [D; R],
    a: impl Fn(u32, u32) -> u32,
    b: impl Fn(u32, u32) -> u32,
    of_a: Matrix,
    of_b: Matrix,
    chain: Chain,
    add: bool,
    site: u32,
) -> [D; R] {
    // SAFETY: the caller's contract.
    unsafe { wgmma_batch::<A, D, R, N, MB, NB, KB, 1, TA, TB>(acc, a, b, of_a, of_b, chain, add, site) }
}

/// As [`wgmma`], of P products of a batch: blocks of all products are numbered one after another, for `a` and `b` and
/// in the accumulators.
///
/// # Safety
/// As [`wgmma`].
#[inline(always)]
pub unsafe fn wgmma_batch<
    A: Mem,
    D: Mem,
    const R: usize,
    const N: usize,
    const MB: usize,
    const NB: usize,
    const KB: usize,
    const P: usize,
    const TA: bool,
    const TB: bool,
>(
    acc: [D; R],
    a: impl Fn(u32, u32) -> u32,
    b: impl Fn(u32, u32) -> u32,
    of_a: Matrix,
    of_b: Matrix,
    chain: Chain,
    add: bool,
    site: u32,
) -> [D; R] {
    let (a, b) = (of_a.steps(a), of_b.steps(b));
    issue::<D, R, N, MB, NB, KB, P>(acc, chain, add, site, |block, m, n, k, add| {
        // SAFETY: `issue` gives `N / 2` accumulators; the operands are as this function's contract says.
        unsafe { hw::wgmma::<A, D, N, TA, TB>(block, a(m, k), b(n, k), add, site) }
    })
}

/// The products `product(accumulators, m, n, k, add)` of all blocks, step by step, as links of a chain: `m` and `n`
/// number the blocks of all P products. The `N / 2` accumulators of a block may be read and written during that call.
#[inline(always)]
fn issue<D: Mem, const R: usize, const N: usize, const MB: usize, const NB: usize, const KB: usize, const P: usize>(
    mut acc: [D; R],
    chain: Chain,
    add: bool,
    site: u32,
    product: impl Fn(*mut D, usize, usize, usize, bool),
) -> [D; R] {
    const { assert!(P * MB * NB * N / 2 <= R, "every block has its accumulators") };
    hw::accumulators_accessed();
    if chain.first && !planted!("device-wgmma-without-fence") {
        hw::wgmma_fence(site);
    }
    let mut k = 0;
    while k < KB {
        let mut i = 0;
        while i < P * MB * NB {
            let of_batch = if planted!("device-wgmma-batch-of-one-right-operand") { 0 } else { i / (MB * NB) };
            let (m, n) = (i / NB, of_batch * NB + i % NB);
            // SAFETY: block `i < P * MB * NB` begins within the R accumulators, by the assertion above.
            let block = unsafe { acc.as_mut_ptr().add(i * N / 2) };
            product(block, m, n, k, add || k > 0 && !planted!("device-wgmma-forgets-steps"));
            i += 1;
        }
        k += 1;
    }
    if chain.last && !planted!("device-wgmma-without-commit") {
        hw::wgmma_commit(site);
    }
    if chain.wait {
        hw::wgmma_wait::<D, 0, R, N>(&mut acc, site);
    }
    acc
}

/// As [`wgmma`], with A in registers: `a(m, k)` are this thread's words of a block's step, 0 and 1 of rows 8 apart, 2
/// and 3 of the same rows, 16 bytes further along K. f32 is rounded to tf32.
///
/// # Safety
/// As [`wgmma`].
#[inline(always)]
pub unsafe fn wgmma_ra<
    A: Mem,
    D: Mem,
    const R: usize,
    const N: usize,
    const MB: usize,
    const NB: usize,
    const KB: usize,
    const TB: bool,
>(
    acc: [D; R],
    a: impl Fn(usize, usize) -> [u32; 4],
    b: impl Fn(u32, u32) -> u32,
    of_b: Matrix,
    chain: Chain,
    add: bool,
    site: u32,
) -> [D; R] {
    // SAFETY: the caller's contract.
    unsafe { wgmma_ra_batch::<A, D, R, N, MB, NB, KB, 1, TB>(acc, a, b, of_b, chain, add, site) }
}

/// As [`wgmma_ra`], of P products of a batch, whose blocks are numbered as those of [`wgmma_batch`].
///
/// # Safety
/// As [`wgmma`].
#[inline(always)]
pub unsafe fn wgmma_ra_batch<
    A: Mem,
    D: Mem,
    const R: usize,
    const N: usize,
    const MB: usize,
    const NB: usize,
    const KB: usize,
    const P: usize,
    const TB: bool,
>(
    acc: [D; R],
    a: impl Fn(usize, usize) -> [u32; 4],
    b: impl Fn(u32, u32) -> u32,
    of_b: Matrix,
    chain: Chain,
    add: bool,
    site: u32,
) -> [D; R] {
    let word = |w: u32| if A::BYTES == 4 { super::product::nearest(w) } else { w };
    let words: [[[hw::Fragment; KB]; MB]; P] =
        super::each(|p| super::each(|m| super::each(|k| hw::fragment(a(p * MB + m, k).map(word)))));
    let b = of_b.steps(b);
    issue::<D, R, N, MB, NB, KB, P>(acc, chain, add, site, |block, m, n, k, add| {
        // SAFETY: `issue` gives `N / 2` accumulators; the operand is as this function's contract says.
        unsafe { hw::wgmma_ra::<A, D, N, TB>(block, words[m / MB][m % MB][k], b(n, k), add, site) }
    })
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

/// One of two values in registers. A branch would choose between their addresses, so both would be in memory.
#[inline(always)]
pub fn pick<T: Copy>(first: bool, a: T, b: T) -> T {
    core::hint::select_unpredictable(first, a, b)
}

/// Accumulators whose products, of N columns an instruction, nobody has waited for; so many chains of products that
/// were begun after theirs may go on.
#[inline(always)]
pub fn wgmma_done<D: Mem, const R: usize, const LATER: u32, const N: usize>(mut acc: [D; R], site: u32) -> [D; R] {
    hw::wgmma_wait::<D, LATER, R, N>(&mut acc, site);
    acc
}

/// Registers whose contents are never read.
#[inline(always)]
pub fn unset<T: Mem, const R: usize>() -> [T; R] {
    super::each(|_| T::from_bits64(hw::any_word() as u64))
}
