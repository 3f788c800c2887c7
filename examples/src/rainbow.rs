//! A table of hashes: rounds of 32-bit FNV-1a on each value.

use tilewright::tile_module;

pub use fnv1a::rainbow_table;

// ANCHOR: fnv1a
#[tile_module]
mod fnv1a {
    const OFFSET_BASIS: u32 = 2_166_136_261;
    const FNV_PRIME: u32 = 16_777_619;

    /// The four bytes, low byte first; u32 wraps by itself.
    fn fnv1a_hash(input: Tile<u32>) -> Tile<u32> {
        let mut hash = (OFFSET_BASIS ^ (input & 0xFF)) * FNV_PRIME;
        for byte_pos in static_range(1..4) {
            hash = (hash ^ ((input >> (byte_pos * 8) as u32) & 0xFF)) * FNV_PRIME;
        }
        hash
    }

    #[tile_kernel(tune(BLOCK = [256]), grid = [cdiv(output.len(), BLOCK)])]
    pub fn rainbow_table<const BLOCK: usize>(input: &[i32], output: &mut [u32], rounds: u32) {
        let idx = program_id(0) * BLOCK + arange(BLOCK);
        let mut temp = bitcast::<u32>(load(input, idx));
        for _ in 0..rounds {
            temp = fnv1a_hash(temp);
        }
        store(output, idx, temp);
    }
}
// ANCHOR_END: fnv1a
