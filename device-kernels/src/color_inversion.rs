//! RGBA bytes in place: 255 minus each color, alpha kept.

use tilewright_macros::tile_kernel;

/// One pixel an element, red in the lowest byte: 255 - v is v ^ 255. For images aligned to 4 bytes.
#[tile_kernel(tune(BLOCK = [1024, 2048], warps = [4]), grid = [cdiv(image.len(), BLOCK)])]
pub fn color_inversion<const BLOCK: usize>(image: &mut [u32]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    store(image, i, load(image, i) ^ 0x00FF_FFFF);
}

/// One byte an element, for images at any address. The first byte is a pixel's red.
#[tile_kernel(tune(BLOCK = [2048], warps = [4]), grid = [cdiv(image.len(), BLOCK)])]
pub fn color_inversion_bytes<const BLOCK: usize>(image: &mut [u8]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(image, i);
    store(image, i, where_(i % 4 == 3, v, v ^ 0xFF));
}
