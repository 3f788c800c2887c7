//! How many elements equal `k`, in one launch (as `reduction`).

use tilewright_macros::tile_module;

pub use programs::*;

/// The count of equal elements of an array.
#[tile_module(use crate::library::partials)]
pub mod programs {
    #[tile_kernel(
        tune(BLOCK = [4096], PER_SM = [8, 4], EVICT_FIRST = [false], warps = [8]),
        tune(BLOCK = [8192], PER_SM = [2], EVICT_FIRST = [false, true], warps = [16]),
        tune(BLOCK = [1024], PER_SM = [16], EVICT_FIRST = [true], warps = [4]),
        grid = [max(1, min(min(cdiv(x.len(), BLOCK), num_sms() * PER_SM), workspace.len()))],
    )]
    pub fn count_array_element<const BLOCK: usize, const PER_SM: usize, const EVICT_FIRST: bool>(
        x: &[i32],
        workspace: &mut [u64],
        semaphore: &mut [u32],
        y: &mut [i32],
        k: i32,
    ) {
        let order = begin_order(semaphore);
        let mut acc = zeros::<i32>([BLOCK]);
        for start in range(program_id(0) * BLOCK, x.len(), num_programs(0) * BLOCK) {
            let i = start + arange(BLOCK);
            // The mask is for k = 0: past the end a load gives 0 as well.
            let v = if EVICT_FIRST { load(x, i).evict_first() } else { load(x, i) };
            acc += ((v == k) & (i < x.len())).to::<i32>();
        }
        sum_of_programs::<i32>(workspace, semaphore, order, sum(acc), |total| {
            store(y, 0, total);
        });
    }
}
