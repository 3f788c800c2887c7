//! Tensors of several layouts, and comparisons.

use candle_core::{DType, Device, Error, Result, Tensor, Var};

/// The dtypes of operations of floats.
pub const FLOATS: [DType; 3] = [DType::F32, DType::F16, DType::BF16];

/// The tolerance of a dtype for results of about 1.
pub fn tolerance(dtype: DType) -> f32 {
    match dtype {
        DType::F16 => 4e-3,
        DType::BF16 => 3e-2,
        _ => 1e-5,
    }
}

/// Numbers from -2 to 2 that look random.
pub fn numbers(shape: &[usize], seed: usize) -> Tensor {
    let len: usize = shape.iter().product();
    let number = |i: usize| {
        let bits = (i + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(seed.wrapping_mul(0xd134_2543_de82_ef95));
        (bits >> 40) as f32 / (1 << 22) as f32 - 2.0
    };
    Tensor::from_vec((0..len).map(number).collect::<Vec<_>>(), shape, &Device::Cpu).unwrap()
}

/// Tensors of this shape: contiguous, a part of a longer one, transposed, and with a broadcast first dimension.
pub fn layouts(shape: &[usize], dtype: DType) -> Vec<(&'static str, Tensor)> {
    let last = shape.len() - 1;
    let mut longer = shape.to_vec();
    longer[0] += 2;
    let mut swapped = shape.to_vec();
    swapped.swap(0, last);
    let mut one = shape.to_vec();
    one[0] = 1;
    let of = |shape: &[usize], seed| numbers(shape, seed).to_dtype(dtype).unwrap();
    vec![
        ("contiguous", of(shape, 1)),
        ("offset", of(&longer, 2).narrow(0, 1, shape[0]).unwrap()),
        ("transposed", of(&swapped, 3).transpose(0, last).unwrap()),
        ("broadcast", of(&one, 4).broadcast_as(shape).unwrap()),
    ]
}

/// All elements, as f32.
pub fn flat(x: &Tensor) -> Vec<f32> {
    x.to_dtype(DType::F32).unwrap().flatten_all().unwrap().to_vec1().unwrap()
}

/// Panics unless both tensors have one shape, one dtype, and elements that differ by the tolerance at most, relative
/// to elements beyond 1.
pub fn assert_close(found: &Tensor, expected: &Tensor, tolerance: f32, what: &str) {
    assert_eq!(found.dims(), expected.dims(), "{what}");
    assert_eq!(found.dtype(), expected.dtype(), "{what}");
    for (i, (a, b)) in flat(found).into_iter().zip(flat(expected)).enumerate() {
        let is_near = b.is_finite() && (a - b).abs() <= tolerance * b.abs().max(1.0);
        assert!(is_near || a == b || a.is_nan() && b.is_nan(), "{what}: element {i} is {a}, not {b}");
    }
}

/// The gradients of variables in a weighted sum of a result.
pub fn gradients<const N: usize>(
    inputs: &[Tensor; N],
    f: impl Fn(&[Tensor; N]) -> Result<Tensor>,
) -> Result<[Tensor; N]> {
    let variables: Vec<Var> = inputs.iter().map(Var::from_tensor).collect::<Result<_>>()?;
    let tensors: Vec<Tensor> = variables.iter().map(|v| v.as_tensor().clone()).collect();
    let y = f(&tensors.try_into().expect("as many as inputs"))?;
    let weights = numbers(y.dims(), 9).to_dtype(y.dtype())?;
    let gradients = (y * weights)?.sum_all()?.backward()?;
    let of = |v: &Var| gradients.get(v).cloned().unwrap_or_else(|| panic!("a variable has no gradient"));
    let all: Vec<Tensor> = variables.iter().map(of).collect();
    Ok(all.try_into().expect("as many as inputs"))
}

/// The error of a result, without the backtrace that candle adds under `RUST_BACKTRACE`.
pub fn error<T>(result: Result<T>) -> Error {
    match result.err().expect("an error") {
        Error::WithBacktrace { inner, .. } => *inner,
        e => e,
    }
}
