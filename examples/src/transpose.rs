//! A matrix transposed tile by tile.

use tilewright::tile_kernel;

// ANCHOR: transpose_naive
/// Program (i, j) moves tile (i, j). `trans` swaps the tile's axes, so that the read runs along the input's rows and
/// the write along the output's.
///
/// # Safety
/// `input` addresses an m by n matrix with the given strides, `output` an n by m one.
#[tile_kernel(tune(BLOCK_SIZE = [32]), grid = [cdiv(m, BLOCK_SIZE), cdiv(n, BLOCK_SIZE)])]
pub unsafe fn transpose_naive<const BLOCK_SIZE: usize>(
    input: *const f32,
    output: *mut f32,
    m: usize,
    n: usize,
    stride_ir: usize,
    stride_ic: usize,
    stride_or: usize,
    stride_oc: usize,
) {
    let pid_m = program_id(0);
    let pid_n = program_id(1);
    let offs_m = pid_m * BLOCK_SIZE + arange(BLOCK_SIZE);
    let offs_n = pid_n * BLOCK_SIZE + arange(BLOCK_SIZE);
    let input_ptrs = input.add(offs_m.expand(1) * stride_ir + offs_n.expand(0) * stride_ic);
    let mask = (offs_m.expand(1) < m) & (offs_n.expand(0) < n);
    let block = load(input_ptrs).mask(mask).other(0.0);
    let transposed_block = trans(block);
    let output_ptrs = output.add(offs_n.expand(1) * stride_or + offs_m.expand(0) * stride_oc);
    store(output_ptrs, transposed_block).mask(trans(mask));
}
// ANCHOR_END: transpose_naive
