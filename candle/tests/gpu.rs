//! The same on a GPU as on the CPU, where there is one.

use crate::common::{assert_close, flat, layouts, numbers, tolerance};
use crate::operation::SquaredRelu;
use candle_core::{DType, Device, Result, Tensor, Var};
use tilewright_candle as ops;

/// GPUs by a stream of their own and by the thread's default stream; none without a GPU.
fn devices() -> Vec<(&'static str, Device)> {
    let (own, default) = (Device::new_cuda_with_stream(0), Device::new_cuda(0));
    let all = [("own stream", own), ("default stream", default)];
    if all.iter().all(|(_, device)| device.is_err()) {
        eprintln!("there is no GPU: nothing is compared");
        return vec![];
    }
    all.map(|(name, device)| (name, device.expect(name))).into()
}

type Function = fn(&Tensor) -> Result<Tensor>;

/// Parameters on the device of a tensor.
fn parameter(x: &Tensor, shape: &[usize], seed: usize) -> Result<Tensor> {
    numbers(shape, seed).to_dtype(x.dtype())?.to_device(x.device())
}

/// Functions of a tensor `(5, 6, 64)`.
const FUNCTIONS: [(&str, Function); 9] = [
    ("softmax", |x| ops::softmax_last_dim(x)),
    ("rms_norm", |x| ops::rms_norm(x, &parameter(x, &[64], 1)?, 1e-5)),
    ("layer_norm", |x| ops::layer_norm(x, &parameter(x, &[64], 1)?, &parameter(x, &[64], 2)?, 1e-5)),
    ("layer_norm_no_bias", |x| ops::layer_norm_no_bias(x, &parameter(x, &[64], 1)?, 1e-5)),
    ("add_rms_norm", |x| {
        let (sum, y) = ops::add_rms_norm(x, &parameter(x, &[5, 6, 64], 3)?, &parameter(x, &[64], 1)?, 1e-5)?;
        sum + y
    }),
    ("swiglu", |x| ops::swiglu(x, &parameter(x, &[5, 6, 64], 3)?)),
    ("rope", |x| {
        let table = parameter(x, &[6, 32], 4)?;
        ops::rope(&x.unsqueeze(1)?, &table.cos()?, &table.sin()?)?.squeeze(1)
    }),
    ("cross_entropy", |x| {
        let targets = Tensor::new((0..30).map(|i| i * 7 % 64).collect::<Vec<u32>>(), x.device())?;
        ops::cross_entropy_rows(&x.reshape((30, 64))?, &targets)
    }),
    ("embedding", |x| {
        let ids = Tensor::new(&[[3i64, 0], [29, 3]], x.device())?;
        ops::embedding(&x.reshape((30, 64))?, &ids)
    }),
];

#[test]
fn every_layout_and_gradient() -> Result<()> {
    for (stream, device) in devices() {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            for (layout, x) in layouts(&[5, 6, 64], dtype) {
                for (name, f) in FUNCTIONS {
                    let what = format!("{name}, {layout}, {dtype:?}, {stream}");
                    let run = |x: &Tensor| -> Result<(Tensor, Tensor)> {
                        let x = Var::from_tensor(x)?;
                        let y = f(&x)?;
                        let weights = parameter(&y, y.dims(), 9)?;
                        let gradients = (&y * weights)?.sum_all()?.backward()?;
                        let gradient = gradients.get(&x).expect("a gradient").to_device(&Device::Cpu)?;
                        Ok((y.to_device(&Device::Cpu)?, gradient))
                    };
                    let there = to(&x, &device)?;
                    // A variable is a contiguous copy: its layout is not that of `x`.
                    let (y, gradient) = run(&there)?;
                    let (expected, of_cpu) = run(&x)?;
                    let strided = f(&there)?.to_device(&Device::Cpu)?;
                    assert_close(&strided, &expected, 2.0 * tolerance(dtype).max(2e-5), &format!("strided {what}"));
                    assert_close(&y, &expected, 2.0 * tolerance(dtype).max(2e-5), &what);
                    assert_close(&gradient, &of_cpu, 4.0 * tolerance(dtype).max(2e-5), &format!("gradient of {what}"));
                }
            }
        }
    }
    Ok(())
}

/// The tensor with its layout.
fn to(x: &Tensor, device: &Device) -> Result<Tensor> {
    if x.is_contiguous() {
        let (first, rows) = (x.narrow(0, 0, 1)?, x.dim(0)?);
        return Tensor::cat(&[&first, x], 0)?.to_device(device)?.narrow(0, 1, rows);
    }
    // A broadcast dimension has one element in memory; another layout is that of a transpose. A part of a longer tensor
    // is contiguous.
    let last = x.rank() - 1;
    match x.stride()[0] {
        0 => x.narrow(0, 0, 1)?.contiguous()?.to_device(device)?.broadcast_as(x.shape()),
        _ => x.transpose(0, last)?.contiguous()?.to_device(device)?.transpose(0, last),
    }
}

#[test]
fn attention() -> Result<()> {
    for (stream, device) in devices() {
        for dtype in [DType::F16, DType::BF16] {
            for [b, n, m, h, s, d] in
                [[1, 70, 70, 4, 2, 64], [3, 1, 900, 8, 2, 128], [2, 33, 50, 6, 3, 32], [2, 200, 200, 2, 2, 80]]
            {
                let of = |rows: usize, heads: usize, seed: usize| -> Result<[Tensor; 2]> {
                    // Heads before rows in memory, and a cache that is longer than its use.
                    let x = numbers(&[b, heads, rows + 5, d], seed).to_dtype(dtype)?;
                    let part = |x: Tensor| x.transpose(1, 2)?.narrow(1, 2, rows);
                    Ok([part(x.clone())?, part(x.to_device(&device)?)?])
                };
                let ([q, of_q], [k, of_k], [v, of_v]) = (of(n, h, 1)?, of(m, s, 2)?, of(m, s, 3)?);
                let what = format!("{:?} {dtype:?} {stream}", [b, n, m, h, s, d]);
                for causal in [false, true] {
                    let found = ops::flash_attn(&of_q, &of_k, &of_v, 0.2, causal)?.to_device(&Device::Cpu)?;
                    assert_close(&found, &ops::flash_attn(&q, &k, &v, 0.2, causal)?, 2.0 * tolerance(dtype), &what);
                }
            }
        }
    }
    Ok(())
}

#[test]
fn sorts() -> Result<()> {
    for (stream, device) in devices() {
        for columns in [1, 60, 1000, 4096, 5000, 50_000] {
            for dtype in [DType::F32, DType::BF16, DType::U32, DType::I32] {
                let x = (numbers(&[3, columns], 1) * 100.0)?.abs()?.to_dtype(dtype)?;
                for ascending in [true, false] {
                    let (sorted, found) = ops::sort_last_dim(&x.to_device(&device)?, ascending)?;
                    let (expected, indices) = ops::sort_last_dim(&x, ascending)?;
                    assert!(flat(&found) == flat(&indices), "{columns} {dtype:?} {stream}");
                    assert!(flat(&sorted) == flat(&expected), "{columns} {dtype:?} {stream}");
                }
            }
        }
    }
    Ok(())
}

#[test]
fn products_of_bytes() -> Result<()> {
    for (stream, device) in devices() {
        for [m, n, k] in [[1, 70, 96], [33, 128, 256], [200, 64, 100]] {
            for dtype in [DType::F32, DType::F16, DType::BF16] {
                let (x, weight) = (numbers(&[m, k], 1).to_dtype(dtype)?, numbers(&[n, k], 2).to_dtype(dtype)?);
                let expected = ops::Int8Linear::new(&weight)?.forward(&x)?;
                let layer = ops::Int8Linear::new(&weight.to_device(&device)?)?;
                let found = layer.forward(&x.to_device(&device)?)?.to_device(&Device::Cpu)?;
                assert_close(&found, &expected, 2.0 * tolerance(dtype), &format!("{m} x {n} x {k} {dtype:?} {stream}"));
            }
        }
    }
    Ok(())
}

/// Results of one operation are read by the next, and memory is used again, while candle's kernels run between them.
#[test]
fn kernels_and_candles_own_keep_their_order() -> Result<()> {
    for (stream, device) in devices() {
        let run = |device: &Device| -> Result<Tensor> {
            let mut x = numbers(&[64, 4096], 1).to_device(device)?;
            let weight = Tensor::ones(4096, DType::F32, device)?;
            for _ in 0..50 {
                x = (ops::rms_norm(&x, &weight, 1e-5)? * 1.01)?;
                x = (ops::softmax_last_dim(&x)? * 4096.0)?;
            }
            x.to_device(&Device::Cpu)
        };
        assert_close(&run(&device)?, &run(&Device::Cpu)?, 1e-3, stream);
    }
    Ok(())
}

#[test]
fn threads_on_one_device() -> Result<()> {
    for (stream, device) in devices() {
        std::thread::scope(|s| {
            for seed in 0..4 {
                let device = &device;
                s.spawn(move || {
                    let x = numbers(&[100, 700], seed);
                    let expected = ops::softmax_last_dim(&x).unwrap();
                    let x = x.to_device(device).unwrap();
                    for _ in 0..20 {
                        let y = ops::softmax_last_dim(&x).unwrap().to_device(&Device::Cpu).unwrap();
                        assert_close(&y, &expected, 1e-5, stream);
                    }
                });
            }
        });
    }
    Ok(())
}

#[test]
fn a_kernel_of_the_examples() -> Result<()> {
    for (stream, device) in devices() {
        for dtype in [DType::F32, DType::F16, DType::BF16] {
            let x = numbers(&[100, 30], 1).to_dtype(dtype)?;
            let bias = numbers(&[30], 2).to_dtype(dtype)?;
            let run = |device: &Device| -> Result<Tensor> {
                let (x, bias) = (x.to_device(device)?.t()?, bias.to_device(device)?.unsqueeze(1)?);
                x.apply_op2(&bias.broadcast_as((30, 100))?, SquaredRelu)?.to_device(&Device::Cpu)
            };
            assert_close(&run(&device)?, &run(&Device::Cpu)?, tolerance(dtype), stream);
        }
    }
    Ok(())
}
