//! GeLU in its tanh form, `0.5 x (1 + tanh(u))` with `u = sqrt(2/pi) (x + 0.044715 x^3)`.

use tilewright_macros::tile_kernel;

// 0.5 (1 + tanh u) is the logistic function of 2u, which has no cancellation near u = -1. It is computed as 1 / (1 +
// 2^w): two instructions an element beside multiply-adds. Short code matters to a launch of microseconds.
#[tile_kernel(
    types(T = [f32, f16, bf16]),
    tune(BLOCK = [1024, 512, 2048, 4096], warps = [4]),
    tune(BLOCK = [256], warps = [2]),
    grid = [cdiv(y.len(), BLOCK)],
    alias(x, y),
)]
pub fn gelu<T: Float, const BLOCK: usize>(x: &[T], y: &mut [T]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i).to::<f32>();
    // -2 log2(e) u
    let w = v * fma(v * v, -0.102_943_24, -2.302_208_2);
    store(y, i, (v * recip(1.0 + exp2(w))).to::<T>());
}
