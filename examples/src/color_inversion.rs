//! The colors of an RGBA image inverted in place, alpha kept.

use tilewright::tile_kernel;

// ANCHOR: invert_bytes
/// A byte at a time, three of the four of a pixel.
#[tile_kernel(tune(BLOCK = [256]), grid = [cdiv(image.len() / 4, BLOCK)])]
pub fn invert_bytes<const BLOCK: usize>(image: &mut [u8]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(image, i * 4, 255 - load(image, i * 4));
    store(image, i * 4 + 1, 255 - load(image, i * 4 + 1));
    store(image, i * 4 + 2, 255 - load(image, i * 4 + 2));
}
// ANCHOR_END: invert_bytes

// ANCHOR: invert_words
/// A pixel at a time: 255 - v is v ^ 255. The compiler makes loads and stores of four words, for an aligned array of
/// any length.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(image.len(), BLOCK)])]
pub fn invert_words<const BLOCK: usize>(image: &mut [u32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(image, i, load(image, i) ^ 0x00FF_FFFF);
}
// ANCHOR_END: invert_words

// ANCHOR: invert_persistent
/// A persistent grid: the pixels of the next iteration are loaded before those of this one are stored. The evict-first
/// hints leave the L2 cache to others, since no program reads a pixel twice.
#[tile_kernel(tune(BLOCK = [1024]), grid = [min(cdiv(image.len(), BLOCK), num_sms() * 8)])]
pub fn invert_persistent<const BLOCK: usize>(image: &mut [u32]) {
    let stride = num_programs(0) * BLOCK;
    let mut i = program_id(0) * BLOCK + arange(BLOCK);
    let mut r0 = load(image, i).evict_first();
    for _ in range(program_id(0) * BLOCK, image.len(), stride) {
        let r1 = load(image, i + stride).evict_first();
        store(image, i, r0 ^ 0x00FF_FFFF).evict_first();
        r0 = r1;
        i += stride;
    }
}
// ANCHOR_END: invert_persistent
