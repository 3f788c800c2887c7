//! Attention beside products and a softmax.

use crate::common::{assert_close, error, numbers};
use candle_core::{D, DType, Device, Error, Result, Tensor};
use tilewright_candle::{flash_attn, flash_attn_varlen};

/// By candle's operations in f32, of `(batch, rows, heads, d)`.
fn reference(q: &Tensor, k: &Tensor, v: &Tensor, scale: f32, causal: bool) -> Result<Tensor> {
    let ((b, n, h, d), (_, m, shared, _)) = (q.dims4()?, k.dims4()?);
    let heads_first = |x: &Tensor| x.to_dtype(DType::F32)?.transpose(1, 2)?.contiguous();
    let repeated = |x: &Tensor| {
        let x = heads_first(x)?.unsqueeze(2)?.expand((b, shared, h / shared, m, d))?;
        x.contiguous()?.reshape((b, h, m, d))
    };
    let (q, k, v) = (heads_first(q)?, repeated(k)?, repeated(v)?);
    let mut scores = (q.matmul(&k.t()?)? * f64::from(scale))?;
    if causal {
        let sees = |i: usize, j: usize| if j + n <= m + i { 0.0 } else { f32::NEG_INFINITY };
        let mask: Vec<f32> = (0..n).flat_map(|i| (0..m).map(move |j| sees(i, j))).collect();
        scores = scores.broadcast_add(&Tensor::from_vec(mask, (n, m), &Device::Cpu)?)?;
    }
    candle_nn::ops::softmax(&scores, D::Minus1)?.matmul(&v)?.transpose(1, 2)?.contiguous()
}

/// The tolerance of results of about 1, of which weights and results are rounded.
fn tolerance(dtype: DType) -> f32 {
    if dtype == DType::F16 { 4e-3 } else { 3e-2 }
}

#[test]
fn shapes_with_shared_heads() -> Result<()> {
    for dtype in [DType::F16, DType::BF16] {
        // batch, queries, keys, heads, shared, d
        for [b, n, m, h, s, d] in [
            [1, 5, 5, 4, 4, 64],
            [2, 70, 70, 6, 2, 32],
            [3, 1, 90, 8, 2, 128],
            [2, 7, 20, 3, 1, 80],
            [4, 3, 3, 1, 1, 8],
            [2, 1, 1, 2, 2, 1],
        ] {
            let q = numbers(&[b, n, h, d], 1).to_dtype(dtype)?;
            let (k, v) = (numbers(&[b, m, s, d], 2).to_dtype(dtype)?, numbers(&[b, m, s, d], 3).to_dtype(dtype)?);
            let scale = 1.0 / (d as f32).sqrt();
            for causal in [false, true] {
                let expected = reference(&q, &k, &v, scale, causal)?.to_dtype(dtype)?;
                let found = flash_attn(&q, &k, &v, scale, causal)?;
                let what = format!("{dtype:?} {:?} causal {causal}", [b, n, m, h, s, d]);
                assert!(found.is_contiguous());
                assert_close(&found, &expected, tolerance(dtype), &what);
            }
        }
    }
    Ok(())
}

/// Heads before rows, a cache that is longer than its use, broadcast heads, and elements that are apart.
#[test]
fn layouts() -> Result<()> {
    let [b, n, m, h, s, d] = [3, 6, 11, 4, 2, 16];
    let of = |shape: &[usize], seed| numbers(shape, seed).to_dtype(DType::F16);
    let q = [
        of(&[b, n, h, d], 1)?,
        of(&[b, h, n, d], 1)?.transpose(1, 2)?,
        of(&[b, n, h, d], 1)?.narrow(1, 5, 1)?,
        of(&[n, b, h, d], 1)?.transpose(0, 1)?,
        of(&[1, n, h, d], 1)?.broadcast_as((b, n, h, d))?,
        of(&[b, n, d, h], 1)?.transpose(2, 3)?,
    ];
    let k = [
        of(&[b, m, s, d], 2)?,
        of(&[b, s, m, d], 2)?.transpose(1, 2)?,
        of(&[b, m + 9, s, d], 2)?.narrow(1, 3, m)?,
        of(&[b, s, m + 9, d], 2)?.transpose(1, 2)?.narrow(1, 0, m)?,
        of(&[b, m, 1, d], 2)?.broadcast_as((b, m, s, d))?,
        of(&[b, m, s, 2 * d], 2)?.narrow(3, d, d)?,
    ];
    for (i, q) in q.iter().enumerate() {
        for (j, k) in k.iter().enumerate() {
            let v = k.affine(0.5, 0.25)?;
            let expected = reference(q, k, &v, 0.3, true)?.to_dtype(DType::F16)?;
            assert_close(&flash_attn(q, k, &v, 0.3, true)?, &expected, 4e-3, &format!("q {i}, k {j}"));
            assert_close(
                &flash_attn(q, &v, k, 0.3, true)?,
                &reference(q, &v, k, 0.3, true)?.to_dtype(DType::F16)?,
                4e-3,
                "v",
            );
        }
    }
    Ok(())
}

#[test]
fn sequences_of_several_lengths() -> Result<()> {
    let of = |shape: &[usize], seed| numbers(shape, seed).to_dtype(DType::BF16);
    let (q, k, v) = (of(&[9, 4, 32], 1)?, of(&[14, 2, 32], 2)?, of(&[14, 2, 32], 3)?);
    let (ends_q, ends_k) = ([0u32, 1, 1, 6, 9], [0u32, 4, 6, 11, 14]);
    let tensor = |ends: &[u32]| Tensor::new(ends, &Device::Cpu);
    let run = |max| flash_attn_varlen(&q, &k, &v, &tensor(&ends_q)?, &tensor(&ends_k)?, max, 5, 0.2, true);
    let found = run(5)?;
    for i in 0..4 {
        let part = |x: &Tensor, ends: &[u32]| {
            let (start, end) = (ends[i] as usize, ends[i + 1] as usize);
            x.narrow(0, start, end - start)?.unsqueeze(0)
        };
        let (q, k, v) = (part(&q, &ends_q)?, part(&k, &ends_k)?, part(&v, &ends_k)?);
        let alone = flash_attn(&q, &k, &v, 0.2, true)?;
        assert_close(&part(&found, &ends_q)?, &alone, 0.0, &format!("sequence {i}"));
    }
    assert!(run(4).is_err(), "a sequence is longer");
    let whole = |ends: &[u32]| flash_attn_varlen(&q, &k, &v, &tensor(ends)?, &tensor(&ends_k)?, 9, 9, 0.2, true);
    for wrong in [&[0, 1, 1, 6, 8][..], &[1, 1, 1, 6, 9], &[0, 6, 1, 6, 9], &[0, 1, 6, 9], &[]] {
        assert!(whole(wrong).is_err(), "{wrong:?}");
    }
    Ok(())
}

#[test]
fn nothing_to_see() -> Result<()> {
    let of = |shape: [usize; 4]| Tensor::ones(&shape[..], DType::F16, &Device::Cpu).unwrap();
    // No keys: zeros.
    let y = flash_attn(&of([2, 3, 4, 8]), &of([2, 0, 2, 8]), &of([2, 0, 2, 8]), 1.0, false)?;
    assert!(crate::common::flat(&y).iter().all(|&x| x == 0.0));
    // More queries than keys: the first ones see none.
    let y = flash_attn(&of([1, 3, 1, 8]), &of([1, 2, 1, 8]), &of([1, 2, 1, 8]), 1.0, true)?;
    assert_eq!(crate::common::flat(&y)[..16], [[0.0; 8], [1.0; 8]].concat());
    for shape in [[0, 3, 4, 8], [2, 0, 4, 8], [2, 3, 0, 8], [2, 3, 4, 0]] {
        let k = of([shape[0], 5, shape[2], shape[3]]);
        assert_eq!(flash_attn(&of(shape), &k, &k, 1.0, true)?.dims(), shape);
    }
    Ok(())
}

#[test]
fn errors() -> Result<()> {
    let of = |shape: &[usize]| Tensor::zeros(shape, DType::F16, &Device::Cpu).unwrap();
    let q = of(&[2, 3, 4, 8]);
    let attend = |q: &Tensor, k: &Tensor, v: &Tensor| flash_attn(q, k, v, 1.0, false);
    let wide = q.to_dtype(DType::F32)?;
    assert!(matches!(error(attend(&wide, &wide, &wide)), Error::UnsupportedDTypeForOp(DType::F32, "flash-attn")));
    assert!(matches!(error(attend(&q, &q.to_dtype(DType::BF16)?, &q)), Error::DTypeMismatchBinaryOp { .. }));
    assert!(matches!(error(attend(&q, &of(&[2, 3, 4, 9]), &of(&[2, 3, 4, 9]))), Error::ShapeMismatchBinaryOp { .. }));
    assert!(matches!(error(attend(&q, &of(&[2, 3, 3, 8]), &of(&[2, 3, 3, 8]))), Error::ShapeMismatchBinaryOp { .. }));
    assert!(matches!(error(attend(&q, &of(&[1, 3, 4, 8]), &of(&[1, 3, 4, 8]))), Error::ShapeMismatchBinaryOp { .. }));
    assert!(matches!(error(attend(&q, &q, &of(&[2, 5, 4, 8]))), Error::ShapeMismatchBinaryOp { .. }));
    assert!(matches!(error(attend(&q.get(0)?, &q, &q)), Error::UnexpectedNumberOfDims { expected: 4, .. }));
    let large = of(&[1, 3, 4, 129]);
    let e = error(attend(&large, &large, &large));
    assert!(e.to_string().contains("128 at most"), "{e}");
    Ok(())
}
