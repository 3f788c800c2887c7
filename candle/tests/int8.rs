//! Products of signed bytes.

use crate::common::{FLOATS, assert_close, error, flat, numbers, tolerance};
use candle_core::{DType, Device, Error, Result, Tensor};
use tilewright_candle::{Int8Linear, int8_matmul, quantize_rows};

/// Signed bytes as f32.
fn signed(x: &Tensor) -> Result<Tensor> {
    let bytes: Vec<f32> = x.flatten_all()?.to_vec1::<u8>()?.into_iter().map(|b| f32::from(b as i8)).collect();
    Tensor::from_vec(bytes, x.shape(), &Device::Cpu)
}

fn bytes(shape: &[usize], seed: usize) -> Result<Tensor> {
    let of: Vec<u8> = flat(&numbers(shape, seed)).into_iter().map(|x| (x * 60.0) as i8 as u8).collect();
    Tensor::from_vec(of, shape, &Device::Cpu)
}

#[test]
fn products_are_exact_in_every_layout() -> Result<()> {
    for [m, n, k] in [[1, 7, 40], [33, 20, 64], [5, 64, 129], [3, 4, 0]] {
        let a = [
            bytes(&[m, k], 1)?,
            bytes(&[k, m], 1)?.t()?,
            bytes(&[m + 2, k], 1)?.narrow(0, 1, m)?,
            bytes(&[m, 2 * k], 1)?.narrow(1, 0, k)?,
            bytes(&[1, k], 1)?.broadcast_as((m, k))?,
        ];
        for (i, a) in a.iter().enumerate() {
            for b in [bytes(&[n, k], 2)?, bytes(&[k, n], 2)?.t()?] {
                let expected = signed(a)?.matmul(&signed(&b)?.t()?)?;
                let found = int8_matmul(a, &b)?.to_dtype(DType::F32)?;
                assert_close(&found, &expected, 0.0, &format!("{m} x {n} x {k}, layout {i}"));
            }
        }
    }
    Ok(())
}

#[test]
fn rows_are_quantized_to_their_greatest() -> Result<()> {
    for dtype in FLOATS {
        for x in [numbers(&[6, 1500], 1).to_dtype(dtype)?, numbers(&[1500, 6], 1).to_dtype(dtype)?.t()?] {
            let (bytes, scales) = quantize_rows(&x)?;
            let wide = x.to_dtype(DType::F32)?.contiguous()?;
            let expected = (wide.abs()?.max(1)? / 127.0)?;
            assert_close(&scales, &expected, 1e-6, "scales");
            let back = signed(&bytes)?.broadcast_mul(&scales.unsqueeze(1)?)?;
            let error = ((back - wide)?.abs()?.max(1)? / &scales)?.to_vec1::<f32>()?;
            assert!(error.iter().all(|&e| e <= 0.5001), "{error:?}");
        }
    }
    Ok(())
}

#[test]
fn a_layer_is_close_to_that_of_floats() -> Result<()> {
    let weight = numbers(&[50, 300], 1);
    for dtype in FLOATS {
        let weight = weight.to_dtype(dtype)?;
        let layer = Int8Linear::new(&weight)?;
        let weight = weight.to_dtype(DType::F32)?;
        assert_eq!((layer.weight().dims(), layer.scales().dims()), (&[50, 300][..], &[50][..]));
        for shape in [&[300][..], &[4, 300], &[2, 3, 300], &[0, 300]] {
            let x = numbers(shape, 2).to_dtype(dtype)?;
            let y = layer.forward(&x)?;
            assert_eq!((y.dims()[..shape.len() - 1].to_vec(), y.dtype()), (shape[..shape.len() - 1].to_vec(), dtype));
            let x = x.to_dtype(DType::F32)?.reshape(((), 300))?;
            let expected = x.matmul(&weight.t()?)?;
            let found = y.to_dtype(DType::F32)?.reshape(((), 50))?;
            // Each of 300 products has an error of a 127th of 2 times 2 at most, and they cancel. The result is
            // rounded.
            for (a, b) in flat(&found).into_iter().zip(flat(&expected)) {
                assert!((a - b).abs() < 0.6 + b.abs() * tolerance(dtype), "{dtype:?} {shape:?}: {a}, not {b}");
            }
        }
    }
    // A NaN makes its row NaN, and no other one.
    let mut x = flat(&numbers(&[3, 300], 2));
    x[450] = f32::NAN;
    let y = flat(&Int8Linear::new(&weight)?.forward(&Tensor::from_vec(x, (3, 300), &Device::Cpu)?)?);
    assert!(y[50..100].iter().all(|x| x.is_nan()) && !y[..50].iter().chain(&y[100..]).any(|x| x.is_nan()));
    // The scale of the second row has no reciprocal.
    let small = Tensor::new(&[[1e-35f32, 0.0, -1e-35], [1e-37, 0.0, -1e-37]], &Device::Cpu)?;
    let (small, scales) = quantize_rows(&small)?;
    assert_eq!(small.to_vec2::<u8>()?, [[127, 0, 129], [0, 0, 0]]);
    assert_eq!(scales.to_vec1::<f32>()?, [1e-35 / 127.0, 0.0]);
    // The scale of zeros is 0.
    let zeros = Tensor::zeros((3, 8), DType::F32, &Device::Cpu)?;
    assert!(flat(&Int8Linear::new(&zeros)?.forward(&zeros)?).iter().all(|&x| x == 0.0));
    Ok(())
}

#[test]
fn errors() -> Result<()> {
    let a = bytes(&[3, 8], 1)?;
    assert!(matches!(error(int8_matmul(&a, &bytes(&[3, 9], 1)?)), Error::ShapeMismatchBinaryOp { .. }));
    assert!(matches!(error(int8_matmul(&a, &numbers(&[3, 8], 1))), Error::UnsupportedDTypeForOp(DType::F32, _)));
    assert!(matches!(error(int8_matmul(&a, &bytes(&[8], 1)?)), Error::UnexpectedNumberOfDims { .. }));
    let long = bytes(&[1, 131_072], 1)?;
    assert!(int8_matmul(&long, &long).is_err());
    let layer = Int8Linear::new(&numbers(&[5, 8], 1))?;
    assert!(matches!(error(layer.forward(&numbers(&[3, 9], 1))), Error::ShapeMismatchBinaryOp { .. }));
    assert!(matches!(error(Int8Linear::new(&numbers(&[5], 1))), Error::UnexpectedNumberOfDims { .. }));
    assert!(matches!(error(quantize_rows(&a)), Error::UnsupportedDTypeForOp(DType::U8, _)));
    Ok(())
}
