//! matmul in all its forms: dtypes, transposition, precision, activation.

use super::Boxed;
use super::elementwise::SLOPE;
use super::matrix::{Entry, Matrix, floats_of, operands};
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::verdict::Verdict;
use crate::{data, reference, verdict};
use tilewright_core::{ConfigDesc, DType, bf16, f8e4m3, f8e5m2, f16};
use tilewright_ops::{Epilogue, ExecOptions, Executor, Matmul, Multiply, Precision, Transpose};
use tilewright_runtime::{BackendKind, Result, Runtime};

struct Product<T: Multiply> {
    /// Both as they are multiplied.
    host: (Vec<f32>, Vec<f32>),
    extents: [usize; 3],
    a: Matrix<T>,
    b: Matrix<T>,
    c: Matrix<T::Product>,
    how: How,
    /// Sums are those of a GPU's tensor cores.
    cut_off: bool,
    /// Operands of tf32 may be cut off, not rounded. The launch sets it.
    truncated: bool,
}

#[derive(Clone, Copy)]
struct How {
    transpose: Transpose,
    precision: Precision,
    epilogue: Epilogue,
}

const PLAIN: How = How { transpose: Transpose::NONE, precision: Precision::Default, epilogue: Epilogue::None };

/// The error that rounding within sums may add to an element, relative to the sum of its terms' magnitudes: errors of
/// either sign in sums of `k`. A tensor core cuts off their last bits, and sums of 8-bit floats keep 13 bits alone.
pub(super) fn accumulation(dtype: DType, k: usize) -> f64 {
    let unit = if matches!(dtype, DType::F8E4M3 | DType::F8E5M2) { 2f64.powi(-13) } else { 2f64.powi(-23) };
    unit * (8.0 + 2.0 * (k as f64).sqrt())
}

/// The error that the norm of so many elements may have: sums of up to 128 products, which a GPU's tensor cores
/// truncate instead of rounding, are added up in f32. A thousand products summed up one after the other have a larger
/// error. Few elements may be small by chance.
fn accuracy_of_f32(elements: usize, k: usize, cut_off: bool) -> f64 {
    let (part, root) = (if cut_off { 15.0 } else { 5.5 }, (k as f64).sqrt());
    if elements >= 1024 { 2f64.powi(-24) * (part + root / 16.0) } else { 2f64.powi(-23) * (2.0 + 0.5 * root) }
}

/// The relative error of a product of two f32 that become tf32, of 10 bits of fraction. `mma.sync` and the CPU take the
/// nearest tf32: an operand is off by 2^-11 of itself. `wgmma` cuts off the bits of operands that lie in memory: by
/// 2^-10.
fn product_of_tf32(truncated: bool) -> f64 {
    let operand = if truncated { 2f64.powi(-10) } else { 2f64.powi(-11) };
    2.0 * operand + operand * operand
}

/// Whether this launch may run `wgmma`: an entry for one target alone has it. Without a pinned configuration it may be
/// any, and with A transposed the operation may launch another kernel than the pinned one.
fn truncates(on: &ExecOptions, transpose: Transpose) -> bool {
    let warpgroups = |c: &ConfigDesc| c.variants.iter().any(|v| v.only.is_some());
    on.runtime().kind() != BackendKind::Cpu && (transpose.a || on.pin().is_none_or(|(_, c)| warpgroups(c)))
}

/// The rows that are checked: all, or as many of a large product as take seconds, the last one among them.
pub(super) fn sampled(m: usize, row: usize) -> Vec<usize> {
    let count = ((1usize << 31) / row.max(1)).clamp(16, 1 << 20);
    if m <= count { (0..m).collect() } else { (0..count).map(|i| i * (m - 1) / (count - 1)).collect() }
}

/// The value of an f32 element that counts. If a sum is infinite, a result with f32 accuracy out of narrower products
/// may be NaN: see `Precision::F32`.
pub(super) fn of_f32(found: f64, sum: f64, wanted: f64) -> f64 {
    if sum.is_infinite() && found.is_nan() { wanted } else { found }
}

/// Wanted in f64 with the magnitude of its terms, found rounded to U once.
pub(super) fn judge<U: Entry>(found: &[U], wanted: impl Iterator<Item = (f64, f64)>, accumulation: f64) -> Verdict {
    let found: Vec<f64> = found.iter().map(|v| v.value()).collect();
    let tolerance = 1.01 * U::ROUNDING;
    let each: Vec<_> = wanted
        .map(|(w, magnitude)| {
            // A value that is too large for U is an infinity in U.
            let rounded = U::of(w).value();
            let scale = w.abs().max(U::NORMAL) + accumulation / tolerance * magnitude;
            if w.is_finite() && rounded.is_infinite() { (rounded, 1.0) } else { (w, scale) }
        })
        .collect();
    verdict::scaled(&found, each.into_iter(), tolerance)
}

impl<T: Multiply + Entry> Product<T>
where
    T::Product: Entry,
{
    fn check(&mut self) -> Result<Verdict> {
        let [m, n, k] = self.extents;
        let all = self.c.read()?;
        let rows = sampled(m, n * k);
        let found: Vec<T::Product> = rows.iter().flat_map(|&r| all[r * n..(r + 1) * n].iter().copied()).collect();
        if T::DTYPE == DType::I8 {
            return Ok(self.exact(&found, &rows));
        }
        let activated = |(w, magnitude): (f64, f64)| match self.how.epilogue {
            Epilogue::Relu if w < 0.0 => (0.0, magnitude),
            Epilogue::LeakyRelu(slope) if w < 0.0 => (slope as f64 * w, magnitude),
            _ => (w, magnitude),
        };
        let sums = reference::product(&self.host.0, &self.host.1, k, n, &rows);
        let mut verdict = if self.how.precision == Precision::Tf32 {
            self.of_tf32(&found, &sums)
        } else if T::DTYPE == DType::F32 {
            let wanted: Vec<f64> = sums.iter().map(|&s| activated(s).0).collect();
            let found: Vec<f64> =
                found.iter().zip(&sums).zip(&wanted).map(|((v, s), &w)| of_f32(v.value(), s.0, w)).collect();
            let tolerance = accuracy_of_f32(found.len(), k, self.cut_off);
            verdict::normwise(&found, &wanted, tolerance)
        } else {
            judge(&found, sums.into_iter().map(activated), accumulation(T::DTYPE, k))
        };
        if let Some((i, ..)) = &mut verdict.first {
            *i = rows[*i / n] * n + *i % n;
        }
        Ok(verdict)
    }

    /// Each element by the magnitudes of its terms. Of many elements the norm, too: the errors of their terms are of
    /// either sign.
    fn of_tf32(&self, found: &[T::Product], sums: &[(f64, f64)]) -> Verdict {
        let [_, _, k] = self.extents;
        let largest = |v: &[f32]| v.iter().filter(|v| v.is_finite()).fold(1.0, |m: f32, v| m.max(v.abs())) as f64;
        // A denormal operand is off by as much as the smallest normal number.
        let denormals = k as f64 * T::NORMAL * largest(&self.host.0).max(largest(&self.host.1));
        let found: Vec<f64> = found.iter().map(|v| v.value()).collect();
        let product = product_of_tf32(self.truncated);
        let each: Vec<_> = sums.iter().map(|&(w, magnitude)| (w, magnitude + denormals)).collect();
        let each = verdict::scaled(&found, each.into_iter(), product + accumulation(DType::F32, k));
        if !each.passed() || found.len() < 1024 {
            return each;
        }
        let wanted: Vec<f64> = sums.iter().map(|s| s.0).collect();
        verdict::normwise(&found, &wanted, product + accuracy_of_f32(found.len(), k, self.cut_off))
    }

    /// Of integers, which wrap.
    fn exact(&self, found: &[T::Product], rows: &[usize]) -> Verdict {
        let [_, n, k] = self.extents;
        let ints = |v: &[f32]| v.iter().map(|&v| v as i32).collect::<Vec<_>>();
        let (a, b) = (ints(&self.host.0), ints(&self.host.1));
        let wanted = int_products(&a, &b, k, n, rows);
        let wanted: Vec<f64> =
            wanted.into_iter().map(|w| if self.how.epilogue == Epilogue::Relu { w.max(0) } else { w } as f64).collect();
        verdict::exact(&found.iter().map(|v| v.value()).collect::<Vec<_>>(), &wanted)
    }
}

pub(super) fn int_products(a: &[i32], b: &[i32], k: usize, n: usize, rows: &[usize]) -> Vec<i32> {
    let row = |i: usize| {
        let mut out = vec![0i32; n];
        for (x, b) in a[i * k..(i + 1) * k].iter().zip(b.chunks(n.max(1))) {
            out.iter_mut().zip(b).for_each(|(o, y)| *o = o.wrapping_add(x.wrapping_mul(*y)));
        }
        out
    };
    tilewright_core::cpu::parallel_map(rows.len(), |i| row(rows[i])).concat()
}

fn problem<T: Multiply + Entry>(
    rt: &Runtime,
    s: &Setup,
    how: How,
    launch: fn(&mut Product<T>, &ExecOptions) -> Result<()>,
) -> Boxed
where
    T::Product: Entry,
{
    let extents = [s.size[0], s.size[1], s.size[2]].map(|n| n as usize);
    let [m, n, k] = extents;
    let mut rng = data::Rng::new(s.seed);
    let (a, b) = operands::<T>(&mut rng, s, extents)?;
    let host = (floats_of(&a), floats_of(&b));
    let place = |v: Vec<T>, rows, cols, transposed| match transposed {
        true => Matrix::new(rt, s, &reference::transpose(&v, rows, cols), [1, cols, rows]),
        false => Matrix::new(rt, s, &v, [1, rows, cols]),
    };
    let (a, b) = (place(a, m, k, how.transpose.a)?, place(b, k, n, how.transpose.b)?);
    let c = Matrix::poisoned(rt, s, [1, m, n])?;
    let bytes = (m * k + k * n) * size_of::<T>() + m * n * size_of::<T::Product>();
    Ok(Box::new(Prepared {
        work: Work { bytes: bytes as u64, flops: 2 * (m * n * k) as u64 },
        state: Product { host, extents, a, b, c, how, cut_off: rt.kind() == BackendKind::Cuda, truncated: true },
        launch,
        check: Product::check,
        outputs: |s| Ok(vec![Output::of("c", &s.c.read()?)]),
    }))
}

fn matmul_of<'a, T: Multiply + Entry>(s: &'a mut Product<T>, on: &ExecOptions) -> Result<Matmul<'a, T>>
where
    T::Product: Entry,
{
    s.truncated = truncates(on, s.how.transpose);
    let How { transpose, epilogue, .. } = s.how;
    Ok(Matmul::new(s.a.view()?, s.b.view()?, s.c.view_mut()?).transpose(transpose).epilogue(epilogue))
}

fn launch<T: Multiply + Entry>(s: &mut Product<T>, on: &ExecOptions) -> Result<()>
where
    T::Product: Entry,
{
    matmul_of(s, on)?.launch(on)
}

fn launch_f32(s: &mut Product<f32>, on: &ExecOptions) -> Result<()> {
    let precision = s.how.precision;
    matmul_of(s, on)?.precision(precision).launch(on)
}

fn by_dtype(rt: &Runtime, s: &Setup, how: How) -> Boxed {
    match s.dtype {
        DType::F16 => problem::<f16>(rt, s, how, launch),
        DType::BF16 => problem::<bf16>(rt, s, how, launch),
        DType::I8 => problem::<i8>(rt, s, how, launch),
        DType::F8E4M3 => problem::<f8e4m3>(rt, s, how, launch),
        DType::F8E5M2 => problem::<f8e5m2>(rt, s, how, launch),
        _ => problem::<f32>(rt, s, how, launch_f32),
    }
}

pub fn matmul<const A: bool, const B: bool>(rt: &Runtime, s: &Setup) -> Boxed {
    by_dtype(rt, s, How { transpose: Transpose { a: A, b: B }, ..PLAIN })
}

pub fn tf32<const A: bool, const B: bool>(rt: &Runtime, s: &Setup) -> Boxed {
    let how = How { transpose: Transpose { a: A, b: B }, precision: Precision::Tf32, ..PLAIN };
    problem::<f32>(rt, s, how, launch_f32)
}

pub fn relu(rt: &Runtime, s: &Setup) -> Boxed {
    by_dtype(rt, s, How { epilogue: Epilogue::Relu, ..PLAIN })
}

pub fn leaky_relu(rt: &Runtime, s: &Setup) -> Boxed {
    by_dtype(rt, s, How { epilogue: Epilogue::LeakyRelu(SLOPE), ..PLAIN })
}

pub fn matrix_multiplication(rt: &Runtime, s: &Setup) -> Boxed {
    problem::<f32>(rt, s, How { precision: Precision::F32, ..PLAIN }, launch_f32)
}
