//! Convolution of one dimension, valid and not flipped: `output[i] = sum of input[i + k] * kernel[k]`.
//!
//! There is no window in shared memory here, although `shared_array` could hold one. Loads of neighboring outputs
//! overlap, so the L1 cache has what the window would have. `tilewright_kernels::convolution_1d` keeps several outputs
//! in registers instead.

use tilewright::tile_kernel;

// ANCHOR: convolution_plain
/// One tap at a time: the same tap for all of a tile.
#[tile_kernel(tune(BLOCK = [256]), grid = [cdiv(output.len(), BLOCK)])]
pub fn convolution_plain<const BLOCK: usize>(input: &[f32], kernel: &[f32], output: &mut [f32]) {
    let idx = program_id(0) * BLOCK + arange(BLOCK);
    let mut temp = zeros::<f32>([BLOCK]);
    for i in 0..kernel.len() {
        temp += load(input, idx + i) * load(kernel, i);
    }
    store(output, idx, temp);
}
// ANCHOR_END: convolution_plain

// ANCHOR: convolution_by_fours
/// Four taps at a time, and the remaining ones one by one.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(output.len(), BLOCK)])]
pub fn convolution_by_fours<const BLOCK: usize>(input: &[f32], kernel: &[f32], output: &mut [f32]) {
    let idx = program_id(0) * BLOCK + arange(BLOCK);
    let fours = kernel.len() / 4 * 4;
    let mut temp = zeros::<f32>([BLOCK]);
    for p in range(0, fours, 4) {
        for i in static_range(0..4) {
            temp += load(input, idx + p + i) * load(kernel, p + i);
        }
    }
    for i in fours..kernel.len() {
        temp += load(input, idx + i) * load(kernel, i);
    }
    store(output, idx, temp);
}
// ANCHOR_END: convolution_by_fours
