//! How many elements of a matrix equal `k`, whatever its strides. A contiguous matrix is an array:
//! `count_array_element` counts that faster.

use kernel_macros::tile_kernel;

#[tile_kernel(
    tune(ROWS = [8], COLS = [256], PER_SM = [8], ONCE = [0, 1], warps = [8]),
    grid = [max(1, min(min(cdiv(x.dim(0), ROWS) * cdiv(x.dim(1), COLS), num_sms() * PER_SM), partials.len()))],
)]
pub fn count_2d_array_element<const ROWS: usize, const COLS: usize, const PER_SM: usize, const ONCE: usize>(
    x: View<i32, 2>,
    partials: &mut [u64],
    ticket: &mut [u32],
    y: &mut [i32],
    k: i32,
) {
    let order = atomic_add(ticket, 0, 1).relaxed();
    let across = cdiv(x.dim(1), COLS);
    let tiles = cdiv(x.dim(0), ROWS) * across;
    let mut acc = zeros::<i32>([ROWS, COLS]);
    for t in range(program_id(0), tiles, num_programs(0)) {
        let r = t / across * ROWS;
        let c = t % across * COLS;
        let inside = ((r + arange(ROWS)).expand(1) < x.dim(0)) & ((c + arange(COLS)).expand(0) < x.dim(1));
        let v = if ONCE == 1 { x.tile([r, c], [ROWS, COLS]).streaming() } else { x.tile([r, c], [ROWS, COLS]) };
        acc += ((v == k) & inside).to::<i32>();
    }
    atomic_store(partials, program_id(0), (1u64 << 32) | (bitcast::<u32>(sum(acc)) as u64)).relaxed();
    if order == num_programs(0) as u32 - 1 {
        let mut total = zeros::<i32>([1024]);
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
            total += bitcast::<i32>(part.to::<u32>());
            atomic_store(partials, i, 0).mask(i < n).relaxed();
        }
        store(y, 0, sum(total));
        store(ticket, 0, 0);
    }
}
