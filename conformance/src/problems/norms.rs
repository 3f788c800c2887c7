//! layer_norm, rms_norm, add_rms_norm, and the gradients of the first two.

use super::Boxed;
use super::number::{Number, by_dtype};
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::reference::{NormRow, norm_row};
use crate::{data, verdict};
use tilewright_core::Element;
use tilewright_ops::{self as ops, Normalize};
use tilewright_runtime::{Result, Runtime};

/// Beside the rounding of the result, of sums in f32.
const SUMS: f64 = 2e-5;

struct Norms<T> {
    columns: usize,
    eps: f32,
    /// `x`, for `add_rms_norm` that and `residual`.
    host: Vec<T>,
    residual_host: Vec<T>,
    weight_host: Vec<T>,
    bias_host: Vec<T>,
    dy_host: Vec<T>,
    x: Guarded<T>,
    residual: Guarded<T>,
    weight: Guarded<T>,
    bias: Guarded<T>,
    dy: Guarded<T>,
    /// `y`, or the gradient of `x`.
    y: Guarded<T>,
    sum: Guarded<T>,
    dw: Guarded<T>,
    db: Guarded<T>,
}

/// The arrays that an operation has beside `x` and `weight`. The others have no elements.
#[derive(Clone, Copy, Default)]
struct Has {
    bias: bool,
    residual: bool,
    gradient: bool,
}

fn state<T: Number + Element>(rt: &Runtime, s: &Setup, has: Has) -> Result<(Work, Norms<T>)> {
    let (rows, columns) = (s.size[0] as usize, s.size[1] as usize);
    let mut rng = data::Rng::new(s.seed);
    let mut input = |name: &str, n: usize, is: bool| -> Result<Vec<T>> {
        if !is {
            return Ok(vec![]);
        }
        let make = if s.awkward && name == "x" { data::awkward_floats } else { data::floats };
        s.input(name, n, || make(&mut rng, n, -3.0, 3.0).into_iter().map(T::of).collect())
    };
    let n = rows * columns;
    let host = input("x", n, true)?;
    let weight_host = input("weight", columns, true)?;
    let bias_host = input("bias", columns, has.bias)?;
    let residual_host = input("residual", n, has.residual)?;
    let dy_host = input("dy", n, has.gradient)?;
    let read = |v: &[T]| Guarded::new(rt, v, T::NAN, s.odd);
    let written =
        |n: usize, is: bool| Guarded::new(rt, &vec![s.unwritten(T::NAN); if is { n } else { 0 }], T::NAN, s.odd);
    let arrays = 2 + usize::from(has.gradient) + 2 * usize::from(has.residual);
    let work = Work { bytes: (arrays * n * size_of::<T>()) as u64, flops: 0 };
    let state = Norms {
        columns,
        eps: s.scalar("eps", 1e-5)?,
        x: read(&host)?,
        weight: read(&weight_host)?,
        bias: read(&bias_host)?,
        residual: read(&residual_host)?,
        dy: read(&dy_host)?,
        y: written(n, true)?,
        sum: written(n, has.residual)?,
        dw: written(columns, has.gradient)?,
        db: written(columns, has.gradient && has.bias)?,
        host,
        weight_host,
        bias_host,
        residual_host,
        dy_host,
    };
    Ok((work, state))
}

fn numbers<T: Number>(v: &[T]) -> Vec<f64> {
    v.iter().map(|&v| v.into()).collect()
}

/// The norms of rows, with the unit of an element's error.
fn rows_of<T: Number>(s: &Norms<T>, x: &[f64], centered: bool) -> Vec<NormRow> {
    x.chunks(s.columns.max(1)).map(|row| norm_row(row, f64::from(s.eps), centered)).collect()
}

fn judge<T: Number>(found: &[T], wanted: Vec<(f64, f64)>) -> verdict::Verdict {
    // Below the normal numbers the spacing no longer shrinks.
    let wanted: Vec<_> = wanted.into_iter().map(|(w, scale)| (w, scale.max(w.abs()).max(T::NORMAL))).collect();
    verdict::scaled(&numbers(found), wanted.into_iter(), T::ROUNDING * 1.01 + SUMS)
}

fn check_norm<T: Number>(s: &Norms<T>, x: &[f64], centered: bool) -> Result<verdict::Verdict> {
    let (weight, bias) = (numbers(&s.weight_host), numbers(&s.bias_host));
    let of_row = |row: NormRow| {
        let of = |(c, (n, off)): (usize, (f64, f64))| {
            let b = bias.get(c).copied().unwrap_or(0.0);
            (n * weight[c] + b, off * weight[c].abs() + b.abs())
        };
        row.normal.into_iter().zip(row.off).enumerate().map(of).collect::<Vec<_>>()
    };
    Ok(judge(&s.y.read()?, rows_of(s, x, centered).into_iter().flat_map(of_row).collect()))
}

fn check_gradient<T: Number>(s: &Norms<T>, centered: bool) -> Result<verdict::Verdict> {
    let (weight, dy) = (numbers(&s.weight_host), numbers(&s.dy_host));
    let mut dx = vec![];
    let (mut dw, mut db) = (vec![(0.0, 0.0); s.columns], vec![(0.0, 0.0); s.columns]);
    for (r, row) in rows_of(s, &numbers(&s.host), centered).into_iter().enumerate() {
        let g = &dy[r * s.columns..][..s.columns];
        let n = s.columns as f64;
        let scaled: Vec<f64> = g.iter().zip(&weight).map(|(g, w)| g * w).collect();
        let mean = |f: &dyn Fn(usize) -> f64| (0..s.columns).map(f).sum::<f64>() / n;
        let (along, along_off) = (mean(&|c| row.normal[c] * scaled[c]), mean(&|c| row.off[c] * scaled[c].abs()));
        let (across, across_off) =
            if centered { (mean(&|c| scaled[c]), mean(&|c| scaled[c].abs())) } else { (0.0, 0.0) };
        for c in 0..s.columns {
            let off = scaled[c].abs() + across_off + row.off[c] * along_off;
            dx.push(((scaled[c] - across - row.normal[c] * along) * row.scale, off * row.scale));
            dw[c] = (dw[c].0 + g[c] * row.normal[c], dw[c].1 + g[c].abs() * row.off[c]);
            db[c] = (db[c].0 + g[c], db[c].1 + g[c].abs());
        }
    }
    let of_parameters = judge(&s.dw.read()?, dw);
    let of_parameters = if centered { verdict::worse(of_parameters, judge(&s.db.read()?, db)) } else { of_parameters };
    Ok(verdict::worse(judge(&s.y.read()?, dx), of_parameters))
}

pub fn layer_norm(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + Normalize>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, state) = state::<T>(rt, s, Has { bias: true, ..Has::default() })?;
        Ok(Box::new(Prepared {
            work,
            state,
            launch: |s: &mut Norms<T>, on| {
                ops::layer_norm(on, s.x.get()?, s.weight.get()?, s.bias.get()?, s.y.get_mut()?, s.eps)
            },
            check: |s| check_norm(s, &numbers(&s.host), true),
            outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

pub fn rms_norm(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + Normalize>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, state) = state::<T>(rt, s, Has::default())?;
        Ok(Box::new(Prepared {
            work,
            state,
            launch: |s: &mut Norms<T>, on| ops::rms_norm(on, s.x.get()?, s.weight.get()?, s.y.get_mut()?, s.eps),
            check: |s| check_norm(s, &numbers(&s.host), false),
            outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

pub fn add_rms_norm(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + Normalize>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, state) = state::<T>(rt, s, Has { residual: true, ..Has::default() })?;
        Ok(Box::new(Prepared {
            work,
            state,
            launch: |s: &mut Norms<T>, on| {
                let (x, residual, weight) = (s.x.get()?, s.residual.get()?, s.weight.get()?);
                ops::add_rms_norm(on, x, residual, weight, s.sum.get_mut()?, s.y.get_mut()?, s.eps)
            },
            check: |s| {
                // The sum is rounded, so that the norm is one of the rounded sum.
                let (x, residual) = (numbers(&s.host), numbers(&s.residual_host));
                let sums: Vec<T> = x.iter().zip(&residual).map(|(a, b)| T::of(*a as f32 + *b as f32)).collect();
                let exact = numbers(&sums);
                let sum = verdict::relative(&numbers(&s.sum.read()?), &exact, T::NORMAL, 0.0);
                Ok(verdict::worse(check_norm(s, &exact, false)?, sum))
            },
            outputs: |s| Ok(vec![Output::of("sum", &s.sum.read()?), Output::of("y", &s.y.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

pub fn layer_norm_backward(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + Normalize>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, state) = state::<T>(rt, s, Has { bias: true, gradient: true, ..Has::default() })?;
        Ok(Box::new(Prepared {
            work,
            state,
            launch: |s: &mut Norms<T>, on| {
                let (x, weight, dy) = (s.x.get()?, s.weight.get()?, s.dy.get()?);
                let (dx, dw, db) = (s.y.get_mut()?, s.dw.get_mut()?, s.db.get_mut()?);
                ops::layer_norm_backward(on, x, weight, dy, dx, dw, db, s.eps)
            },
            check: |s| check_gradient(s, true),
            outputs: |s| {
                let (dw, db) = (Output::of("dw", &s.dw.read()?), Output::of("db", &s.db.read()?));
                Ok(vec![Output::of("dx", &s.y.read()?), dw, db])
            },
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

pub fn rms_norm_backward(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + Normalize>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, state) = state::<T>(rt, s, Has { gradient: true, ..Has::default() })?;
        Ok(Box::new(Prepared {
            work,
            state,
            launch: |s: &mut Norms<T>, on| {
                let (x, weight, dy) = (s.x.get()?, s.weight.get()?, s.dy.get()?);
                ops::rms_norm_backward(on, x, weight, dy, s.y.get_mut()?, s.dw.get_mut()?, s.eps)
            },
            check: |s| check_gradient(s, false),
            outputs: |s| Ok(vec![Output::of("dx", &s.y.read()?), Output::of("dw", &s.dw.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}
