//! Operations of rows: softmax, norms, SwiGLU, losses, embeddings.

use crate::common::{FLOATS, assert_close, error, gradients, layouts, numbers, tolerance};
use candle_core::{DType, Device, Error, Result, Tensor};
use tilewright_candle::{
    add_rms_norm, cross_entropy, cross_entropy_rows, embedding, layer_norm, layer_norm_no_bias, rms_norm, softmax,
    softmax_last_dim, swiglu,
};

const EPS: f32 = 1e-5;

/// As f32, and back.
fn in_f32(x: &Tensor, f: impl Fn(&Tensor) -> Result<Tensor>) -> Result<Tensor> {
    f(&x.to_dtype(DType::F32)?)?.to_dtype(x.dtype())
}

#[test]
fn softmax_in_every_layout() -> Result<()> {
    for dtype in FLOATS {
        for shape in [&[4, 3, 70][..], &[5, 2000], &[9]] {
            for (layout, x) in layouts(shape, dtype) {
                let expected = in_f32(&x, |x| candle_nn::ops::softmax(x, x.rank() - 1))?;
                let what = format!("{layout} {dtype:?} {shape:?}");
                assert_close(&softmax_last_dim(&x)?, &expected, tolerance(dtype), &what);
            }
        }
        let x = numbers(&[4, 30, 5], 1).to_dtype(dtype)?;
        for dim in 0..3 {
            let expected = in_f32(&x, |x| candle_nn::ops::softmax(x, dim))?;
            assert_close(&softmax(&x, dim)?, &expected, tolerance(dtype), "softmax of a dimension");
        }
        let x = [x];
        let found = gradients(&x, |[x]| softmax(x, 1))?;
        let expected = gradients(&x, |[x]| candle_nn::ops::softmax(x, 1))?;
        assert_close(&found[0], &expected[0], tolerance(dtype), "its gradient");
    }
    Ok(())
}

#[test]
fn norms_in_every_layout() -> Result<()> {
    for dtype in FLOATS {
        for shape in [&[4, 3, 70][..], &[5, 2000], &[8, 9]] {
            let columns = shape[shape.len() - 1];
            let (weight, bias) = (numbers(&[columns], 5).to_dtype(dtype)?, numbers(&[columns], 6).to_dtype(dtype)?);
            for (layout, x) in layouts(shape, dtype) {
                let what = format!("{layout} {dtype:?} {shape:?}");
                let expected = candle_nn::ops::rms_norm_slow(&x, &weight, EPS)?;
                assert_close(&rms_norm(&x, &weight, EPS)?, &expected, 2.0 * tolerance(dtype), &what);
                let expected = candle_nn::ops::layer_norm_slow(&x, &weight, &bias, EPS)?;
                assert_close(&layer_norm(&x, &weight, &bias, EPS)?, &expected, 2.0 * tolerance(dtype), &what);
                let expected = candle_nn::ops::layer_norm_slow(&x, &weight, &bias.zeros_like()?, EPS)?;
                assert_close(&layer_norm_no_bias(&x, &weight, EPS)?, &expected, 2.0 * tolerance(dtype), &what);
                let residual = numbers(shape, 7).to_dtype(dtype)?;
                let (sum, y) = add_rms_norm(&x, &residual, &weight, EPS)?;
                assert_close(&sum, &(&x + &residual)?, tolerance(dtype), &what);
                let expected = candle_nn::ops::rms_norm_slow(&sum, &weight, EPS)?;
                assert_close(&y, &expected, 2.0 * tolerance(dtype), &what);
            }
        }
    }
    Ok(())
}

#[test]
fn gradients_of_norms() -> Result<()> {
    for shape in [&[4, 3, 70][..], &[3, 2000]] {
        let columns = shape[shape.len() - 1];
        let (x, residual) = (numbers(shape, 1), numbers(shape, 2));
        let (weight, bias) = (numbers(&[columns], 5), numbers(&[columns], 6));
        let all = [x.clone(), weight.clone()];
        let found = gradients(&all, |[x, w]| rms_norm(x, w, EPS))?;
        let expected = gradients(&all, |[x, w]| candle_nn::ops::rms_norm_slow(x, w, EPS))?;
        found.iter().zip(&expected).for_each(|(a, b)| assert_close(a, b, 1e-4, "rms_norm"));
        let found = gradients(&all, |[x, w]| layer_norm_no_bias(x, w, EPS))?;
        let zeros = bias.zeros_like()?;
        let expected = gradients(&all, |[x, w]| candle_nn::ops::layer_norm_slow(x, w, &zeros, EPS))?;
        found.iter().zip(&expected).for_each(|(a, b)| assert_close(a, b, 1e-4, "layer_norm_no_bias"));
        let all = [x.clone(), weight.clone(), bias];
        let found = gradients(&all, |[x, w, b]| layer_norm(x, w, b, EPS))?;
        let expected = gradients(&all, |[x, w, b]| candle_nn::ops::layer_norm_slow(x, w, b, EPS))?;
        found.iter().zip(&expected).for_each(|(a, b)| assert_close(a, b, 1e-4, "layer_norm"));
        // Both results have a gradient.
        let all = [x, residual, weight];
        let found = gradients(&all, |[x, r, w]| {
            let (sum, y) = add_rms_norm(x, r, w, EPS)?;
            sum * 0.5 + y
        })?;
        let expected = gradients(&all, |[x, r, w]| {
            let sum = (x + r)?;
            &sum * 0.5 + candle_nn::ops::rms_norm_slow(&sum, w, EPS)?
        })?;
        found.iter().zip(&expected).for_each(|(a, b)| assert_close(a, b, 1e-4, "add_rms_norm"));
    }
    Ok(())
}

#[test]
fn swiglu_and_its_gradients() -> Result<()> {
    for dtype in FLOATS {
        for (layout, gate) in layouts(&[6, 5, 33], dtype) {
            let up = numbers(&[6, 5, 33], 8).to_dtype(dtype)?;
            let expected = (gate.silu()? * &up)?;
            assert_close(&swiglu(&gate, &up)?, &expected, tolerance(dtype), layout);
        }
    }
    let all = [numbers(&[6, 35], 1), numbers(&[6, 35], 2)];
    let found = gradients(&all, |[gate, up]| swiglu(gate, up))?;
    let expected = gradients(&all, |[gate, up]| gate.silu()? * up)?;
    found.iter().zip(&expected).for_each(|(a, b)| assert_close(a, b, 1e-5, "swiglu"));
    Ok(())
}

#[test]
fn cross_entropy_and_its_gradient() -> Result<()> {
    let targets = Tensor::new(&[3u32, 0, 69, 12, 5], &Device::Cpu)?;
    for dtype in FLOATS {
        for (layout, logits) in layouts(&[5, 70], dtype) {
            let expected = candle_nn::loss::cross_entropy(&logits.to_dtype(DType::F32)?, &targets)?;
            for of in [DType::U32, DType::I64, DType::I32, DType::U8] {
                let found = cross_entropy(&logits, &targets.to_dtype(of)?)?;
                assert_close(&found, &expected, 1e-5, &format!("{layout} {dtype:?} {of:?}"));
            }
        }
        let logits = numbers(&[5, 70], 1).to_dtype(dtype)?;
        let logits = [logits];
        let found = gradients(&logits, |[x]| cross_entropy(x, &targets))?;
        let expected = gradients(&logits, |[x]| candle_nn::loss::cross_entropy(&x.to_dtype(DType::F32)?, &targets))?;
        assert_close(&found[0], &expected[0], tolerance(dtype), "its gradient");
    }
    let targets = Tensor::new(&[-100i64, 1 << 40, 1], &Device::Cpu)?;
    let losses = cross_entropy_rows(&numbers(&[3, 4], 1), &targets)?.to_vec1::<f32>()?;
    assert!(losses[0] == 0.0 && losses[1].is_nan() && losses[2] > 0.0, "{losses:?}");
    Ok(())
}

/// candle takes indices of one dimension.
fn of_candle(table: &Tensor, ids: &Tensor) -> Result<Tensor> {
    let rows = table.contiguous()?.embedding(&ids.flatten_all()?)?;
    rows.reshape([ids.dims(), &[table.dim(1)?]].concat())
}

#[test]
fn embedding_and_its_gradient() -> Result<()> {
    let ids = Tensor::new(&[[3u32, 0, 3], [5, 1, 0]], &Device::Cpu)?;
    for dtype in FLOATS {
        for (layout, table) in layouts(&[6, 70], dtype) {
            let expected = of_candle(&table, &ids)?;
            for of in [DType::U32, DType::I64, DType::I32, DType::U8] {
                let found = embedding(&table, &ids.to_dtype(of)?)?;
                assert_close(&found, &expected, 0.0, &format!("{layout} {dtype:?} {of:?}"));
            }
        }
        let table = numbers(&[6, 70], 1).to_dtype(dtype)?;
        let table = [table];
        let found = gradients(&table, |[table]| embedding(table, &ids))?;
        let expected = gradients(&table, |[table]| of_candle(table, &ids))?;
        assert_close(&found[0], &expected[0], tolerance(dtype), "its gradient");
    }
    let ids = Tensor::new(&[-1i64, 6], &Device::Cpu)?;
    let rows = embedding(&numbers(&[6, 2], 1), &ids)?.to_vec2::<f32>()?;
    assert!(rows[0] == [0.0, 0.0] && rows[1].iter().all(|x| x.is_nan()), "{rows:?}");
    Ok(())
}

#[test]
fn empty_tensors() -> Result<()> {
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap();
    let (none, no_columns, weight) = (zeros(&[0, 8]), zeros(&[3, 0]), numbers(&[8], 1));
    assert_eq!(softmax_last_dim(&none)?.dims(), [0, 8]);
    assert_eq!(softmax_last_dim(&no_columns)?.dims(), [3, 0]);
    assert_eq!(rms_norm(&none, &weight, EPS)?.dims(), [0, 8]);
    assert_eq!(rms_norm(&no_columns, &zeros(&[0]), EPS)?.dims(), [3, 0]);
    assert_eq!(layer_norm(&none, &weight, &weight, EPS)?.dims(), [0, 8]);
    assert_eq!(add_rms_norm(&none, &none, &weight, EPS)?.0.dims(), [0, 8]);
    assert_eq!(swiglu(&none, &none)?.dims(), [0, 8]);
    let ids = Tensor::zeros(0, DType::U32, &Device::Cpu)?;
    assert_eq!(embedding(&numbers(&[4, 3], 1), &ids)?.dims(), [0, 3]);
    assert_eq!(cross_entropy_rows(&none, &ids)?.dims(), [0]);
    // The gradient of a parameter is that of no rows.
    let found = gradients(&[none, weight.clone(), weight], |[x, w, b]| layer_norm(x, w, b, EPS))?;
    assert_eq!(found[1].to_vec1::<f32>()?, [0.0; 8]);
    assert_eq!(found[2].to_vec1::<f32>()?, [0.0; 8]);
    Ok(())
}

#[test]
fn errors() -> Result<()> {
    let (x, weight) = (numbers(&[3, 8], 1), numbers(&[8], 2));
    let short = weight.narrow(0, 0, 7)?;
    let halves = weight.to_dtype(DType::F16)?;
    let ids = Tensor::new(&[0u32, 1], &Device::Cpu)?;
    let scalar = Tensor::new(1.0f32, &Device::Cpu)?;
    let (wide, integers) = (x.to_dtype(DType::F64)?, x.to_dtype(DType::U32)?);
    assert!(matches!(error(softmax_last_dim(&wide)), Error::UnsupportedDTypeForOp(DType::F64, "softmax")));
    assert!(matches!(error(softmax_last_dim(&scalar)), Error::UnexpectedNumberOfDims { .. }));
    assert!(matches!(error(softmax(&x, 2)), Error::DimOutOfRange { .. }));
    assert!(matches!(error(rms_norm(&x, &short, EPS)), Error::UnexpectedShape { .. }));
    assert!(matches!(error(rms_norm(&x, &halves, EPS)), Error::DTypeMismatchBinaryOp { .. }));
    assert!(matches!(error(rms_norm(&scalar, &weight, EPS)), Error::UnexpectedNumberOfDims { .. }));
    assert!(matches!(error(layer_norm(&x, &weight, &short, EPS)), Error::UnexpectedShape { .. }));
    assert!(matches!(error(layer_norm_no_bias(&wide, &weight, EPS)), Error::DTypeMismatchBinaryOp { .. }));
    assert!(matches!(error(add_rms_norm(&x, &x.t()?, &weight, EPS)), Error::ShapeMismatchBinaryOp { .. }));
    assert!(matches!(error(swiglu(&x, &weight)), Error::ShapeMismatchBinaryOp { .. }));
    assert!(matches!(error(swiglu(&integers, &integers)), Error::UnsupportedDTypeForOp(DType::U32, "swiglu")));
    assert!(matches!(error(embedding(&weight, &ids)), Error::UnexpectedNumberOfDims { .. }));
    assert!(matches!(error(embedding(&x, &weight)), Error::UnsupportedDTypeForOp(DType::F32, "embedding")));
    assert!(matches!(error(cross_entropy(&x, &ids)), Error::UnexpectedShape { .. }));
    assert!(matches!(error(cross_entropy(&x.narrow(1, 0, 0)?.narrow(0, 0, 2)?, &ids)), Error::EmptyTensor { .. }));
    Ok(())
}
