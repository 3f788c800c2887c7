//! Rotary position embeddings.

use crate::common::{FLOATS, assert_close, error, gradients, layouts, numbers, tolerance};
use candle_core::{DType, Error, Result, Tensor};
use candle_nn::rotary_emb;
use tilewright_candle::{rope, rope_i, rope_thd};

/// Tables of this shape.
fn tables(shape: &[usize]) -> Result<(Tensor, Tensor)> {
    let angles = numbers(shape, 7);
    Ok((angles.cos()?, angles.sin()?))
}

#[test]
fn every_layout_and_dtype() -> Result<()> {
    let (cos, sin) = tables(&[9, 8])?;
    for dtype in FLOATS {
        for (layout, x) in layouts(&[3, 4, 6, 16], dtype) {
            let wide = x.to_dtype(DType::F32)?.contiguous()?;
            let (c, s) = (cos.narrow(0, 0, 6)?, sin.narrow(0, 0, 6)?);
            let what = format!("{layout} {dtype:?}");
            let expected = rotary_emb::rope_slow(&wide, &c, &s)?.to_dtype(dtype)?;
            // Tables have more rows than there are tokens.
            assert_close(&rope(&x, &cos, &sin)?, &expected, tolerance(dtype), &what);
            let expected = rotary_emb::rope_i_slow(&wide, &c, &s)?.to_dtype(dtype)?;
            assert_close(&rope_i(&x, &cos, &sin)?, &expected, tolerance(dtype), &what);
            let (c, s) = (cos.narrow(0, 0, 4)?, sin.narrow(0, 0, 4)?);
            let expected = rotary_emb::rope_thd(&wide, &c, &s)?.to_dtype(dtype)?;
            assert_close(&rope_thd(&x, &cos, &sin)?, &expected, tolerance(dtype), &what);
            // Tables of the dtype of `x`, and parts of longer ones.
            let (c, s) = (cos.to_dtype(dtype)?.narrow(0, 3, 6)?, sin.to_dtype(dtype)?.narrow(0, 3, 6)?);
            let found = rope(&x, &c, &s)?;
            let expected = rotary_emb::rope_slow(&wide, &c.to_dtype(DType::F32)?, &s.to_dtype(DType::F32)?)?;
            assert_close(&found, &expected.to_dtype(dtype)?, tolerance(dtype), &what);
        }
    }
    Ok(())
}

#[test]
fn a_table_for_each_sequence() -> Result<()> {
    let (cos, sin) = tables(&[3, 7, 8])?;
    let x = numbers(&[3, 4, 6, 16], 1);
    for (name, f) in [("rope", rope as fn(&Tensor, &Tensor, &Tensor) -> Result<Tensor>), ("rope_i", rope_i)] {
        let found = f(&x, &cos, &sin)?;
        for i in 0..3 {
            let of = f(&x.narrow(0, i, 1)?, &cos.get(i)?, &sin.get(i)?)?;
            assert_close(&found.narrow(0, i, 1)?, &of, 0.0, name);
        }
    }
    let found = rope_thd(&x.transpose(1, 2)?, &cos, &sin)?.transpose(1, 2)?;
    assert_close(&found, &rope(&x, &cos, &sin)?, 0.0, "rope_thd");
    Ok(())
}

#[test]
fn gradients_rotate_back() -> Result<()> {
    let (cos, sin) = tables(&[6, 8])?;
    let x = [numbers(&[2, 4, 6, 16], 1)];
    let found = gradients(&x, |[x]| rope(x, &cos, &sin))?;
    let expected = gradients(&x, |[x]| rotary_emb::rope_slow(x, &cos, &sin))?;
    assert_close(&found[0], &expected[0], 1e-5, "rope");
    let found = gradients(&x, |[x]| rope_i(x, &cos, &sin))?;
    let expected = gradients(&x, |[x]| rotary_emb::rope_i_slow(x, &cos, &sin))?;
    assert_close(&found[0], &expected[0], 1e-5, "rope_i");
    let found = gradients(&x, |[x]| rope_thd(&x.transpose(1, 2)?, &cos, &sin)?.transpose(1, 2))?;
    let expected = gradients(&x, |[x]| rotary_emb::rope_slow(x, &cos, &sin))?;
    assert_close(&found[0], &expected[0], 1e-5, "rope_thd");
    Ok(())
}

#[test]
fn a_part_of_each_head_and_no_tokens() -> Result<()> {
    let (cos, sin) = tables(&[6, 4])?;
    let x = numbers(&[2, 4, 6, 16], 1);
    let y = rope(&x, &cos, &sin)?;
    let expected = rotary_emb::rope_slow(&x.narrow(3, 0, 8)?.contiguous()?, &cos, &sin)?;
    assert_close(&y.narrow(3, 0, 8)?, &expected, 1e-5, "the part");
    assert_close(&y.narrow(3, 8, 8)?, &x.narrow(3, 8, 8)?, 0.0, "the rest");
    assert_eq!(rope(&x.narrow(2, 0, 0)?, &cos, &sin)?.dims(), [2, 4, 0, 16]);
    Ok(())
}

#[test]
fn errors() -> Result<()> {
    let x = numbers(&[2, 4, 6, 16], 1);
    let (cos, sin) = tables(&[6, 8])?;
    let short = cos.narrow(0, 0, 5)?;
    assert!(matches!(error(rope(&x, &short, &short)), Error::UnexpectedShape { .. }));
    assert!(matches!(error(rope(&x, &cos, &short)), Error::ShapeMismatchBinaryOp { .. }));
    assert!(matches!(error(rope(&x.get(0)?, &cos, &sin)), Error::UnexpectedNumberOfDims { .. }));
    assert!(matches!(error(rope(&x, &cos.to_dtype(DType::F16)?, &sin)), Error::DTypeMismatchBinaryOp { .. }));
    let batches = numbers(&[3, 6, 8], 1);
    assert!(matches!(error(rope(&x, &batches, &batches)), Error::UnexpectedShape { .. }));
    let wide = numbers(&[6, 9], 1);
    assert!(matches!(error(rope(&x, &wide, &wide)), Error::UnexpectedShape { .. }));
    Ok(())
}
