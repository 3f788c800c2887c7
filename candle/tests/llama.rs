//! A small Llama of random weights computes the same with both sets of kernels.

#[path = "../examples/llama/model.rs"]
#[allow(dead_code, reason = "the example uses all of it")]
mod model;

use crate::common::flat;
use candle_core::{DType, Device, Result, Tensor};
use model::{Config, Kernels, Llama, greedy};

/// The logits of a prompt and of four tokens behind it, which candle's kernels choose.
fn assert_same(batch: usize, dtype: DType, int8: bool, tolerance: f32) -> Result<()> {
    let model = Llama::random(Config::TINY, dtype, int8, &Device::Cpu)?;
    let ids: Vec<u32> = (0..batch * 9).map(|i| (i * 37 % Config::TINY.vocabulary) as u32).collect();
    let mut tokens = Tensor::from_vec(ids, (batch, 9), &Device::Cpu)?;
    let (mut ours, mut theirs) = (model.cache(batch, Kernels::Tilewright)?, model.cache(batch, Kernels::Candle)?);
    for step in 0..5 {
        let found = model.forward(&tokens, &mut ours, Kernels::Tilewright)?;
        let expected = model.forward(&tokens, &mut theirs, Kernels::Candle)?;
        assert_eq!((found.dims(), found.dtype()), (&[batch, Config::TINY.vocabulary][..], dtype));
        let (a, b) = (flat(&found), flat(&expected));
        assert!(a.iter().all(|x| x.is_finite()), "step {step}: {dtype:?}");
        let greatest = b.iter().fold(0.0f32, |m, x| m.max(x.abs()));
        let error = a.iter().zip(&b).fold(0.0f32, |m, (x, y)| m.max((x - y).abs()));
        assert!(greatest > 0.5 && error < tolerance * greatest, "step {step}: {error} of {greatest}, {dtype:?}");
        tokens = greedy(&expected)?;
    }
    Ok(())
}

#[test]
fn logits_of_f32() -> Result<()> {
    assert_same(1, DType::F32, false, 2e-3)?;
    assert_same(3, DType::F32, false, 2e-3)
}

#[test]
fn logits_of_16_bits() -> Result<()> {
    assert_same(2, DType::F16, false, 2e-2)?;
    assert_same(2, DType::BF16, false, 1e-1)
}

#[test]
fn logits_of_weights_of_signed_bytes() -> Result<()> {
    assert_same(2, DType::F32, true, 5e-2)
}
