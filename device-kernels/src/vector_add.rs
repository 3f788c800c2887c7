//! `c[i] = a[i] + b[i]`. Half types are added in f32 and rounded once.

use tilewright_macros::tile_kernel;

#[tile_kernel(
    types(T = [f32, f16, bf16]),
    tune(BLOCK = [1024, 512, 2048, 4096], warps = [4]),
    grid = [cdiv(c.len(), BLOCK)],
    alias(a, c),
    alias(b, c),
)]
pub fn vector_add<T: Float, const BLOCK: usize>(a: &[T], b: &[T], c: &mut [T]) {
    let i = program_id(0) * BLOCK + arange(BLOCK);
    let sum = load(a, i).to::<f32>() + load(b, i).to::<f32>();
    store(c, i, sum.to::<T>());
}
