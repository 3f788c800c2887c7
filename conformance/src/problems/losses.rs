//! cross_entropy and its gradient.

use super::Boxed;
use super::number::{Number, by_dtype, numbers};
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::{data, verdict};
use tilewright_core::Element;
use tilewright_ops::{self as ops, Logit};
use tilewright_runtime::{Result, Runtime};

/// The relative error of a logarithm of a sum in f32.
const SUMS: f64 = 4e-6;

struct Losses<T> {
    classes: usize,
    host: Vec<T>,
    targets_host: Vec<i32>,
    lse_host: Vec<f32>,
    d_losses_host: Vec<f32>,
    logits: Guarded<T>,
    targets: Guarded<i32>,
    lse: Guarded<f32>,
    /// The losses, or their gradient.
    losses: Guarded<f32>,
    d_logits: Guarded<T>,
}

/// The logarithm of the sum of exponentials. An infinite maximum and no summands give NaN and negative infinity.
fn log_sum(row: &[f64]) -> f64 {
    let top = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if row.iter().any(|v| v.is_nan()) || top == f64::INFINITY {
        return f64::NAN;
    }
    if top == f64::NEG_INFINITY {
        return top;
    }
    top + row.iter().map(|v| (v - top).exp()).sum::<f64>().ln()
}

impl<T: Number> Losses<T> {
    /// Rows of logits, with their targets.
    fn rows(&self) -> impl Iterator<Item = (Vec<f64>, i32)> {
        self.targets_host.iter().enumerate().map(|(r, &target)| {
            let row = &self.host[r * self.classes..][..self.classes];
            (numbers(row), target)
        })
    }
}

fn state<T: Number + Element>(rt: &Runtime, s: &Setup, is_gradient: bool) -> Result<(Work, Losses<T>)> {
    let (rows, classes) = (s.size[0] as usize, s.size[1] as usize);
    let n = rows * classes;
    let mut rng = data::Rng::new(s.seed);
    let make = if s.awkward { data::awkward_floats } else { data::floats };
    let host: Vec<T> = s.input("logits", n, || make(&mut rng, n, -6.0, 6.0).into_iter().map(T::of).collect())?;
    // A row in eight is ignored, and a row in thirty-two has a target that is no class.
    let mut target = |i: usize| match (i % 8, i % 32) {
        (5, _) => -100,
        (_, 19) => classes as i32,
        _ => rng.below(classes.max(1) as u64) as i32,
    };
    let targets_host = s.input("targets", rows, || (0..rows).map(&mut target).collect())?;
    let exact = |row: &[T]| log_sum(&numbers(row)) as f32;
    let all =
        || host.chunks(classes.max(1)).map(exact).chain(std::iter::repeat(f32::NEG_INFINITY)).take(rows).collect();
    let lse_host: Vec<f32> = if is_gradient { s.input("lse", rows, all)? } else { vec![] };
    let d_losses_host: Vec<f32> =
        if is_gradient { s.input("d_losses", rows, || data::floats(&mut rng, rows, -2.0, 2.0))? } else { vec![] };
    let unwritten = s.unwritten(f32::NAN);
    let of_rows = |known: &[f32]| if is_gradient { known.to_vec() } else { vec![unwritten; rows] };
    let work = Work { bytes: ((if is_gradient { 2 } else { 1 }) * n * size_of::<T>()) as u64, flops: 0 };
    let state = Losses {
        classes,
        logits: Guarded::new(rt, &host, T::NAN, s.odd)?,
        targets: Guarded::new(rt, &targets_host, 0, s.odd)?,
        lse: Guarded::new(rt, &of_rows(&lse_host), f32::NAN, s.odd)?,
        losses: Guarded::new(rt, &of_rows(&d_losses_host), f32::NAN, s.odd)?,
        d_logits: Guarded::new(rt, &vec![s.unwritten(T::NAN); if is_gradient { n } else { 0 }], T::NAN, s.odd)?,
        host,
        targets_host,
        lse_host,
        d_losses_host,
    };
    Ok((work, state))
}

pub fn cross_entropy(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + Logit>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, state) = state::<T>(rt, s, false)?;
        Ok(Box::new(Prepared {
            work,
            state,
            launch: |s: &mut Losses<T>, on| {
                ops::cross_entropy(on, s.logits.get()?, s.targets.get()?, s.losses.get_mut()?, s.lse.get_mut()?)
            },
            check: |s| {
                let lse: Vec<f64> = s.rows().map(|(row, _)| log_sum(&row)).collect();
                let loss = |((row, target), lse): ((Vec<f64>, i32), &f64)| match usize::try_from(target) {
                    Err(_) => (0.0, 1.0),
                    Ok(t) => row.get(t).map_or((f64::NAN, 1.0), |v| (lse - v, lse.abs() + v.abs() + 1.0)),
                };
                let wanted: Vec<(f64, f64)> = s.rows().zip(&lse).map(loss).collect();
                let losses = verdict::scaled(&numbers(&s.losses.read()?), wanted.into_iter(), SUMS);
                let sums = lse.into_iter().map(|v| (v, v.abs() + 1.0));
                let sums = verdict::scaled(&numbers(&s.lse.read()?), sums, SUMS);
                Ok(verdict::worse(losses, sums))
            },
            outputs: |s| Ok(vec![Output::of("losses", &s.losses.read()?), Output::of("lse", &s.lse.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

pub fn cross_entropy_backward(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + Logit>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, state) = state::<T>(rt, s, true)?;
        Ok(Box::new(Prepared {
            work,
            state,
            launch: |s: &mut Losses<T>, on| {
                let (logits, targets, lse) = (s.logits.get()?, s.targets.get()?, s.lse.get()?);
                ops::cross_entropy_backward(on, logits, targets, lse, s.losses.get()?, s.d_logits.get_mut()?)
            },
            check: |s| {
                let mut wanted = vec![];
                for ((row, target), (lse, d)) in s.rows().zip(s.lse_host.iter().zip(&s.d_losses_host)) {
                    let (lse, d) = (f64::from(*lse), f64::from(*d));
                    for (c, v) in row.iter().enumerate() {
                        let p = (v - lse).exp();
                        let is_target = if usize::try_from(target) == Ok(c) { 1.0 } else { 0.0 };
                        // The rounding of a difference is one of its exponential.
                        let off = (p * (1.0 + v.abs() + lse.abs()) + is_target) * d.abs();
                        wanted.push(match usize::try_from(target) {
                            Err(_) => (0.0, T::NORMAL),
                            Ok(t) if t >= row.len() => (f64::NAN, T::NORMAL),
                            Ok(_) => ((p - is_target) * d, off.max(T::NORMAL)),
                        });
                    }
                }
                let found = numbers(&s.d_logits.read()?);
                Ok(verdict::scaled(&found, wanted.into_iter(), T::ROUNDING * 1.01 + SUMS))
            },
            outputs: |s| Ok(vec![Output::of("d_logits", &s.d_logits.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}
