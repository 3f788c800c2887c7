//! gemm, batched_matmul, matmul_int8, dot_product, align_operand.

use super::Boxed;
use super::matmul::{accumulation, int_products, judge, of_f32, sampled};
use super::matrix::{Entry, Matrix, floats_of, operands, random_operands, specials};
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::{data, reference, verdict};
use tilewright_core::{DType, bf16, f16};
use tilewright_ops::{self as ops, BatchMultiply, Matmul, Quantization};
use tilewright_runtime::{Result, Runtime};

struct Gemm {
    host: [Vec<f32>; 3],
    extents: [usize; 3],
    a: Matrix<f16>,
    b: Matrix<f16>,
    c: Matrix<f16>,
    alpha: f32,
    beta: f32,
}

/// The factors of a product and of `C`. With a factor of 0 the old `C` does not count.
const SCALES: [(f32, f32); 4] = [(1.0, 0.0), (0.5, 0.5), (-1.25, 1.0), (0.0, 2.0)];

pub fn gemm(rt: &Runtime, s: &Setup) -> Boxed {
    let extents = [s.size[0], s.size[1], s.size[2]].map(|n| n as usize);
    let [m, n, k] = extents;
    let (alpha, beta) = SCALES[(s.seed / 2 % 4) as usize];
    let (alpha, beta) = (s.scalar("alpha", alpha)?, s.scalar("beta", beta)?);
    let mut rng = data::Rng::new(s.seed);
    let (a, b) = operands::<f16>(&mut rng, s, extents)?;
    let old =
        s.input(
            "c",
            m * n,
            || if beta == 0.0 { vec![f16::NAN; m * n] } else { data::entries::<f16>(&mut rng, m * n) },
        )?;
    let host = [floats_of(&a), floats_of(&b), floats_of(&old)];
    let (a, b) = (Matrix::new(rt, s, &a, [1, m, k])?, Matrix::new(rt, s, &b, [1, k, n])?);
    let c = Matrix::new(rt, s, &old, [1, m, n])?;
    let moved = m * k + k * n + m * n * if beta == 0.0 { 1 } else { 2 };
    Ok(Box::new(Prepared {
        work: Work { bytes: 2 * moved as u64, flops: 2 * (m * n * k) as u64 },
        state: Gemm { host, extents, a, b, c, alpha, beta },
        launch: |s: &mut Gemm, on| {
            Matmul::new(s.a.view()?, s.b.view()?, s.c.view_mut()?).alpha(s.alpha).beta(s.beta).launch(on)
        },
        check: |s| {
            let [_, n, k] = s.extents;
            let all = s.c.read()?;
            let rows = sampled(s.extents[0], n * k);
            let at =
                |v: &[f32]| -> Vec<f32> { rows.iter().flat_map(|&r| v[r * n..(r + 1) * n].iter().copied()).collect() };
            let found: Vec<f16> = rows.iter().flat_map(|&r| all[r * n..(r + 1) * n].iter().copied()).collect();
            let (alpha, beta) = (s.alpha as f64, s.beta as f64);
            let products = reference::product(&s.host[0], &s.host[1], k, n, &rows);
            let wanted = products.into_iter().zip(at(&s.host[2])).map(|((p, magnitude), old)| {
                let scaled = if k == 0 || (alpha == 0.0 && beta == 0.0) { 0.0 } else { alpha * p };
                let added = if beta == 0.0 { 0.0 } else { beta * old as f64 };
                (scaled + added, alpha.abs() * magnitude + added.abs())
            });
            Ok(judge(&found, wanted, accumulation(DType::F16, k)))
        },
        outputs: |s| Ok(vec![Output::of("c", &s.c.read()?)]),
    }))
}

struct Batch<T> {
    host: (Vec<f32>, Vec<f32>),
    extents: [usize; 4],
    a: Matrix<T>,
    b: Matrix<T>,
    c: Matrix<T>,
}

pub fn batched_matmul(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: BatchMultiply + Entry>(rt: &Runtime, s: &Setup) -> Boxed {
        let extents = [s.size[0], s.size[1], s.size[2], s.size[3]].map(|n| n as usize);
        let [batch, m, n, k] = extents;
        let mut rng = data::Rng::new(s.seed);
        let (a, b) = match s.given {
            Some(row) => (row.input("a", batch * m * k)?, row.input("b", batch * k * n)?),
            None => {
                let one = |_| random_operands::<T>(&mut rng, [m, n, k], s.awkward);
                let (a, b): (Vec<_>, Vec<_>) = (0..batch).map(one).unzip();
                (a.concat(), b.concat())
            }
        };
        let host = (floats_of(&a), floats_of(&b));
        let (a, b) = (Matrix::new(rt, s, &a, [batch, m, k])?, Matrix::new(rt, s, &b, [batch, k, n])?);
        let c = Matrix::poisoned(rt, s, [batch, m, n])?;
        Ok(Box::new(Prepared {
            work: Work {
                bytes: (batch * (m * k + k * n + m * n) * size_of::<T>()) as u64,
                flops: 2 * (batch * m * n * k) as u64,
            },
            state: Batch { host, extents, a, b, c },
            launch: |s: &mut Batch<T>, on| ops::batched_matmul::<T>(on, s.a.batch()?, s.b.batch()?, s.c.batch_mut()?),
            check: |s| {
                let [batch, m, n, k] = s.extents;
                let rows: Vec<usize> = (0..m).collect();
                let one = |i: usize| {
                    reference::product(&s.host.0[i * m * k..][..m * k], &s.host.1[i * k * n..][..k * n], k, n, &rows)
                };
                let wanted: Vec<(f64, f64)> = (0..batch).flat_map(one).collect();
                let mut found = s.c.read()?;
                if T::DTYPE == DType::F32 {
                    found.iter_mut().zip(&wanted).for_each(|(v, w)| *v = T::of(of_f32(v.value(), w.0, w.0)));
                }
                Ok(judge(&found, wanted.into_iter(), accumulation(T::DTYPE, k)))
            },
            outputs: |s| Ok(vec![Output::of("c", &s.c.read()?)]),
        }))
    }
    match setup.dtype {
        DType::F16 => of::<f16>(rt, setup),
        DType::BF16 => of::<bf16>(rt, setup),
        _ => of::<f32>(rt, setup),
    }
}

struct Int8 {
    host: (Vec<i8>, Vec<i8>),
    extents: [usize; 3],
    q: Quantization,
    a: Matrix<i8>,
    b: Matrix<i8>,
    c: Matrix<i8>,
}

pub fn matmul_int8(rt: &Runtime, s: &Setup) -> Boxed {
    let extents = [s.size[0], s.size[1], s.size[2]].map(|n| n as usize);
    let [m, n, k] = extents;
    let mut rng = data::Rng::new(s.seed);
    let host = operands::<i8>(&mut rng, s, extents)?;
    let zero = |rng: &mut data::Rng| (rng.below(41) as i32 - 20) as i8;
    // Most results within the range; every other time a zero point is none, and ties are as frequent as can be.
    let mut q = Quantization {
        scale_a: 0.5,
        scale_b: 0.25,
        scale_c: 8.0 * (k.max(1) as f32).sqrt(),
        zero_a: 0,
        zero_b: zero(&mut rng),
        zero_c: zero(&mut rng),
    };
    if s.seed.is_multiple_of(2) {
        q = Quantization { scale_c: 16.0, zero_a: zero(&mut rng), ..q };
    }
    if s.awkward {
        // Odd sums are ties, and each order of the factors rounds them its own way.
        q = Quantization { scale_a: 0.05, scale_b: 0.1, scale_c: 0.01, ..q };
    }
    if let Some(row) = s.given {
        q = Quantization {
            scale_a: row.scalar("scale_a")?,
            scale_b: row.scalar("scale_b")?,
            scale_c: row.scalar("scale_c")?,
            zero_a: row.scalar("zero_a")?,
            zero_b: row.scalar("zero_b")?,
            zero_c: row.scalar("zero_c")?,
        };
    }
    let (a, b) = (Matrix::new(rt, s, &host.0, [1, m, k])?, Matrix::new(rt, s, &host.1, [1, k, n])?);
    let c = Matrix::poisoned(rt, s, [1, m, n])?;
    Ok(Box::new(Prepared {
        work: Work { bytes: (m * k + k * n + m * n) as u64, flops: 2 * (m * n * k) as u64 },
        state: Int8 { host, extents, q, a, b, c },
        launch: |s: &mut Int8, on| ops::matmul_int8(on, s.a.view()?, s.b.view()?, s.c.view_mut()?, &s.q),
        check: |s| {
            let ([m, n, k], q) = (s.extents, s.q);
            let less = |v: &[i8], zero: i8| v.iter().map(|&v| v as i32 - zero as i32).collect::<Vec<_>>();
            let rows = sampled(m, n * k);
            let sums = int_products(&less(&s.host.0, q.zero_a), &less(&s.host.1, q.zero_b), k, n, &rows);
            let inverse = 1.0 / q.scale_c;
            let quantized = |v: i32| {
                let scaled = v as f32 * q.scale_a * q.scale_b * inverse;
                (scaled.round_ties_even() as i64 + q.zero_c as i64).clamp(-128, 127) as i8
            };
            let wanted: Vec<i8> = sums.into_iter().map(quantized).collect();
            let all = s.c.read()?;
            let found: Vec<i8> = rows.iter().flat_map(|&r| all[r * n..(r + 1) * n].iter().copied()).collect();
            Ok(verdict::exact(&found, &wanted))
        },
        outputs: |s| Ok(vec![Output::of("c", &s.c.read()?)]),
    }))
}

struct Dot {
    host: (Vec<f16>, Vec<f16>),
    a: Guarded<f16>,
    b: Guarded<f16>,
    y: Guarded<f16>,
}

pub fn dot_product(rt: &Runtime, s: &Setup) -> Boxed {
    let n = s.size[0] as usize;
    let mut rng = data::Rng::new(s.seed);
    let mut host = (
        s.input("a", n, || data::entries::<f16>(&mut rng, n))?,
        s.input("b", n, || data::entries::<f16>(&mut rng, n))?,
    );
    if s.awkward && n > 0 {
        // One of them: of several the sum is NaN.
        let at = rng.below(n as u64) as usize;
        specials(&mut rng, &mut host.0[at..][..1]);
    }
    let (a, b) = (Guarded::new(rt, &host.0, f16::NAN, s.odd)?, Guarded::new(rt, &host.1, f16::NAN, s.odd)?);
    let y = Guarded::new(rt, &[s.unwritten(f16::NAN)], f16::NAN, s.odd)?;
    Ok(Box::new(Prepared {
        work: Work { bytes: 4 * n as u64, flops: 2 * n as u64 },
        state: Dot { host, a, b, y },
        launch: |s: &mut Dot, on| ops::dot_product(on, s.a.get()?, s.b.get()?, s.y.get_mut()?),
        check: |s| {
            let terms: Vec<f32> = s.host.0.iter().zip(&s.host.1).map(|(a, b)| a.to_f32() * b.to_f32()).collect();
            Ok(judge(&s.y.read()?, [reference::sum(&terms)].into_iter(), 1e-6))
        },
        outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
    }))
}

struct AlignOperand<T> {
    host: Vec<T>,
    x: Matrix<T>,
    y: Matrix<T>,
    transposed: Matrix<T>,
}

/// A matrix of bytes, in elements of any type, and its place.
fn bytes<T: Entry + Into<f64>>(rt: &Runtime, s: &Setup) -> Result<(Vec<T>, Matrix<T>)> {
    let (rows, cols) = (s.size[0] as usize, s.size[1] as usize);
    let mut rng = data::Rng::new(s.seed);
    let host: Vec<T> =
        s.input("x", rows * cols, || (0..rows * cols).map(|_| T::of((rng.next_u64() as u8) as f64)).collect())?;
    let x = Matrix::new(rt, s, &host, [1, rows, cols])?;
    Ok((host, x))
}

/// A problem for the type of a setup's elements.
macro_rules! of_bits {
    ($of:ident, $rt:ident, $setup:ident) => {
        match $setup.dtype {
            DType::U8 => $of::<u8>($rt, $setup),
            DType::U16 => $of::<u16>($rt, $setup),
            _ => $of::<u32>($rt, $setup),
        }
    };
}

/// Both ways.
pub fn align_operand(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: ops::Bits + Entry + Into<f64>>(rt: &Runtime, s: &Setup) -> Boxed {
        let (rows, cols) = (s.size[0] as usize, s.size[1] as usize);
        let (host, x) = bytes(rt, s)?;
        let (y, transposed) = (Matrix::poisoned(rt, s, [1, rows, cols])?, Matrix::poisoned(rt, s, [1, cols, rows])?);
        Ok(Box::new(Prepared {
            work: Work { bytes: (4 * rows * cols * size_of::<T>()) as u64, flops: 0 },
            state: AlignOperand { host, x, y, transposed },
            launch: |s: &mut AlignOperand<T>, on| {
                ops::align_operand::<T>(on, s.x.view()?, s.y.view_mut()?, false)?;
                ops::align_operand::<T>(on, s.x.view()?, s.transposed.view_mut()?, true)
            },
            check: |s| {
                let [rows, cols] = s.x.view()?.dims();
                let wanted = [&s.host[..], &reference::transpose(&s.host, rows, cols)].concat();
                Ok(verdict::exact(&[s.y.read()?, s.transposed.read()?].concat(), &wanted))
            },
            outputs: |s| Ok(vec![Output::of("y", &s.y.read()?), Output::of("transposed", &s.transposed.read()?)]),
        }))
    }
    of_bits!(of, rt, setup)
}

struct AlignOperands<T> {
    host: Vec<T>,
    x: Matrix<T>,
    /// Of each pair of copies both.
    copies: Vec<[Matrix<T>; 2]>,
}

/// Whether each copy of a pair is transposed.
const PAIRS: [[bool; 2]; 4] = [[false, false], [false, true], [true, false], [true, true]];

/// Each pair of ways, of one matrix.
pub fn align_operands(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: ops::Bits + Entry + Into<f64>>(rt: &Runtime, s: &Setup) -> Boxed {
        let (rows, cols) = (s.size[0] as usize, s.size[1] as usize);
        let (host, x) = bytes(rt, s)?;
        let copy = |transposed| Matrix::poisoned(rt, s, if transposed { [1, cols, rows] } else { [1, rows, cols] });
        let pair = |[a, b]: [bool; 2]| Ok([copy(a)?, copy(b)?]);
        let copies = PAIRS.into_iter().map(pair).collect::<Result<Vec<_>>>()?;
        Ok(Box::new(Prepared {
            work: Work { bytes: (16 * rows * cols * size_of::<T>()) as u64, flops: 0 },
            state: AlignOperands { host, x, copies },
            launch: |s: &mut AlignOperands<T>, on| {
                let x = s.x.view()?;
                for ([a, b], [y, v]) in PAIRS.into_iter().zip(&mut s.copies) {
                    ops::align_operands::<T>(on, (x, y.view_mut()?, a), (x, v.view_mut()?, b))?;
                }
                Ok(())
            },
            check: |s| {
                let [rows, cols] = s.x.view()?.dims();
                let transposed = reference::transpose(&s.host, rows, cols);
                let wanted = PAIRS.into_iter().flatten().map(|t| if t { &transposed } else { &s.host });
                let found = s.copies.iter().flatten().map(|c| c.read()).collect::<Result<Vec<_>>>()?;
                Ok(verdict::exact(&found.concat(), &wanted.flatten().copied().collect::<Vec<_>>()))
            },
            outputs: |s| {
                let names = ["y0", "v0", "y1", "v1", "y2", "v2", "y3", "v3"];
                names.into_iter().zip(s.copies.iter().flatten()).map(|(n, c)| Ok(Output::of(n, &c.read()?))).collect()
            },
        }))
    }
    of_bits!(of, rt, setup)
}
