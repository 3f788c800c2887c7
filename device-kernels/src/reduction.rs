//! The sum of an array, in one launch.

use tilewright_macros::tile_module;

pub use programs::*;

/// The sum of an array.
#[tile_module(use crate::library::partials)]
pub mod programs {
    // Each program sums every num_programs-th block. With EVICT_FIRST the blocks are evicted from the L2 cache first.
    // That is faster for tens of megabytes, which would otherwise drive other data out to memory, and slower for
    // gigabytes.
    #[tile_kernel(
        tune(BLOCK = [4096], PER_SM = [8, 4], EVICT_FIRST = [false], warps = [8]),
        tune(BLOCK = [8192], PER_SM = [2], EVICT_FIRST = [false, true], warps = [16]),
        tune(BLOCK = [1024], PER_SM = [16], EVICT_FIRST = [true], warps = [4]),
        grid = [max(1, min(min(cdiv(x.len(), BLOCK), num_sms() * PER_SM), workspace.len()))],
    )]
    pub fn reduction<const BLOCK: usize, const PER_SM: usize, const EVICT_FIRST: bool>(
        x: &[f32],
        workspace: &mut [u64],
        semaphore: &mut [u32],
        y: &mut [f32],
    ) {
        let order = begin_order(semaphore);
        let mut acc = zeros::<f32>([BLOCK]);
        for start in range(program_id(0) * BLOCK, x.len(), num_programs(0) * BLOCK) {
            let i = start + arange(BLOCK);
            acc += if EVICT_FIRST { load(x, i).evict_first() } else { load(x, i) };
        }
        sum_of_programs::<f32>(workspace, semaphore, order, sum(acc), |total| {
            store(y, 0, total);
        });
    }
}
