//! The dot product of two f16 arrays, accumulated in f32, in one launch (as `reduction`).

use tilewright_macros::tile_module;

pub use programs::*;

/// The dot product of two arrays.
#[tile_module(use crate::library::partials)]
pub mod programs {
    #[tile_kernel(
        tune(BLOCK = [8192], PER_SM = [4], warps = [8]),
        tune(BLOCK = [4096], PER_SM = [8], warps = [8]),
        tune(BLOCK = [16384], PER_SM = [2], warps = [16]),
        grid = [max(1, min(min(cdiv(a.len(), BLOCK), num_sms() * PER_SM), workspace.len()))],
    )]
    pub fn dot_product<const BLOCK: usize, const PER_SM: usize>(
        a: &[f16],
        b: &[f16],
        workspace: &mut [u64],
        semaphore: &mut [u32],
        y: &mut [f16],
    ) {
        let order = begin_order(semaphore);
        let mut acc = zeros::<f32>([BLOCK]);
        for start in range(program_id(0) * BLOCK, a.len(), num_programs(0) * BLOCK) {
            let i = start + arange(BLOCK);
            acc = fma(load(a, i).to::<f32>(), load(b, i).to::<f32>(), acc);
        }
        sum_of_programs::<f32>(workspace, semaphore, order, sum(acc), |total| {
            store(y, 0, total.to::<f16>());
        });
    }
}
