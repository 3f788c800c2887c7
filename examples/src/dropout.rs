//! Dropout: random numbers of a seed and an offset, and a backward pass that makes the same mask again.

use tilewright::tile_module;

// ANCHOR: dropout
#[tile_module(use tilewright::random)]
pub mod kernels {
    /// Whether elements are kept: with the probability `keep`, of the seed and of their places alone.
    fn kept(seed: u64, i: Tile<usize>, keep: f32) -> Tile<bool> {
        rand(seed, i.to::<u32>()) < keep
    }

    /// Elements of `x` that are kept, divided by `keep`, so that the mean stays; 0 for the others.
    #[tile_kernel(types(T = [f32, f16]), tune(BLOCK = [1024], warps = [4]), grid = [cdiv(x.len(), BLOCK)])]
    pub fn dropout<T: Float, const BLOCK: usize>(x: &[T], y: &mut [T], keep: f32, seed: u64) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let v = load(x, i).to::<f32>();
        store(y, i, where_(kept(seed, i, keep), v / keep, 0.0).to::<T>());
    }

    /// The gradient of `x` for that of `y`: no mask is kept in memory, the seed makes it again.
    #[tile_kernel(types(T = [f32, f16]), tune(BLOCK = [1024], warps = [4]), grid = [cdiv(dy.len(), BLOCK)])]
    pub fn dropout_backward<T: Float, const BLOCK: usize>(dy: &[T], dx: &mut [T], keep: f32, seed: u64) {
        let i = program_id(0) * BLOCK + arange(BLOCK);
        let v = load(dy, i).to::<f32>();
        store(dx, i, where_(kept(seed, i, keep), v / keep, 0.0).to::<T>());
    }
}
// ANCHOR_END: dropout
