//! `y[i] = x[i] < 0 ? slope * x[i] : x[i]`.

use tilewright_macros::tile_kernel;

#[tile_kernel(
    types(T = [f32, f16, bf16]),
    tune(BLOCK = [1024, 512, 2048, 4096], warps = [4]),
    grid = [cdiv(y.len(), BLOCK)],
    alias(x, y),
)]
pub fn leaky_relu<T: Float, const BLOCK: usize>(x: &[T], y: &mut [T], slope: f32) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i).to::<f32>();
    store(y, i, where_(v < 0.0, slope * v, v).to::<T>());
}
