//! Operations of kernels.

use crate::common::{assert_close, error, layouts, numbers, tolerance};
use candle_core::{CustomOp1, DType, Device, Error, Result, Tensor, Var};
use tilewright::tile_kernel;
use tilewright_candle::{TensorElement, apply, custom_op};

#[tile_kernel(types(T = [f32, f16, bf16]), grid = [cdiv(y.len(), 256)])]
fn scale<T: Float>(factor: f32, x: &[T], y: &mut [T]) {
    let i = program_id(0) * 256 + arange(256);
    store(y, i, (factor * load(x, i).to::<f32>()).to::<T>());
}

custom_op! {
    /// Multiplies by a factor.
    #[derive(Clone, Copy, Debug)]
    pub struct Scale { pub factor: f32 }
    types T in [f32, f16, bf16];
    fn(self, x: &[T]) -> y: &mut [T] = x.dims();
    launch scale(self.factor, x, y);
    bwd(dy) { x: Scale { factor: self.factor } => (dy) }
}

/// `x * y + z`, of tensors of any strides.
#[tile_kernel(types(T = [f32, f16]), grid = [cdiv(x.dim(0), 4), cdiv(x.dim(1), 32)])]
fn multiply_add<T: Float>(x: View<T, 2>, y: View<T, 2>, z: View<T, 2>, mut out: ViewMut<T, 2>) {
    let at = [program_id(0) * 4, program_id(1) * 32];
    out.store(at, x.tile(at, [4, 32]) * y.tile(at, [4, 32]) + z.tile(at, [4, 32]));
}

custom_op! {
    struct MultiplyAdd;
    types T in [f32, f16];
    fn(self, x: View<T, 2>, y: View<T, 2>, z: View<T, 2>) -> out: ViewMut<T, 2> = x.dims();
    launch multiply_add(x, y, z, out);
}

/// The row sums of a matrix.
#[tile_kernel(grid = [y.len()])]
fn sum_rows(x: View<f32, 2>, y: &mut [f32]) {
    store(y, program_id(0), sum(x.tile([program_id(0), 0], [1, 64])));
}

custom_op! {
    struct SumRows;
    types T in [f32];
    fn(self, x: View<T, 2>) -> y: &mut [T] = {
        let &[rows, columns] = x.dims() else { candle_core::bail!("rank {}", x.dims().len()) };
        if columns > 64 {
            candle_core::bail!("{columns} columns");
        }
        rows
    };
    launch sum_rows(x, y);
}

/// Elements by index.
#[tile_kernel(types(T = [f32, bf16]), grid = [cdiv(y.len(), 64)])]
fn take<T: Float>(x: &[T], ids: &[i32], y: &mut [T]) {
    let i = program_id(0) * 64 + arange(64);
    store(y, i, load(x, load(ids, i).to::<usize>()));
}

/// Adds each element of the gradient where it was taken.
#[tile_kernel(types(T = [f32, bf16]), grid = [cdiv(ids.len(), 64)])]
fn put<T: Float>(dy: &[T], ids: &[i32], dx: &mut [T]) {
    // The indices of the test are a permutation.
    let i = program_id(0) * 64 + arange(64);
    store(dx, load(ids, i).to::<usize>(), load(dy, i)).mask(i < ids.len());
}

custom_op! {
    struct Take;
    types T in [f32, bf16];
    fn(self, x: &[T], ids: &[i32]) -> y: &mut [T] = ids.dims();
    launch take(x, ids, y);
    bwd(dy) { x: Put => (dy, ids) }
}

custom_op! {
    struct Put;
    types T in [f32, bf16];
    fn(self, dy: &[T], ids: &[i32]) -> dx: &mut [T] = dy.dims();
    launch put(dy, ids, dx);
}

#[test]
fn every_type_and_its_gradient() -> Result<()> {
    for dtype in [DType::F32, DType::F16, DType::BF16] {
        let x = Var::from_tensor(&numbers(&[3, 500], 1).to_dtype(dtype)?)?;
        let y = x.apply_op1(Scale { factor: -1.5 })?;
        assert_close(&y, &(x.as_tensor() * -1.5)?, tolerance(dtype), "scale");
        // The gradient of a sum is a broadcast tensor.
        let gradients = y.sum_all()?.backward()?;
        let expected = Tensor::full(-1.5f32, (3, 500), &Device::Cpu)?.to_dtype(dtype)?;
        assert_close(gradients.get(&x).expect("a gradient"), &expected, 0.0, "its gradient");
    }
    Ok(())
}

#[test]
fn views_have_any_strides() -> Result<()> {
    for dtype in [DType::F32, DType::F16] {
        let shape = [10, 50];
        for (of_x, x) in layouts(&shape, dtype) {
            for (of_y, y) in layouts(&shape, dtype) {
                let z = y.narrow(1, 0, 1)?.broadcast_as(&shape)?;
                let found = apply(MultiplyAdd, [&x, &y, &z])?;
                let expected = ((&x * &y)? + &z)?;
                assert!(found.is_contiguous());
                assert_close(&found, &expected, tolerance(dtype), &format!("{of_x}, {of_y}"));
            }
        }
    }
    Ok(())
}

#[test]
fn a_result_of_another_shape() -> Result<()> {
    let x = numbers(&[7, 20], 1);
    assert_close(&apply(SumRows, [&x])?, &x.sum(1)?, 1e-5, "sums");
    let e = error(apply(SumRows, [&numbers(&[2, 65], 1)]));
    assert_eq!(e.to_string(), "65 columns");
    Ok(())
}

#[test]
fn a_tensor_of_indices_beside_one_of_floats() -> Result<()> {
    let ids = Tensor::new(&[2u32, 0, 1], &Device::Cpu)?;
    for dtype in [DType::F32, DType::BF16] {
        let x = Var::from_tensor(&Tensor::new(&[1.0f32, 2.0, 3.0], &Device::Cpu)?.to_dtype(dtype)?)?;
        let y = x.apply_op2(&ids, Take)?;
        let weights = Tensor::new(&[1.0f32, 2.0, 4.0], &Device::Cpu)?.to_dtype(dtype)?;
        assert_eq!(y.to_dtype(DType::F32)?.to_vec1::<f32>()?, [3.0, 1.0, 2.0]);
        let gradients = (y * weights)?.sum_all()?.backward()?;
        let found = gradients.get(&x).expect("a gradient").to_dtype(DType::F32)?;
        assert_eq!(found.to_vec1::<f32>()?, [2.0, 4.0, 1.0]);
    }
    Ok(())
}

#[test]
fn empty_tensors() -> Result<()> {
    let x = Tensor::zeros((0, 5), DType::F32, &Device::Cpu)?;
    assert_eq!(apply(Scale { factor: 2.0 }, [&x])?.dims(), [0, 5]);
    assert_eq!(apply(MultiplyAdd, [&x, &x, &x])?.dims(), [0, 5]);
    // A sum of nothing is 0: the result has elements.
    let x = Tensor::zeros((5, 0), DType::F32, &Device::Cpu)?;
    assert_eq!(apply(SumRows, [&x])?.to_vec1::<f32>()?, [0.0; 5]);
    // A part of no elements, at the end of its storage.
    let x = numbers(&[4, 5], 1).narrow(0, 4, 0)?;
    assert_eq!(apply(MultiplyAdd, [&x, &x, &x])?.dims(), [0, 5]);
    Ok(())
}

#[test]
fn errors_are_candles() -> Result<()> {
    let x = numbers(&[4, 4], 1);
    let e = error(apply(Scale { factor: 2.0 }, [&x.t()?]));
    assert!(matches!(e, Error::RequiresContiguous { op: "Scale" }), "{e}");
    let e = error(apply(Scale { factor: 2.0 }, [&x.to_dtype(DType::F64)?]));
    assert!(matches!(e, Error::UnsupportedDTypeForOp(DType::F64, "Scale")), "{e}");
    let e = error(apply(MultiplyAdd, [&x, &x.to_dtype(DType::F16)?, &x]));
    assert!(matches!(e, Error::DTypeMismatchBinaryOp { lhs: DType::F32, rhs: DType::F16, op: "MultiplyAdd" }), "{e}");
    let e = error(apply(MultiplyAdd, [&x, &x, &numbers(&[4], 1)]));
    assert!(matches!(e, Error::UnexpectedNumberOfDims { expected: 2, got: 1, .. }), "{e}");
    let x = Var::from_tensor(&x)?;
    let e = error(apply(SumRows, [x.as_tensor()])?.sum_all()?.backward());
    assert!(matches!(e, Error::BackwardNotSupported { op: "SumRows" }), "{e}");
    assert_eq!(CustomOp1::name(&SumRows), "SumRows");
    Ok(())
}

/// Errors of tilewright are kept.
#[test]
fn errors_of_a_launch_are_those_of_tilewright() -> Result<()> {
    let half = numbers(&[1, 2, 1, 4], 1).to_dtype(DType::F16)?;
    let e = error(tilewright_candle::flash_attn(&half, &half, &half, 0.0, false));
    let Error::WrappedContext { wrapped, context } = &e else { panic!("{e}") };
    assert!(matches!(wrapped.downcast_ref(), Some(tilewright::Error::InvalidArgument { .. })), "{e}");
    assert_eq!(context, "flash-attn");
    Ok(())
}

/// Several threads use the same runtime.
#[test]
fn threads() {
    std::thread::scope(|s| {
        for seed in 0..4 {
            s.spawn(move || {
                let x = numbers(&[100, 7], seed);
                for _ in 0..20 {
                    let y = apply(Scale { factor: 2.0 }, [&x]).unwrap();
                    assert_close(&y, &(&x * 2.0).unwrap(), 0.0, "scale");
                }
            });
        }
    });
}

#[test]
fn dtypes_of_elements() {
    assert!(tilewright::bf16::reads(DType::BF16) && !tilewright::bf16::reads(DType::F16));
    assert!(i8::reads(DType::U8) && i32::reads(DType::U32) && !u32::reads(DType::I32));
}
