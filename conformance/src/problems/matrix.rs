//! Matrices of every element type, with guards around them and between their rows.

use crate::data;
use crate::guarded::Guarded;
use crate::pattern::Pattern;
use crate::problem::{Gaps, Setup};
use tilewright_core::{DType, ViewArg, ViewMutArg, Width, bf16, f8e4m3, f8e5m2, f16};
use tilewright_runtime::{Error, Result, Runtime};

/// An element of a matrix.
pub(super) trait Entry: Pattern + PartialEq + data::Number {
    fn value(self) -> f64;
    /// The value of outputs before they are written, and of elements between rows.
    const POISON: Self;
    /// Half an ulp, relative; 0 for integers.
    const ROUNDING: f64;
    /// The smallest normal number.
    const NORMAL: f64;

    fn is_poison(self) -> bool {
        self == Self::POISON || self.value().is_nan() && Self::POISON.value().is_nan()
    }
}

macro_rules! entries { ($($t:ty: $value:expr, $poison:expr, $rounding:expr, $normal:expr;)*) => { $(impl Entry for $t {
    fn value(self) -> f64 { $value(self) }
    const POISON: Self = $poison;
    const ROUNDING: f64 = $rounding;
    const NORMAL: f64 = $normal;
})* } }
entries! {
    f32: |v| v as f64, f32::NAN, 5.97e-8, 1.18e-38;
    f16: f16::to_f64, f16::NAN, 4.89e-4, 6.11e-5;
    bf16: bf16::to_f64, bf16::NAN, 3.91e-3, 1.18e-38;
    f8e4m3: |v: f8e4m3| v.to_f32() as f64, f8e4m3(0x7f), 6.25e-2, 1.57e-2;
    f8e5m2: |v: f8e5m2| v.to_f32() as f64, f8e5m2(0x7f), 0.125, 6.11e-5;
    i8: |v| v as f64, -77, 0.0, 0.0;
    i32: |v| v as f64, -77_777, 0.0, 0.0;
    u8: |v| v as f64, 0xA5, 0.0, 0.0;
    u16: |v| v as f64, 0xA5A5, 0.0, 0.0;
    u32: |v| v as f64, 0xA5A5_A5A5, 0.0, 0.0;
}

/// Rows that lie `pitch` elements apart, in batches one after another.
pub(super) struct Matrix<T> {
    data: Guarded<T>,
    batch: usize,
    rows: usize,
    cols: usize,
    pitch: usize,
}

/// Elements from row to row.
pub(super) fn pitch<T>(s: &Setup, cols: usize) -> usize {
    let vectors = cols.next_multiple_of(16);
    match s.gaps {
        Gaps::None => cols,
        Gaps::Vectors => vectors + 16,
        Gaps::DoubleWords => vectors + Width::DoubleWords.bytes().div_ceil(size_of::<T>()),
        Gaps::Words => vectors + Width::Words.bytes().div_ceil(size_of::<T>()),
    }
}

impl<T: Entry> Matrix<T> {
    pub fn new(rt: &Runtime, s: &Setup, host: &[T], [batch, rows, cols]: [usize; 3]) -> Result<Self> {
        let pitch = pitch::<T>(s, cols);
        let mut all = vec![T::POISON; batch * rows * pitch];
        for (to, from) in all.chunks_mut(pitch.max(1)).zip(host.chunks(cols.max(1))) {
            to[..cols].copy_from_slice(from);
        }
        Ok(Matrix { data: Guarded::new(rt, &all, T::POISON, s.odd)?, batch, rows, cols, pitch })
    }

    pub fn poisoned(rt: &Runtime, s: &Setup, extents: [usize; 3]) -> Result<Self> {
        Self::new(rt, s, &vec![s.unwritten(T::POISON); extents.iter().product()], extents)
    }

    fn strides(&self) -> [usize; 3] {
        [self.rows * self.pitch, self.pitch, 1]
    }

    fn extents(&self) -> [usize; 3] {
        [self.batch, self.rows, self.cols]
    }

    /// The first of the batch.
    pub fn view(&self) -> Result<ViewArg<'_, T, 2>> {
        let ([_, r, c], [_, s, t]) = (self.extents(), self.strides());
        Ok(self.data.get()?.strided([r, c], [s, t])?)
    }

    pub fn view_mut(&mut self) -> Result<ViewMutArg<'_, T, 2>> {
        let ([_, r, c], [_, s, t]) = (self.extents(), self.strides());
        Ok(self.data.get_mut()?.strided([r, c], [s, t])?)
    }

    pub fn batch(&self) -> Result<ViewArg<'_, T, 3>> {
        Ok(self.data.get()?.strided(self.extents(), self.strides())?)
    }

    /// The transposes of all matrices of the batch.
    pub fn transposes(&self) -> Result<ViewArg<'_, T, 3>> {
        let ([batch, rows, cols], [step, row, element]) = (self.extents(), self.strides());
        Ok(self.data.get()?.strided([batch, cols, rows], [step, element, row])?)
    }

    pub fn batch_mut(&mut self) -> Result<ViewMutArg<'_, T, 3>> {
        let (extents, strides) = (self.extents(), self.strides());
        Ok(self.data.get_mut()?.strided(extents, strides)?)
    }

    /// Row by row, without the gaps; an error where a gap was written.
    pub fn read(&self) -> Result<Vec<T>> {
        let all = self.data.read()?;
        let mut out = Vec::with_capacity(self.batch * self.rows * self.cols);
        for (i, row) in all.chunks(self.pitch.max(1)).enumerate() {
            let (row, gap) = row.split_at(self.cols);
            if !gap.iter().all(|v| v.is_poison()) {
                return Err(Error::Tuning {
                    what: "conformance".into(),
                    why: format!("something was written past the end of row {i}"),
                });
            }
            out.extend(row);
        }
        Ok(out)
    }
}

/// A, `m x k`, and B, `k x n`: the given ones, or random ones, if `awkward` both with special values.
pub(super) fn operands<T: Entry>(rng: &mut data::Rng, s: &Setup, [m, n, k]: [usize; 3]) -> Result<(Vec<T>, Vec<T>)> {
    match s.given {
        Some(row) => Ok((row.input("a", m * k)?, row.input("b", k * n)?)),
        None => Ok(random_operands(rng, [m, n, k], s.awkward)),
    }
}

pub(super) fn random_operands<T: Entry>(rng: &mut data::Rng, [m, n, k]: [usize; 3], awkward: bool) -> (Vec<T>, Vec<T>) {
    let (mut a, mut b) = (data::entries::<T>(rng, m * k), data::entries::<T>(rng, k * n));
    if !awkward || m * n * k == 0 || T::ROUNDING == 0.0 {
        return (a, b);
    }
    // A row and a column of denormals alone: taken for zeros they would make zeros. Of f32 they would be lost in the
    // norm of all.
    if T::DTYPE != DType::F32 {
        let small = |v: &mut T| *v = T::of(v.value() * T::NORMAL / 4.0);
        let (row, col) = (rng.below(m as u64) as usize, rng.below(n as u64) as usize);
        a[row * k..][..k].iter_mut().for_each(small);
        b[col..].iter_mut().step_by(n).for_each(small);
    }
    specials(rng, &mut a);
    specials(rng, &mut b);
    (a, b)
}

/// Puts in numbers that arithmetic treats specially, so few that sums without them are left.
pub(super) fn specials<T: Entry>(rng: &mut data::Rng, v: &mut [T]) {
    let all = [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 60_000.0, -0.0, T::NORMAL / 4.0, T::NORMAL / -4.0];
    // A sum of denormals alone is not to be as accurate as others.
    let all = if v.len() < 64 { &all[..5] } else { &all };
    let first = rng.below(all.len() as u64) as usize;
    for i in 0..all.len().min(v.len().div_ceil(16)) {
        v[rng.below(v.len() as u64) as usize] = T::of(all[(first + i) % all.len()]);
    }
}

pub(super) fn floats_of<T: Entry>(v: &[T]) -> Vec<f32> {
    v.iter().map(|v| v.value() as f32).collect()
}
