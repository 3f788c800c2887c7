//! softmax_1d, softmax_rows.

use super::{Boxed, widen};
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::{data, reference, verdict};
use tilewright_core::cpu::parallel_map;
use tilewright_ops as ops;
use tilewright_runtime::{Result, Runtime};

struct Softmax {
    host: Vec<f32>,
    rows: usize,
    cols: usize,
    x: Guarded<f32>,
    y: Guarded<f32>,
}

fn state(rt: &Runtime, s: &Setup, rows: usize, cols: usize) -> Result<(Work, Softmax)> {
    let n = rows * cols;
    let mut rng = data::Rng::new(s.seed);
    let mut host = s.input("x", n, || data::floats(&mut rng, n, -8.0, 8.0))?;
    if s.awkward {
        // Masked-out elements, as attention has them. A row of nothing else is NaN, by 0 / 0.
        host.iter_mut().for_each(|v| {
            if rng.below(3) == 0 {
                *v = f32::NEG_INFINITY
            }
        });
    }
    let x = Guarded::new(rt, &host, f32::NAN, s.odd)?;
    let y = Guarded::new(rt, &vec![s.unwritten(f32::NAN); n], f32::NAN, s.odd)?;
    Ok((Work { bytes: 8 * n as u64, flops: 0 }, Softmax { host, rows, cols, x, y }))
}

fn check(s: &mut Softmax) -> Result<verdict::Verdict> {
    let wanted: Vec<f64> = match s.cols {
        0 => Vec::new(),
        cols => parallel_map(s.host.len() / cols, |i| reference::softmax(&s.host[i * cols..][..cols])).concat(),
    };
    // An exponent of up to 16 carries its own rounding error into the exponential.
    Ok(verdict::relative(&widen(&s.y.read()?), &wanted, 1e-37, 1e-5))
}

fn outputs(s: &Softmax) -> Result<Vec<Output>> {
    Ok(vec![Output::of("y", &s.y.read()?)])
}

pub fn softmax_1d(rt: &Runtime, s: &Setup) -> Boxed {
    let (work, state) = state(rt, s, 1, s.size[0] as usize)?;
    Ok(Box::new(Prepared {
        work,
        state,
        launch: |s: &mut Softmax, on| ops::softmax_1d(on, s.x.get()?, s.y.get_mut()?),
        check,
        outputs,
    }))
}

pub fn softmax_rows(rt: &Runtime, s: &Setup) -> Boxed {
    let (work, state) = state(rt, s, s.size[0] as usize, s.size[1] as usize)?;
    let launch =
        |s: &mut Softmax, on: &ops::ExecOptions| ops::softmax_rows(on, s.x.get()?, s.y.get_mut()?, s.rows, s.cols);
    Ok(Box::new(Prepared { work, state, launch, check, outputs }))
}
