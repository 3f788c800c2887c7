//! How many elements of a matrix equal `k`, for any strides. A contiguous matrix is an array: `count_array_element`
//! counts that faster.

use tilewright_macros::tile_module;

pub use programs::*;

/// The count of equal elements of a matrix.
#[tile_module(use crate::library::partials)]
pub mod programs {
    #[tile_kernel(
        tune(ROWS = [8], COLS = [256], PER_SM = [8], EVICT_FIRST = [false, true], warps = [8]),
        grid = [max(1, min(min(cdiv(x.dim(0), ROWS) * cdiv(x.dim(1), COLS), num_sms() * PER_SM), workspace.len()))],
    )]
    pub fn count_2d_array_element<
        const ROWS: usize,
        const COLS: usize,
        const PER_SM: usize,
        const EVICT_FIRST: bool,
    >(
        x: View<i32, 2>,
        workspace: &mut [u64],
        semaphore: &mut [u32],
        y: &mut [i32],
        k: i32,
    ) {
        let order = begin_order(semaphore);
        let across = cdiv(x.dim(1), COLS);
        let tiles = cdiv(x.dim(0), ROWS) * across;
        let mut acc = zeros::<i32>([ROWS, COLS]);
        for t in range(program_id(0), tiles, num_programs(0)) {
            let r = t / across * ROWS;
            let c = t % across * COLS;
            let inside = ((r + arange(ROWS)).expand(1) < x.dim(0)) & ((c + arange(COLS)).expand(0) < x.dim(1));
            let v = if EVICT_FIRST { x.tile([r, c], [ROWS, COLS]).evict_first() } else { x.tile([r, c], [ROWS, COLS]) };
            acc += ((v == k) & inside).to::<i32>();
        }
        sum_of_programs::<i32>(workspace, semaphore, order, sum(acc), |total| {
            store(y, 0, total);
        });
    }
}
