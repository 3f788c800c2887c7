//! Softmax over one long array: programs must agree on the maximum, then on the sum, before any can finish.
//! A program cannot wait for another, so an agreement is the end of a launch. Three ways to pay for it.

use tilewright::tile_kernel;

// ---- 1. Five launches: partial results, combined by one program -------------------------------------------------

// ANCHOR: partial_max
/// The maximum of each block.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(x.len(), BLOCK)])]
pub fn partial_max<const BLOCK: usize>(x: &[f32], partial: &mut [f32]) {
    let pid = program_id(0);
    let v = load(x, pid * BLOCK + arange(BLOCK)).other(f32::NEG_INFINITY);
    store(partial, pid, max(v));
}
// ANCHOR_END: partial_max

// ANCHOR: combine_max
/// The maximum of the maxima, by one program.
#[tile_kernel(tune(BLOCK = [1024]), grid = [1])]
pub fn combine_max<const BLOCK: usize>(partial: &[f32], global_max: &mut [f32]) {
    let mut m = full([BLOCK], f32::NEG_INFINITY);
    for start in (0..partial.len()).step_by(BLOCK) {
        m = maximum(m, load(partial, start + arange(BLOCK)).other(f32::NEG_INFINITY));
    }
    store(global_max, 0, max(m));
}
// ANCHOR_END: combine_max

// ANCHOR: partial_exp_sum
/// Each block's sum of exponentials.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(x.len(), BLOCK)])]
pub fn partial_exp_sum<const BLOCK: usize>(x: &[f32], global_max: &[f32], partial: &mut [f32]) {
    let pid = program_id(0);
    let v = load(x, pid * BLOCK + arange(BLOCK)).other(f32::NEG_INFINITY);
    store(partial, pid, sum(exp(v - load(global_max, 0))));
}
// ANCHOR_END: partial_exp_sum

// ANCHOR: combine_sum
/// The sum of the sums, by one program.
#[tile_kernel(tune(BLOCK = [1024]), grid = [1])]
pub fn combine_sum<const BLOCK: usize>(partial: &[f32], global_sum: &mut [f32]) {
    let mut s = zeros::<f32>([BLOCK]);
    for start in (0..partial.len()).step_by(BLOCK) {
        s += load(partial, start + arange(BLOCK));
    }
    store(global_sum, 0, sum(s));
}
// ANCHOR_END: combine_sum

// ANCHOR: normalize
/// The result.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(x.len(), BLOCK)])]
pub fn normalize<const BLOCK: usize>(x: &[f32], global_max: &[f32], global_sum: &[f32], y: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i);
    store(y, i, exp(v - load(global_max, 0)) / load(global_sum, 0));
}
// ANCHOR_END: normalize

// ---- 2. One launch: every program finds the maximum and the sum of the whole array for itself --------------------

// ANCHOR: softmax_alone
/// Reads the array twice per program; good while there are few programs.
#[tile_kernel(tune(BLOCK = [8192], warps = [16]), grid = [cdiv(x.len(), BLOCK)])]
pub fn softmax_alone<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
    let mut running_max = full([BLOCK], f32::NEG_INFINITY);
    for off in range(0, x.len(), BLOCK) {
        running_max = maximum(running_max, load(x, off + arange(BLOCK)).other(f32::NEG_INFINITY));
    }
    let m = max(running_max, 0);
    let mut running_sum = zeros::<f32>([BLOCK]);
    for off in range(0, x.len(), BLOCK) {
        running_sum += exp(load(x, off + arange(BLOCK)).other(f32::NEG_INFINITY) - m);
    }
    let s = sum(running_sum, 0);
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(y, i, exp(load(x, i) - m) / s);
}
// ANCHOR_END: softmax_alone

// ---- 3. Three launches: maximum and sum by atomics, then `normalize` ---------------------------------------------

// ANCHOR: atomic_max_bits
/// `global_max[0] = max(global_max[0], x)`, kept as bits. No hardware has a maximum of floats in memory: compare and
/// swap until nobody came between. A failed swap means that another program has succeeded, so this ends.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(x.len(), BLOCK)])]
pub fn atomic_max_bits<const BLOCK: usize>(x: &[f32], global_max: &mut [u32]) {
    let v = load(x, program_id(0) * BLOCK + arange(BLOCK)).other(f32::NEG_INFINITY);
    let mine = max(v);
    // Others are writing: a plain load would be a race, so an atomic that changes nothing reads it.
    let mut seen = atomic_or(global_max, 0, 0);
    while bitcast::<f32>(seen) < mine {
        let before = atomic_cas(global_max, 0, seen, bitcast::<u32>(mine));
        if before == seen {
            break;
        }
        seen = before;
    }
}
// ANCHOR_END: atomic_max_bits

// ANCHOR: atomic_exp_sum
/// `global_sum[0] += sum of exp(x - max)`.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(x.len(), BLOCK)])]
pub fn atomic_exp_sum<const BLOCK: usize>(x: &[f32], global_max: &[f32], global_sum: &mut [f32]) {
    let v = load(x, program_id(0) * BLOCK + arange(BLOCK)).other(f32::NEG_INFINITY);
    atomic_add(global_sum, 0, sum(exp(v - load(global_max, 0)))).relaxed();
}
// ANCHOR_END: atomic_exp_sum
