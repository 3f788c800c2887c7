//! reduction, count_array_element, count_2d_array_element.

use super::Boxed;
use super::number::numbers;
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::{data, reference, verdict};
use tilewright_ops as ops;
use tilewright_runtime::Runtime;

struct Sum {
    host: Vec<f32>,
    x: Guarded<f32>,
    y: Guarded<f32>,
}

pub fn reduction(rt: &Runtime, s: &Setup) -> Boxed {
    let n = s.size[0] as usize;
    let host = s.input("x", n, || data::floats(&mut data::Rng::new(s.seed), n, -1.0, 1.0))?;
    let x = Guarded::new(rt, &host, f32::NAN, s.odd)?;
    let y = Guarded::new(rt, &[s.unwritten(f32::NAN)], f32::NAN, s.odd)?;
    Ok(Box::new(Prepared {
        work: Work { bytes: 4 * n as u64, flops: n as u64 },
        state: Sum { host, x, y },
        launch: |s: &mut Sum, on| ops::reduction(on, s.x.get()?, s.y.get_mut()?),
        check: |s| {
            let (sum, magnitude) = reference::sum(&s.host);
            // A lane adds its share one by one; rounding errors of either sign add up to far less than their bound.
            Ok(verdict::scaled(&numbers(&s.y.read()?), [(sum, magnitude)].into_iter(), 1e-6))
        },
        outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
    }))
}

/// The counted values. A load past the end gives 0, too.
const WANTED: [i32; 2] = [42, 0];

struct Count {
    host: Vec<i32>,
    k: i32,
    view: Option<[usize; 4]>,
    x: Guarded<i32>,
    y: Guarded<i32>,
}

pub fn count_array_element(rt: &Runtime, s: &Setup) -> Boxed {
    let n = s.size[0] as usize;
    let host = s.input("x", n, || data::small_ints(&mut data::Rng::new(s.seed), n, 100))?;
    let k = s.scalar("k", WANTED[(s.seed % 2) as usize])?;
    let x = Guarded::new(rt, &host, k, s.odd)?;
    let y = Guarded::poisoned(rt, 1, -7, s.odd)?;
    Ok(Box::new(Prepared {
        work: Work { bytes: 4 * n as u64, flops: 0 },
        state: Count { host, k, view: None, x, y },
        launch: |s: &mut Count, on| ops::count_array_element(on, s.x.get()?, s.y.get_mut()?, s.k),
        check: |s| {
            let wanted = s.host.iter().filter(|&&v| v == s.k).count() as i32;
            Ok(verdict::exact(&s.y.read()?, &[wanted]))
        },
        outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
    }))
}

/// Every other row's first `cols` elements of a matrix that is one column wider: strides of its own on both axes.
pub fn count_2d_array_element(rt: &Runtime, s: &Setup) -> Boxed {
    let (rows, cols) = (s.size[0] as usize, s.size[1] as usize);
    let pitch = if s.odd { 2 * cols + 1 } else { cols };
    let k = s.scalar("k", WANTED[(s.seed % 2) as usize])?;
    let mut host = data::small_ints(&mut data::Rng::new(s.seed), rows * pitch, 100);
    if let Some(row) = s.given {
        // Beside the matrix everything is the number that is counted.
        host.fill(k);
        let matrix = row.input::<i32>("x", rows * cols)?;
        for (to, from) in host.chunks_mut(pitch.max(1)).zip(matrix.chunks(cols.max(1))) {
            to[..cols].copy_from_slice(from);
        }
    }
    let x = Guarded::new(rt, &host, k, s.odd)?;
    let y = Guarded::poisoned(rt, 1, -7, s.odd)?;
    Ok(Box::new(Prepared {
        work: Work { bytes: (4 * rows * cols) as u64, flops: 0 },
        state: Count { host, k, view: Some([rows, cols, pitch, 1]), x, y },
        launch: |s: &mut Count, on| {
            let [rows, cols, pitch, unit] = s.view.unwrap_or_default();
            let view = s.x.get()?.strided([rows, cols], [pitch, unit])?;
            ops::count_2d_array_element(on, view, s.y.get_mut()?, s.k)
        },
        check: |s| {
            let [_, cols, pitch, _] = s.view.unwrap_or_default();
            let rows = s.host.chunks(pitch.max(1));
            let wanted = rows.flat_map(|r| &r[..cols]).filter(|&&v| v == s.k).count() as i32;
            Ok(verdict::exact(&s.y.read()?, &[wanted]))
        },
        outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
    }))
}
