//! The array back to front, in place.

use tilewright_macros::tile_kernel;

// Pairs (i, n-1-i) with i in the first half: every element but a middle one is in exactly one pair, and a pair is
// loaded whole before it is stored, so no program reads an element that another has written.
#[tile_kernel(tune(BLOCK = [1024, 512, 2048], warps = [4]), grid = [cdiv(x.len() / 2, BLOCK)])]
pub fn reverse_array<const BLOCK: usize>(x: &mut [f32]) {
    let n = x.len();
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let j = n - 1 - i;
    let pair = i < n / 2;
    let front = load(x, i).mask(pair);
    let back = load(x, j).mask(pair);
    store(x, i, back).mask(pair);
    store(x, j, front).mask(pair);
}
