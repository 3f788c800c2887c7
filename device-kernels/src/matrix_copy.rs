//! `b = a`, element by element.

use tilewright_macros::tile_kernel;

#[tile_kernel(tune(BLOCK = [1024, 2048, 4096], warps = [4]), grid = [cdiv(b.len(), BLOCK)], alias(a, b))]
pub fn matrix_copy<const BLOCK: usize>(a: &[f32], b: &mut [f32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(b, i, load(a, i));
}
