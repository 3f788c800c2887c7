//! The dot product of two f16 arrays, accumulated in f32, in one launch (as `reduction`).

use kernel_macros::tile_kernel;

#[tile_kernel(
    tune(BLOCK = [8192], PER_SM = [4], warps = [8]),
    tune(BLOCK = [4096], PER_SM = [8], warps = [8]),
    tune(BLOCK = [16384], PER_SM = [2], warps = [16]),
    grid = [max(1, min(min(cdiv(a.len(), BLOCK), num_sms() * PER_SM), partials.len()))],
)]
pub fn dot_product<const BLOCK: usize, const PER_SM: usize>(
    a: &[f16],
    b: &[f16],
    partials: &mut [u64],
    ticket: &mut [u32],
    y: &mut [f16],
) {
    let order = atomic_add(ticket, 0, 1).relaxed();
    let mut acc = zeros::<f32>([BLOCK]);
    for start in range(program_id(0) * BLOCK, a.len(), num_programs(0) * BLOCK) {
        let i = start + arange(BLOCK);
        acc = fma(load(a, i).to::<f32>(), load(b, i).to::<f32>(), acc);
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
        store(y, 0, sum(total).to::<f16>());
        store(ticket, 0, 0);
    }
}
