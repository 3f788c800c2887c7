//! Sorts of rows of any width.

use crate::common::{FLOATS, error, flat, gradients, layouts, numbers};
use candle_core::{D, DType, Device, Error, Result, Tensor};
use tilewright_candle::{arg_sort_last_dim, sort_last_dim};

/// The indices of a stable sort of rows, NaN being the greatest.
fn expected(x: &Tensor, ascending: bool) -> Vec<u32> {
    let columns = x.dims()[x.rank() - 1];
    let order = |a: f32, b: f32| a.partial_cmp(&b).unwrap_or_else(|| a.is_nan().cmp(&b.is_nan()));
    let row = |row: &[f32]| {
        let mut indices: Vec<u32> = (0..columns as u32).collect();
        let at = |i: u32| row[i as usize];
        indices.sort_by(|&i, &j| if ascending { order(at(i), at(j)) } else { order(at(j), at(i)) });
        indices
    };
    flat(x).chunks_exact(columns).flat_map(row).collect()
}

fn assert_sorts(x: &Tensor, what: &str) -> Result<()> {
    for ascending in [true, false] {
        let found = arg_sort_last_dim(x, ascending)?;
        assert_eq!((found.dims(), found.dtype()), (x.dims(), DType::U32), "{what}");
        assert!(found.flatten_all()?.to_vec1::<u32>()? == expected(x, ascending), "{what}, ascending {ascending}");
    }
    Ok(())
}

#[test]
fn every_width() -> Result<()> {
    for columns in [1, 2, 63, 64, 65, 1000, 1025, 4096, 4097, 8192, 8193, 20_000, 33_000] {
        assert_sorts(&numbers(&[2, columns], 1), &format!("{columns} columns"))?;
    }
    Ok(())
}

#[test]
fn every_dtype_and_layout() -> Result<()> {
    for dtype in FLOATS {
        for (layout, x) in layouts(&[3, 2, 300], dtype) {
            assert_sorts(&x, &format!("{layout} {dtype:?}"))?;
        }
        assert_sorts(&numbers(&[2, 5000], 1).to_dtype(dtype)?, &format!("{dtype:?}"))?;
    }
    let integers = (numbers(&[3, 5000], 1) * 50.0)?;
    assert_sorts(&integers.to_dtype(DType::I32)?, "i32")?;
    assert_sorts(&integers.abs()?.to_dtype(DType::U32)?, "u32")?;
    assert_sorts(&integers.abs()?.to_dtype(DType::U8)?, "u8")?;
    Ok(())
}

#[test]
fn equal_elements_keep_their_order() -> Result<()> {
    for columns in [100, 6000] {
        let x = (numbers(&[2, columns], 1) * 2.0)?.round()?;
        assert_sorts(&x, "a few values")?;
        let special = [0.0f32, -0.0, f32::NAN, f32::INFINITY, -f32::NAN, f32::NEG_INFINITY, 1.0, -1.0];
        let x: Vec<f32> = (0..columns).map(|i| special[i * 7 % 8]).collect();
        assert_sorts(&Tensor::from_vec(x, columns, &Device::Cpu)?, "special values")?;
    }
    Ok(())
}

#[test]
fn sorted_rows_have_a_gradient() -> Result<()> {
    let x = numbers(&[2, 3, 50], 1);
    let (sorted, indices) = sort_last_dim(&x, false)?;
    assert_eq!(flat(&sorted), flat(&x.gather(&indices, D::Minus1)?));
    let x = [x];
    let found = gradients(&x, |[x]| Ok(sort_last_dim(x, true)?.0))?;
    let expected = gradients(&x, |[x]| Ok(x.sort_last_dim(true)?.0))?;
    assert_eq!(flat(&found[0]), flat(&expected[0]));
    Ok(())
}

#[test]
fn empty_rows_and_errors() -> Result<()> {
    let zeros = |shape: &[usize]| Tensor::zeros(shape, DType::F32, &Device::Cpu).unwrap();
    assert_eq!(arg_sort_last_dim(&zeros(&[0, 5000]), true)?.dims(), [0, 5000]);
    assert_eq!(arg_sort_last_dim(&zeros(&[3, 0]), true)?.dims(), [3, 0]);
    let e = arg_sort_last_dim(&zeros(&[3]).to_dtype(DType::F64)?, true);
    assert!(matches!(error(e), Error::UnsupportedDTypeForOp(DType::F64, "arg-sort")));
    let scalar = Tensor::new(1.0f32, &Device::Cpu)?;
    assert!(matches!(error(arg_sort_last_dim(&scalar, true)), Error::UnexpectedNumberOfDims { .. }));
    Ok(())
}
