//! Many programs, one result: an atomic addition each.
//!
//! `output` must hold 0 before the launch. Float additions come in the order in which programs finish, so the last bits
//! differ from run to run; `tilewright_kernels::reduction` does it with a last arriver in one fixed order.

use tilewright::tile_kernel;

// ANCHOR: sum_atomic
/// `output[0] += sum of x`.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(x.len(), BLOCK)])]
pub fn sum_atomic<const BLOCK: usize>(x: &[f32], output: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    // Inside the tile, `sum` is the tree one writes by hand in CUDA: registers, shuffles, then shared memory.
    let partial = sum(load(x, i));
    atomic_add(output, 0, partial).relaxed();
}
// ANCHOR_END: sum_atomic

// ANCHOR: sum_persistent
/// The same with a persistent grid: one atomic for many blocks.
#[tile_kernel(tune(BLOCK = [1024]), grid = [min(cdiv(x.len(), BLOCK), num_sms() * 8)])]
pub fn sum_persistent<const BLOCK: usize>(x: &[f32], output: &mut [f32]) {
    let mut acc = zeros::<f32>([BLOCK]);
    for start in range(program_id(0) * BLOCK, x.len(), num_programs(0) * BLOCK) {
        acc += load(x, start + arange(BLOCK));
    }
    atomic_add(output, 0, sum(acc)).relaxed();
}
// ANCHOR_END: sum_persistent

// ANCHOR: count_atomic
/// `output[0] += number of elements equal to k`. Integers add up to the same in any order.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(x.len(), BLOCK)])]
pub fn count_atomic<const BLOCK: usize>(x: &[i32], output: &mut [i32], k: i32) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let equal = (load(x, i) == k) & (i < x.len());
    atomic_add(output, 0, sum(equal.to::<i32>())).relaxed();
}
// ANCHOR_END: count_atomic

// ANCHOR: count_2d_rows
/// The same of a matrix, a row a thread and an atomic for every column: the slow way, for the sake of the comparison.
/// Neighboring threads read a row's length apart. The elements of a matrix without gaps are an array, which
/// `count_atomic` counts.
#[tile_kernel(tune(BLOCK = [256]), grid = [cdiv(n, BLOCK)])]
pub fn count_2d_rows<const BLOCK: usize>(x: &[i32], output: &mut [i32], n: usize, m: usize, k: i32) {
    let row = program_id(0) * BLOCK + arange(BLOCK);
    for i in 0..m {
        let equal = (load(x, row * m + i) == k) & (row < n);
        atomic_add(output, 0, sum(equal.to::<i32>())).relaxed();
    }
}
// ANCHOR_END: count_2d_rows
