//! `y[i] = x[i] <= 0 ? 0 : x[i]`: a NaN stays a NaN, and -0 becomes 0.

use tilewright_macros::tile_kernel;

#[tile_kernel(
    types(T = [f32, f16, bf16]),
    tune(BLOCK = [1024, 512, 2048, 4096], warps = [4]),
    grid = [cdiv(y.len(), BLOCK)],
    alias(x, y),
)]
pub fn relu<T: Float, const BLOCK: usize>(x: &[T], y: &mut [T]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i).to::<f32>();
    store(y, i, where_(v <= 0.0, 0.0, v).to::<T>());
}
