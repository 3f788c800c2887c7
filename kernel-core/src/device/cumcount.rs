//! The number of each element among those that equal it: counters of each warp in shared memory.

use super::{WARP, each, hw, shared_load, shared_store};

/// The counter of a bin of a warp, as an offset into shared memory.
#[inline(always)]
fn counter<const BITS: u32>(counters: u32, warp: u32, bin: u32) -> u32 {
    counters + 4 * (warp << BITS | bin)
}

/// For each of `R` elements of this lane, how many elements of its warp with the same bin come before it. Registers
/// come one after another, and within a register the first `LANES` lanes. Afterwards the counters of the warp have the
/// number of elements in each bin.
///
/// Elements for which `counts` does not hold do not count. The bins of all are less than `1 << BITS`. Lanes from
/// `LANES` on, a power of two, hold copies of the elements of others. Every lane of the warp takes part.
///
/// # Safety
/// From `counters` on there are counters of 4 bytes in the program's shared memory: `1 << BITS` for each warp.
#[inline(always)]
pub unsafe fn cumcount_in_warp<const R: usize, const BITS: u32, const LANES: u32>(
    counters: u32,
    bin: impl Fn(usize) -> u32,
    counts: impl Fn(usize) -> bool,
    site: u32,
) -> [u32; R] {
    let (lane, warp) = (hw::thread() % WARP, hw::thread() / WARP);
    let mut b = lane;
    while b < 1 << BITS {
        // SAFETY: the counter of a bin of this warp, by this function's contract.
        unsafe { shared_store::<u32, 1, 1>(|_| counter::<BITS>(counters, warp, b), |_| true, |_| 0, site) };
        b += WARP;
    }
    // The lanes with the same bin, a bit each.
    let equal: [u32; R] = each(|r| {
        let mut lanes = hw::ballot(counts(r) && lane < LANES, site);
        let mut bit = 0;
        while bit < BITS {
            let is_set = bin(r) >> bit & 1 == 1;
            let set = hw::ballot(is_set, site);
            lanes &= if is_set { set } else { !set };
            bit += 1;
        }
        lanes
    });
    hw::warp_barrier(site);
    each(|r| {
        let at = counter::<BITS>(counters, warp, bin(r));
        // SAFETY: the counter of a bin of this warp, by this function's contract.
        let [before] = unsafe { shared_load::<u32, 1, 1>(|_| at, |_| true, site) };
        hw::warp_barrier(site);
        let lower = if planted!("device-cumcount-of-any-lane") { !0 } else { (1 << (lane % LANES)) - 1 };
        let in_register = (equal[r] & lower).count_ones();
        let is_first = counts(r) && lane < LANES && in_register == 0;
        // SAFETY: as above.
        unsafe { shared_store::<u32, 1, 1>(|_| at, |_| is_first, |_| before + equal[r].count_ones(), site) };
        hw::warp_barrier(site);
        if counts(r) { before + in_register } else { 0 }
    })
}

/// Replaces the number of elements in each bin of each of the first `WARPS` warps by the number in the same bin of the
/// warps before. The `THREADS` threads of the program take part.
///
/// # Safety
/// As [`cumcount_in_warp`].
#[inline(always)]
pub unsafe fn cumcount_of_warps<const WARPS: u32, const BITS: u32, const THREADS: u32>(counters: u32, site: u32) {
    let mut bin = hw::thread();
    while bin < 1 << BITS {
        let (mut before, mut warp) = (0, 0);
        while warp < WARPS {
            let at = counter::<BITS>(counters, warp, bin);
            // SAFETY: the counter of a bin of a warp, by this function's contract.
            let [count] = unsafe { shared_load::<u32, 1, 1>(|_| at, |_| true, site) };
            // SAFETY: as above.
            unsafe { shared_store::<u32, 1, 1>(|_| at, |_| true, |_| before, site) };
            before += count;
            warp += 1;
        }
        bin += THREADS;
    }
}
