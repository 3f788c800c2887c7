//! Softmax of each row, the row in one tile: read once, written once.

use tilewright::tile_kernel;

// ANCHOR: softmax_row_naive
/// One program a row. The tile is at least as wide as a row; the elements beyond the row are -inf, which changes
/// neither the maximum nor the sum.
///
/// # Safety
/// `input` and `output` address the rows, `row_stride` elements apart, and `n_cols <= BLOCK_SIZE`.
#[tile_kernel(tune(BLOCK_SIZE = [1024]), grid = [n_rows])]
pub unsafe fn softmax_row_naive<const BLOCK_SIZE: usize>(
    input: *const f32,
    output: *mut f32,
    input_row_stride: usize,
    output_row_stride: usize,
    n_rows: usize,
    n_cols: usize,
) {
    let row_idx = program_id(0);
    let col_offsets = arange(BLOCK_SIZE);
    let mask = col_offsets < n_cols;
    let row_start = input.add(row_idx * input_row_stride);
    let row = load(row_start.add(col_offsets)).mask(mask).other(f32::NEG_INFINITY);
    // Subtracting the maximum keeps the exponentials from overflowing.
    let row_minus_max = row - max(row, 0);
    let numerator = exp(row_minus_max);
    let denominator = sum(numerator, 0);
    let softmax = numerator / denominator;
    let output_row_start = output.add(row_idx * output_row_stride);
    store(output_row_start.add(col_offsets), softmax).mask(mask);
}
// ANCHOR_END: softmax_row_naive

// ANCHOR: softmax_row_persistent
/// A fixed number of programs, each with every num_programs-th row.
///
/// # Safety
/// As [`softmax_row_naive`].
#[tile_kernel(tune(BLOCK_SIZE = [1024]), grid = [min(n_rows, num_sms() * 8)])]
pub unsafe fn softmax_row_persistent<const BLOCK_SIZE: usize>(
    input: *const f32,
    output: *mut f32,
    input_row_stride: usize,
    output_row_stride: usize,
    n_rows: usize,
    n_cols: usize,
) {
    let row_start = program_id(0);
    let row_step = num_programs(0);
    let col_offsets = arange(BLOCK_SIZE);
    let mask = col_offsets < n_cols;
    for row_idx in range(row_start, n_rows, row_step) {
        let input_row = input.add(row_idx * input_row_stride);
        let row = load(input_row.add(col_offsets)).mask(mask).other(f32::NEG_INFINITY);
        let numerator = exp(row - max(row, 0));
        let softmax = numerator / sum(numerator, 0);
        let output_row = output.add(row_idx * output_row_stride);
        store(output_row.add(col_offsets), softmax).mask(mask);
    }
}
// ANCHOR_END: softmax_row_persistent
