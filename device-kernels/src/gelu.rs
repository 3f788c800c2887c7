//! GeLU in its tanh form, `0.5 x (1 + tanh(u))` with `u = sqrt(2/pi) (x + 0.044715 x^3)`.

use kernel_macros::tile_kernel;

// 0.5 (1 + tanh u) is the logistic function of 2u: the same number from one exponential, and without the
// cancellation near -1 where tanh loses its last bits.
#[tile_kernel(
    types(T = [f32, f16, bf16]),
    tune(BLOCK = [1024, 512, 2048, 4096], warps = [4]),
    grid = [cdiv(y.len(), BLOCK)],
)]
pub fn gelu<T: Float, const BLOCK: usize>(x: &[T], y: &mut [T]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let v = load(x, i).to::<f32>();
    let u = 0.797_884_56 * (v + 0.044_715 * v * v * v);
    store(y, i, (v * sigmoid(2.0 * u)).to::<T>());
}
