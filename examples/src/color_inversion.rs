//! The colours of an RGBA image inverted in place, alpha kept.

use tilewright::tile_kernel;

/// A byte at a time, three of the four of a pixel.
#[tile_kernel(tune(BLOCK = [256]), grid = [cdiv(image.len() / 4, BLOCK)])]
pub fn invert_bytes<const BLOCK: usize>(image: &mut [u8]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(image, i * 4, 255 - load(image, i * 4));
    store(image, i * 4 + 1, 255 - load(image, i * 4 + 1));
    store(image, i * 4 + 2, 255 - load(image, i * 4 + 2));
}

/// A pixel at a time: 255 - v is v ^ 255. The four words of a vector load are the compiler's to find: neighbours lie in one
/// thread where the array is aligned, with or without a rest.
#[tile_kernel(tune(BLOCK = [1024]), grid = [cdiv(image.len(), BLOCK)])]
pub fn invert_words<const BLOCK: usize>(image: &mut [u32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(image, i, load(image, i) ^ 0x00FF_FFFF);
}

/// Programs that stay: the pixels of the next round are asked for before those of this one are stored, and nothing is kept in
/// the caches, as nobody reads it again.
#[tile_kernel(tune(BLOCK = [1024]), grid = [min(cdiv(image.len(), BLOCK), num_sms() * 8)])]
pub fn invert_persistent<const BLOCK: usize>(image: &mut [u32]) {
    let stride = num_programs(0) * BLOCK;
    let mut i = program_id(0) * BLOCK + arange(BLOCK);
    let mut r0 = load(image, i).streaming();
    for _ in range(program_id(0) * BLOCK, image.len(), stride) {
        let r1 = load(image, i + stride).streaming();
        store(image, i, r0 ^ 0x00FF_FFFF).streaming();
        r0 = r1;
        i += stride;
    }
}
