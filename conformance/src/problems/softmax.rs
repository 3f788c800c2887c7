//! softmax_1d, softmax_rows and its gradient.

use super::Boxed;
use super::number::{Number, by_dtype, numbers};
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::{data, reference, verdict};
use tilewright_core::Element;
use tilewright_core::cpu::parallel_map;
use tilewright_ops as ops;
use tilewright_runtime::{Result, Runtime};

/// The relative error of an exponential in f32: an exponent of up to 16 carries its own rounding error into it.
const EXPONENTIAL: f64 = 1e-5;

struct Softmax<T> {
    host: Vec<T>,
    rows: usize,
    cols: usize,
    x: Guarded<T>,
    y: Guarded<T>,
}

fn state<T: Number + Element>(rt: &Runtime, s: &Setup, rows: usize, cols: usize) -> Result<(Work, Softmax<T>)> {
    let n = rows * cols;
    let mut rng = data::Rng::new(s.seed);
    let mut host: Vec<T> = s.input("x", n, || data::floats(&mut rng, n, -8.0, 8.0).into_iter().map(T::of).collect())?;
    if s.awkward {
        // Masked-out elements, as attention has them. A row of nothing else is NaN, by 0 / 0.
        host.iter_mut().for_each(|v| {
            if rng.below(3) == 0 {
                *v = T::of(f32::NEG_INFINITY)
            }
        });
    }
    let x = Guarded::new(rt, &host, T::NAN, s.odd)?;
    let y = Guarded::new(rt, &vec![s.unwritten(T::NAN); n], T::NAN, s.odd)?;
    Ok((Work { bytes: 2 * (n * size_of::<T>()) as u64, flops: 0 }, Softmax { host, rows, cols, x, y }))
}

fn check<T: Number + Element>(s: &mut Softmax<T>) -> Result<verdict::Verdict> {
    let wanted: Vec<f64> = match s.cols {
        0 => Vec::new(),
        cols => parallel_map(s.host.len() / cols, |i| reference::softmax(&s.host[i * cols..][..cols])).concat(),
    };
    let smallest = if size_of::<T>() == 4 { 1e-37 } else { T::NORMAL };
    Ok(verdict::relative(&numbers(&s.y.read()?), &wanted, smallest, T::ROUNDING * 1.01 + EXPONENTIAL))
}

fn outputs<T: Number + Element>(s: &Softmax<T>) -> Result<Vec<Output>> {
    Ok(vec![Output::of("y", &s.y.read()?)])
}

pub fn softmax_1d(rt: &Runtime, s: &Setup) -> Boxed {
    let (work, state) = state::<f32>(rt, s, 1, s.size[0] as usize)?;
    Ok(Box::new(Prepared {
        work,
        state,
        launch: |s: &mut Softmax<f32>, on| ops::softmax_1d(on, s.x.get()?, s.y.get_mut()?),
        check,
        outputs,
    }))
}

pub fn softmax_rows(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + ops::Softmax>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, state) = state::<T>(rt, s, s.size[0] as usize, s.size[1] as usize)?;
        let launch = |s: &mut Softmax<T>, on: &ops::ExecOptions| {
            ops::softmax_rows(on, s.x.get()?, s.y.get_mut()?, s.rows, s.cols)
        };
        Ok(Box::new(Prepared { work, state, launch, check, outputs }))
    }
    by_dtype!(setup, of(rt, setup))
}

struct Gradient<T> {
    rows: usize,
    cols: usize,
    y_host: Vec<T>,
    dy_host: Vec<T>,
    y: Guarded<T>,
    dy: Guarded<T>,
    dx: Guarded<T>,
}

pub fn softmax_rows_backward(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + ops::Softmax>(rt: &Runtime, s: &Setup) -> Boxed {
        let (rows, cols) = (s.size[0] as usize, s.size[1] as usize);
        let n = rows * cols;
        let mut rng = data::Rng::new(s.seed);
        let make = if s.awkward { data::awkward_floats } else { data::floats };
        let mut input = |name: &str, low: f32, high: f32| {
            s.input(name, n, || make(&mut rng, n, low, high).into_iter().map(T::of).collect())
        };
        let (y_host, dy_host) = (input("y", 0.0, 1.0)?, input("dy", -2.0, 2.0)?);
        let state = Gradient {
            rows,
            cols,
            y: Guarded::new(rt, &y_host, T::NAN, s.odd)?,
            dy: Guarded::new(rt, &dy_host, T::NAN, s.odd)?,
            dx: Guarded::new(rt, &vec![s.unwritten(T::NAN); n], T::NAN, s.odd)?,
            y_host,
            dy_host,
        };
        Ok(Box::new(Prepared {
            work: Work { bytes: 3 * (n * size_of::<T>()) as u64, flops: 0 },
            state,
            launch: |s: &mut Gradient<T>, on| {
                ops::softmax_rows_backward(on, s.y.get()?, s.dy.get()?, s.dx.get_mut()?, s.rows, s.cols)
            },
            check: |s| {
                let mut wanted = vec![];
                for (y, dy) in s.y_host.chunks(s.cols.max(1)).zip(s.dy_host.chunks(s.cols.max(1))) {
                    let (y, dy) = (numbers(y), numbers(dy));
                    let terms = || y.iter().zip(&dy).map(|(y, d)| y * d);
                    let (along, size) = (terms().sum::<f64>(), terms().map(f64::abs).sum::<f64>());
                    wanted.extend(y.iter().zip(&dy).map(|(y, d)| {
                        // A value that is too large for T is an infinity in T.
                        let (exact, rounded) = (y * (d - along), T::of((y * (d - along)) as f32).into());
                        let off = (y.abs() * (d.abs() + size)).max(T::NORMAL);
                        (if f64::is_finite(rounded) { exact } else { rounded }, off)
                    }));
                }
                Ok(verdict::scaled(&numbers(&s.dx.read()?), wanted.into_iter(), T::ROUNDING * 1.01 + 4e-6))
            },
            outputs: |s| Ok(vec![Output::of("dx", &s.dx.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}
