//! reverse_array, color_inversion, matrix_transpose.

use super::Boxed;
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::{data, reference, verdict};
use tilewright_ops as ops;
use tilewright_runtime::Runtime;

struct InPlace<T> {
    wanted: Vec<T>,
    x: Guarded<T>,
    width: usize,
    height: usize,
}

pub fn reverse_array(rt: &Runtime, s: &Setup) -> Boxed {
    let n = s.size[0] as usize;
    let mut host = s.input("x", n, || data::floats(&mut data::Rng::new(s.seed), n, -1.0, 1.0))?;
    let x = Guarded::new(rt, &host, 7.25, s.odd)?;
    host.reverse();
    Ok(Box::new(Prepared {
        work: Work { bytes: 8 * n as u64, flops: 0 },
        state: InPlace { wanted: host, x, width: 0, height: 0 },
        launch: |s: &mut InPlace<f32>, on| ops::reverse_array(on, s.x.get_mut()?),
        check: |s| Ok(verdict::exact(&s.x.read()?, &s.wanted)),
        outputs: |s| Ok(vec![Output::of("x", &s.x.read()?)]),
    }))
}

pub fn color_inversion(rt: &Runtime, s: &Setup) -> Boxed {
    let (width, height) = (s.size[0] as usize, s.size[1] as usize);
    let bytes = 4 * width * height;
    let mut host = s.input("x", bytes, || data::bytes(&mut data::Rng::new(s.seed), bytes))?;
    let x = Guarded::new(rt, &host, 0xA5, s.odd)?;
    for pixel in host.chunks_exact_mut(4) {
        pixel[..3].iter_mut().for_each(|c| *c = 255 - *c);
    }
    Ok(Box::new(Prepared {
        work: Work { bytes: (8 * width * height) as u64, flops: 0 },
        state: InPlace { wanted: host, x, width, height },
        launch: |s: &mut InPlace<u8>, on| ops::color_inversion(on, s.x.get_mut()?, s.width, s.height),
        check: |s| Ok(verdict::exact(&s.x.read()?, &s.wanted)),
        outputs: |s| Ok(vec![Output::of("x", &s.x.read()?)]),
    }))
}

struct Transpose {
    host: Vec<f32>,
    rows: usize,
    cols: usize,
    x: Guarded<f32>,
    y: Guarded<f32>,
}

pub fn matrix_transpose(rt: &Runtime, s: &Setup) -> Boxed {
    let (rows, cols) = (s.size[0] as usize, s.size[1] as usize);
    let n = rows * cols;
    let host = s.input("x", n, || data::floats(&mut data::Rng::new(s.seed), n, -1.0, 1.0))?;
    let x = Guarded::new(rt, &host, f32::NAN, s.odd)?;
    let y = Guarded::new(rt, &vec![s.unwritten(f32::NAN); n], f32::NAN, s.odd)?;
    Ok(Box::new(Prepared {
        work: Work { bytes: 8 * n as u64, flops: 0 },
        state: Transpose { host, rows, cols, x, y },
        launch: |s: &mut Transpose, on| ops::matrix_transpose(on, s.x.get()?, s.y.get_mut()?, s.rows, s.cols),
        check: |s| {
            let wanted = reference::transpose(&s.host, s.rows, s.cols);
            Ok(verdict::exact(&s.y.read()?, &wanted))
        },
        outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
    }))
}
