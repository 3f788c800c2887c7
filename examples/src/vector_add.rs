//! One operation, four ways: with slices, with pointers and masks, with a persistent grid, and with prints and
//! assertions.

use tilewright::tile_kernel;

// ANCHOR: vector_add_naive
/// With slices there is no mask to write: a load past the end gives 0, a store past the end is dropped.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(c.len(), BLOCK)])]
pub fn vector_add_naive<const BLOCK: usize>(a: &[f32], b: &[f32], c: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(c, i, load(a, i) + load(b, i));
}
// ANCHOR_END: vector_add_naive

// ANCHOR: vector_add_masked
/// With raw pointers only the mask protects the memory behind the arrays.
///
/// # Safety
/// `x`, `y` and `output` address `n_elements` elements each, and `output` overlaps no other program's input.
#[tile_kernel(tune(BLOCK_SIZE = [1024]), grid = [cdiv(n_elements, BLOCK_SIZE)])]
pub unsafe fn vector_add_masked<const BLOCK_SIZE: usize>(
    x: *const f32,
    y: *const f32,
    output: *mut f32,
    n_elements: usize,
) {
    // Which of the programs is this one?
    let pid = program_id(0);
    // Program 0 has elements 0..1024, program 1 has 1024..2048, and so on.
    let block_start = pid * BLOCK_SIZE;
    let offsets = block_start + arange(BLOCK_SIZE);
    // The last program may reach past the end.
    let mask = offsets < n_elements;
    let a = load(x.add(offsets)).mask(mask);
    let b = load(y.add(offsets)).mask(mask);
    let sum = a + b;
    store(output.add(offsets), sum).mask(mask);
}
// ANCHOR_END: vector_add_masked

// ANCHOR: vector_add_persistent
/// A fixed number of programs, each with every num_programs-th block: the grid no longer depends on the length.
///
/// # Safety
/// As [`vector_add_masked`].
#[tile_kernel(tune(BLOCK_SIZE = [1024]), grid = [min(cdiv(n_elements, BLOCK_SIZE), num_sms() * 8)])]
pub unsafe fn vector_add_persistent<const BLOCK_SIZE: usize>(
    x: *const f32,
    y: *const f32,
    output: *mut f32,
    n_elements: usize,
) {
    for block in range(program_id(0), cdiv(n_elements, BLOCK_SIZE), num_programs(0)) {
        let offsets = block * BLOCK_SIZE + arange(BLOCK_SIZE);
        let mask = offsets < n_elements;
        let a = load(x.add(offsets)).mask(mask);
        let b = load(y.add(offsets)).mask(mask);
        store(output.add(offsets), a + b).mask(mask);
    }
}
// ANCHOR_END: vector_add_persistent

// ANCHOR: vector_add_debug
/// With prints and assertions, in blocks that are small enough to read. A print names its program. Assertions are
/// checked when the kernel runs, or when it is compiled. A print takes its arguments from local memory, which the build
/// remarks on: remove it after debugging.
#[tile_kernel(tune(BLOCK_SIZE = [32]), grid = [cdiv(z.len(), BLOCK_SIZE)])]
pub fn vector_add_debug<const BLOCK_SIZE: usize>(x: &[f32], y: &[f32], z: &mut [f32]) {
    static_assert!(BLOCK_SIZE >= 32, "a warp has 32 threads");
    let pid = program_id(0);
    let block_start = pid * BLOCK_SIZE;
    let offsets = arange(BLOCK_SIZE);
    let idx = block_start + offsets;
    store(z, idx, load(x, idx) + load(y, idx));
    device_assert!(num_programs(0) == cdiv(z.len(), BLOCK_SIZE), "as many programs as blocks");
    device_assert!(x.len() >= z.len() && y.len() >= z.len(), "an element of each for every sum");
    if pid == 1 {
        device_print!("pid", pid);
        device_print!("block_start", block_start);
        device_print!("idx", idx);
    }
}
// ANCHOR_END: vector_add_debug
