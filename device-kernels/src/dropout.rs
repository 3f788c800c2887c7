//! Elements that are kept by chance.

use tilewright_macros::tile_module;

pub use kernels::*;

/// Random numbers are those of Philox 4x32-10, four for each counter.
#[tile_module(use tilewright::random)]
pub mod kernels {
    /// `x * scale` where the upper 24 bits of the element's random integer are at least `dropped`, else 0. Element `i`
    /// has word `i % 4` of counter `i / 4`.
    #[tile_kernel(
        types(T = [f32, f16, bf16]),
        tune(QUADS = [1024, 256], warps = [4]),
        grid = [cdiv(y.len(), 4 * QUADS)],
        alias(x, y),
    )]
    pub fn dropout<T: Float, const QUADS: usize>(x: &[T], y: &mut [T], dropped: u32, scale: f32, seed: u64) {
        let quad = program_id(0) * QUADS + arange(QUADS);
        let none = zeros::<u32>([QUADS]);
        let (a, b, c, d) = philox(seed, quad.to::<u32>(), (quad >> 32).to::<u32>(), none, none);
        let bits = reshape(join(join(a, c), join(b, d)), [4 * QUADS]);
        let i = program_id(0) * (4 * QUADS) + arange(4 * QUADS);
        let v = load(x, i).to::<f32>() * scale;
        store(y, i, where_(bits >> 8 >= dropped, v, 0.0).to::<T>());
    }
}
