//! An array back to front.
//!
//! The CUDA way of it, each block with a copy of its elements in shared memory that it stores where the others have
//! theirs, is a race: a block may store before another has read. Nor could programs here hand each other anything but
//! through arrays.

use tilewright::tile_kernel;

// ANCHOR: reverse_pairs
/// In place: one program has both elements of a pair, so that no program loads elements that another stores.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(x.len() / 2, BLOCK)])]
pub fn reverse_pairs<const BLOCK: usize>(x: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let other = x.len() - 1 - i;
    // The element in the middle stays where it is.
    let mask = i < x.len() / 2;
    let ta = load(x, i).mask(mask);
    let tb = load(x, other).mask(mask);
    store(x, i, tb).mask(mask);
    store(x, other, ta).mask(mask);
}
// ANCHOR_END: reverse_pairs

// ANCHOR: reverse_copy
/// Into another array: a block is loaded in one piece and stored backwards.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(x.len(), BLOCK)])]
pub fn reverse_copy<const BLOCK: usize>(x: &[f32], y: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let copy_of_input = load(x, i);
    // Beyond the array i wraps around: past the end of y, where a store is dropped.
    store(y, x.len() - 1 - i, copy_of_input);
}
// ANCHOR_END: reverse_copy
