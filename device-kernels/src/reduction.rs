//! The sum of an array, in one launch.

use kernel_macros::tile_kernel;

// Each program takes a ticket, sums every num_programs-th block into a tile, then leaves one partial sum with a mark in one word.
// The one with the last ticket waits for the marks, adds the partials in their order, and puts words and ticket back to 0 for the next
// launch: the result depends on the number of programs alone, never on who finishes first. A mark in the word costs one way to the L2
// cache and one back; partials announced by the ticket would cost three.
//
// With ONCE of 1 what is read replaces itself in the L2 cache, not what others have left there: faster for tens of megabytes,
// whose reading would otherwise drive that out to memory, slower for gigabytes.
#[tile_kernel(
    tune(BLOCK = [4096], PER_SM = [8, 4], ONCE = [0], warps = [8]),
    tune(BLOCK = [8192], PER_SM = [2], ONCE = [0, 1], warps = [16]),
    tune(BLOCK = [1024], PER_SM = [16], ONCE = [1], warps = [4]),
    grid = [max(1, min(min(cdiv(x.len(), BLOCK), num_sms() * PER_SM), partials.len()))],
)]
pub fn reduction<const BLOCK: usize, const PER_SM: usize, const ONCE: usize>(
    x: &[f32],
    partials: &mut [u64],
    ticket: &mut [u32],
    y: &mut [f32],
) {
    let order = atomic_add(ticket, 0, 1).relaxed();
    let mut acc = zeros::<f32>([BLOCK]);
    for start in range(program_id(0) * BLOCK, x.len(), num_programs(0) * BLOCK) {
        let i = start + arange(BLOCK);
        acc += if ONCE == 1 { load(x, i).streaming() } else { load(x, i) };
    }
    atomic_store(partials, program_id(0), (1u64 << 32) | (bitcast::<u32>(sum(acc)) as u64)).relaxed();
    if order == num_programs(0) as u32 - 1 {
        let mut total = zeros::<f32>([1024]);
        let n = min(num_programs(0), partials.len());
        for start in range(0, n, 1024) {
            let i = start + arange(1024);
            // Who has an earlier ticket has begun, and ends whatever this program waits for.
            let mut part = zeros::<u64>([1024]);
            loop {
                part = atomic_load(partials, i).mask(i < n).relaxed();
                if min(where_(i < n, (part >> 32).to::<u32>(), 1)) == 1 {
                    break;
                }
            }
            total += bitcast::<f32>(part.to::<u32>());
            atomic_store(partials, i, 0).mask(i < n).relaxed();
        }
        store(y, 0, sum(total));
        store(ticket, 0, 0);
    }
}
