//! Rounds of 32-bit FNV-1a over the four bytes of each value, low byte first.

use tilewright_macros::tile_module;

/// The hash of each value.
#[tile_module]
pub mod rainbow {
    const BASIS: u32 = 2_166_136_261;
    const PRIME: u32 = 16_777_619;

    #[tile_kernel(tune(BLOCK = [512, 1024], warps = [4]), grid = [cdiv(output.len(), BLOCK)], alias(input, output))]
    pub fn rainbow_table<const BLOCK: usize>(input: &[i32], output: &mut [u32], rounds: u32) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let mut h = bitcast::<u32>(load(input, i));
        for _round in 0..rounds {
            let v = h;
            h = (BASIS ^ (v & 0xFF)) * PRIME;
            h = (h ^ ((v >> 8) & 0xFF)) * PRIME;
            h = (h ^ ((v >> 16) & 0xFF)) * PRIME;
            h = (h ^ (v >> 24)) * PRIME;
        }
        store(output, i, h);
    }
}
