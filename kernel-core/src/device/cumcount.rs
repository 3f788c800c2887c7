//! The number of each element among the equal elements: each warp counts the elements of each bin in shared memory.

use super::{WARP, atomic, each, hw, shared_atomic, shared_load, shared_store};

/// The offset into shared memory of a warp's record of a bin: the lanes that have an element in it, and the number of
/// its earlier elements.
#[inline(always)]
fn place<const BITS: u32>(bins: u32, warp: u32, bin: u32) -> u32 {
    bins + 8 * (warp << BITS | bin)
}

/// For each of `R` elements of this lane, how many elements of its warp with the same bin come before it. Registers
/// come one after another, and within a register the first `LANES` lanes. Afterwards the second word of each bin of the
/// warp has the number of its elements.
///
/// Elements for which `counts` does not hold do not count. Lanes from `LANES` on, a power of two, hold copies of the
/// elements of others.
///
/// # Safety
/// Every lane of the warp takes part. From `bins` on, a multiple of 8, there are two words of 4 bytes in the program's
/// shared memory for each of the `1 << BITS` bins of each warp, which no other thread accesses between the last barrier
/// and the next one. The bins of all elements, also of elements that do not count, are less than `1 << BITS`.
#[inline(always)]
pub unsafe fn cumcount_in_warp<const R: usize, const BITS: u32, const LANES: u32>(
    bins: u32,
    bin: impl Fn(usize) -> u32,
    counts: impl Fn(usize) -> bool,
    site: u32,
) -> [u32; R] {
    let (lane, warp) = (hw::thread() % WARP, hw::thread() / WARP);
    let at = |bin: u32| place::<BITS>(bins, warp, bin);
    let mut b = lane;
    while b < 1 << BITS {
        // SAFETY: the words of a bin of this warp, by this function's contract.
        unsafe { shared_store::<u32, 2, 2>(|i| at(b) + 4 * i as u32, |_| true, |_| 0, site) };
        b += WARP;
    }
    hw::warp_barrier(site);
    each(|r| {
        let at = at(bin(r));
        let is_counted = counts(r) && lane < LANES;
        // SAFETY: the words of a bin of this warp, by this function's contract.
        unsafe { shared_atomic::<u32, 1, { atomic::OR }>(|_| at, |_| is_counted, |_| 1 << lane, site) };
        hw::warp_barrier(site);
        // SAFETY: as above.
        let [lanes, earlier] = unsafe { shared_load::<u32, 2, 2>(|i| at + 4 * i as u32, |_| true, site) };
        hw::warp_barrier(site);
        let lower = if planted!("device-cumcount-of-any-lane") { !0 } else { (1 << (lane % LANES)) - 1 };
        let before = (lanes & lower).count_ones();
        let (is_first, total) = (is_counted && before == 0, earlier + lanes.count_ones());
        // SAFETY: as above.
        unsafe { shared_store::<u32, 2, 2>(|i| at + 4 * i as u32, |_| is_first, |i| [0, total][i], site) };
        hw::warp_barrier(site);
        if counts(r) { earlier + before } else { 0 }
    })
}

/// Replaces the number of elements in each bin of each of the first `WARPS` warps, in its second word, by the number in
/// the same bin of the warps before.
///
/// # Safety
/// The `THREADS` threads of the program take part, and wait for each other before and afterwards. From `bins` on there
/// are the words of at least `WARPS` warps.
#[inline(always)]
pub unsafe fn cumcount_of_warps<const WARPS: usize, const BITS: u32, const THREADS: u32>(bins: u32, site: u32) {
    let mut bin = hw::thread();
    while bin < 1 << BITS {
        let at = |warp: usize| place::<BITS>(bins, warp as u32, bin) + 4;
        // SAFETY: the second words of a bin, by this function's contract.
        let counts: [u32; WARPS] = unsafe { shared_load::<u32, WARPS, 1>(at, |_| true, site) };
        let mut sum = 0;
        let before: [u32; WARPS] = each(|warp| {
            sum += counts[warp];
            sum - counts[warp]
        });
        // SAFETY: as above.
        unsafe { shared_store::<u32, WARPS, 1>(at, |_| true, |warp| before[warp], site) };
        bin += if planted!("device-cumcount-of-the-first-bins") { 1 << BITS } else { THREADS };
    }
}
