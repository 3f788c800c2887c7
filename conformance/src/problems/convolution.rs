//! convolution_1d.

use super::Boxed;
use super::number::numbers;
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::{data, reference, verdict};
use tilewright_ops as ops;
use tilewright_runtime::Runtime;

struct Convolution {
    host: (Vec<f32>, Vec<f32>),
    x: Guarded<f32>,
    w: Guarded<f32>,
    y: Guarded<f32>,
}

pub fn convolution_1d(rt: &Runtime, s: &Setup) -> Boxed {
    let (n, taps) = (s.size[0] as usize, s.size[1] as usize);
    let mut rng = data::Rng::new(s.seed);
    let mut host = (
        s.input("x", n, || data::floats(&mut rng, n, -1.0, 1.0))?,
        s.input("w", taps, || data::floats(&mut rng, taps, -1.0, 1.0))?,
    );
    if s.awkward && n > 0 {
        // Every output that a tap of its own reaches is infinite; no other is.
        let at = rng.below(n as u64) as usize;
        host.0[at] = f32::INFINITY;
        host.1.iter_mut().for_each(|w| *w = w.abs() + 0.5);
    }
    let outputs = if taps == 0 || n < taps { 0 } else { n - taps + 1 };
    let x = Guarded::new(rt, &host.0, f32::INFINITY, s.odd)?;
    let w = Guarded::new(rt, &host.1, f32::NAN, s.odd)?;
    let y = Guarded::new(rt, &vec![s.unwritten(f32::NAN); outputs], f32::NAN, s.odd)?;
    Ok(Box::new(Prepared {
        work: Work { bytes: 4 * (n + taps + outputs) as u64, flops: 2 * (outputs * taps) as u64 },
        state: Convolution { host, x, w, y },
        launch: |s: &mut Convolution, on| ops::convolution_1d(on, s.x.get()?, s.w.get()?, s.y.get_mut()?),
        check: |s| {
            let wanted = reference::convolution(&s.host.0, &s.host.1);
            Ok(verdict::scaled(&numbers(&s.y.read()?), wanted.into_iter(), 2e-6))
        },
        outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
    }))
}
