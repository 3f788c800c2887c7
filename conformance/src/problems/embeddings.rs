//! embedding, rope, and their gradients.

use super::Boxed;
use super::number::{Number, by_dtype, numbers};
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::{data, verdict};
use tilewright_ops::{self as ops, Embed, Rope};
use tilewright_runtime::{Result, Runtime};

struct Lookup<T> {
    cols: usize,
    ids_host: Vec<i32>,
    ids: Guarded<i32>,
    /// The table, or the gradient of the rows that were looked up.
    read_host: Vec<T>,
    read: Guarded<T>,
    /// The gradient of the table before the launch.
    before: Vec<f32>,
    d_table: Guarded<f32>,
    y: Guarded<T>,
}

fn lookup<T: Number + Embed>(rt: &Runtime, s: &Setup, is_gradient: bool) -> Result<(Work, Lookup<T>)> {
    let [tokens, rows, cols] = [0, 1, 2].map(|i| s.size[i] as usize);
    let mut rng = data::Rng::new(s.seed);
    // An index in eight is negative, and one in thirty-two is no row.
    let mut id = |i: usize| match (i % 8, i % 32) {
        (5, _) => -1 - (i as i32),
        (_, 19) => rows as i32 + i as i32 / 32,
        _ => rng.below(rows as u64) as i32,
    };
    let ids_host = s.input("ids", tokens, || (0..tokens).map(&mut id).collect())?;
    let make = if s.awkward { data::awkward_floats } else { data::floats };
    let (name, n) = if is_gradient { ("dy", tokens * cols) } else { ("table", rows * cols) };
    let read_host: Vec<T> = s.input(name, n, || make(&mut rng, n, -6.0, 6.0).into_iter().map(T::of).collect())?;
    let n = if is_gradient { rows * cols } else { 0 };
    let before = if is_gradient { s.input("d_table", n, || data::floats(&mut rng, n, -6.0, 6.0))? } else { vec![] };
    let results = if is_gradient { 0 } else { tokens * cols };
    let state = Lookup {
        cols,
        ids: Guarded::new(rt, &ids_host, 0, s.odd)?,
        read: Guarded::new(rt, &read_host, T::NAN, s.odd)?,
        d_table: Guarded::new(rt, &before, f32::NAN, s.odd)?,
        y: Guarded::new(rt, &vec![s.unwritten(T::NAN); results], T::NAN, s.odd)?,
        ids_host,
        read_host,
        before,
    };
    let moved = tokens * cols * (size_of::<T>() + if is_gradient { 8 } else { size_of::<T>() });
    Ok((Work { bytes: moved as u64, flops: 0 }, state))
}

pub fn embedding(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + Embed>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, state) = lookup::<T>(rt, s, false)?;
        Ok(Box::new(Prepared {
            work,
            state,
            launch: |s: &mut Lookup<T>, on| ops::embedding(on, s.read.get()?, s.ids.get()?, s.y.get_mut()?, s.cols),
            check: |s| {
                let row = |&id: &i32| match usize::try_from(id) {
                    Err(_) => vec![0.0; s.cols],
                    Ok(r) => s.read_host.get(r * s.cols..(r + 1) * s.cols).map_or(vec![f64::NAN; s.cols], numbers),
                };
                let wanted: Vec<f64> = s.ids_host.iter().flat_map(row).collect();
                Ok(verdict::relative(&numbers(&s.y.read()?), &wanted, 0.0, 0.0))
            },
            outputs: |s| Ok(vec![Output::of("y", &s.y.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

pub fn embedding_backward(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Number + Embed>(rt: &Runtime, s: &Setup) -> Boxed {
        let (work, state) = lookup::<T>(rt, s, true)?;
        Ok(Box::new(Prepared {
            work,
            state,
            launch: |s: &mut Lookup<T>, on| {
                ops::embedding_backward(on, s.ids.get()?, s.read.get()?, s.d_table.get_mut()?, s.cols)
            },
            check: |s| {
                let mut wanted: Vec<(f64, f64)> = numbers(&s.before).iter().map(|&v| (v, v.abs())).collect();
                for (&id, row) in s.ids_host.iter().zip(numbers(&s.read_host).chunks(s.cols.max(1))) {
                    let Ok(first) = usize::try_from(id).map(|r| r * s.cols) else { continue };
                    for (sum, v) in wanted.iter_mut().skip(first).zip(row) {
                        *sum = (sum.0 + v, sum.1 + v.abs());
                    }
                }
                // Tokens with one index are few.
                Ok(verdict::scaled(&numbers(&s.d_table.read()?), wanted.into_iter(), 2e-6))
            },
            outputs: |s| Ok(vec![Output::of("d_table", &s.d_table.read()?)]),
        }))
    }
    by_dtype!(setup, of(rt, setup))
}

struct Rotation<T> {
    heads: usize,
    cols: usize,
    half: usize,
    /// Tokens of a sequence, where there are no positions.
    sequence: usize,
    interleaved: bool,
    back: bool,
    host: Vec<T>,
    angles: [Vec<f32>; 2],
    /// Of each token, or of none.
    positions_host: Vec<i32>,
    x: Guarded<T>,
    cosines: Guarded<f32>,
    sines: Guarded<f32>,
    positions: Guarded<i32>,
    y: Guarded<T>,
}

impl<T: Number + Embed> Rotation<T> {
    fn new(rt: &Runtime, s: &Setup, interleaved: bool, back: bool) -> Result<(Work, Rotation<T>)> {
        let [tokens, heads, cols] = [0, 1, 2].map(|i| s.size[i] as usize);
        let n = tokens * heads * cols;
        let given = s.given.is_some();
        // Half of the elements in pairs where there are three divisors more: the others are copied.
        let half = if cols.is_multiple_of(12) && !given { cols / 4 } else { cols / 2 };
        let rows = if given { tokens } else { tokens / 2 + 1 };
        let mut rng = data::Rng::new(s.seed);
        let make = if s.awkward { data::awkward_floats } else { data::floats };
        let name = if back { "dy" } else { "x" };
        let host: Vec<T> = s.input(name, n, || make(&mut rng, n, -6.0, 6.0).into_iter().map(T::of).collect())?;
        let of_angles = data::floats(&mut rng, rows * half, -7.0, 7.0);
        let angles = [("cosines", f32::cos as fn(f32) -> f32), ("sines", f32::sin)];
        let [cosines, sines] = angles
            .map(|(name, of)| s.input(name, rows * half, || of_angles.iter().map(|&a| of(a)).collect::<Vec<f32>>()));
        let angles = [cosines?, sines?];
        let with_positions = if given || tokens.is_multiple_of(2) { tokens } else { 0 };
        // A position in sixteen is no row.
        let mut position = |i: usize| match i % 16 {
            7 => {
                if i % 32 == 7 {
                    -1
                } else {
                    rows as i32
                }
            }
            _ => rng.below(rows as u64) as i32,
        };
        let made = || (0..with_positions).map(&mut position).collect();
        let positions_host = s.input("positions", with_positions, made)?;
        let state = Rotation {
            heads,
            cols,
            half,
            sequence: rows.saturating_sub(1).max(1),
            interleaved,
            back,
            x: Guarded::new(rt, &host, T::NAN, s.odd)?,
            cosines: Guarded::new(rt, &angles[0], f32::NAN, s.odd)?,
            sines: Guarded::new(rt, &angles[1], f32::NAN, s.odd)?,
            positions: Guarded::new(rt, &positions_host, 0, s.odd)?,
            y: Guarded::new(rt, &vec![s.unwritten(T::NAN); n], T::NAN, s.odd)?,
            host,
            angles,
            positions_host,
        };
        Ok((Work { bytes: 2 * (n * size_of::<T>()) as u64, flops: 6 * n as u64 }, state))
    }

    fn launch(&mut self, on: &ops::ExecOptions) -> Result<()> {
        let rope = Rope::new(self.cosines.get()?, self.sines.get()?, self.half);
        let rope = rope.positions(self.positions.get()?).sequences_of(self.sequence).interleaved(self.interleaved);
        let (x, y) = (self.x.get()?, self.y.get_mut()?);
        match self.back {
            true => rope.launch_backward(on, x, y, self.heads, self.cols),
            false => rope.launch(on, x, y, self.heads, self.cols),
        }
    }

    /// Each result, and the magnitude of its summands.
    fn wanted(&self) -> Vec<(f64, f64)> {
        let (half, of_token) = (self.half, (self.heads * self.cols).max(1));
        let rows = self.angles[0].len().checked_div(half).unwrap_or(0);
        let direction = if self.back { -1.0 } else { 1.0 };
        let mut wanted: Vec<(f64, f64)> = numbers(&self.host).into_iter().map(|v| (v, 0.0)).collect();
        for (t, token) in wanted.chunks_mut(of_token).enumerate() {
            let row = match self.positions_host.get(t) {
                Some(&p) => usize::try_from(p).ok().filter(|&p| p < rows),
                None => Some(t % self.sequence),
            };
            for head in token.chunks_mut(self.cols) {
                for j in 0..half {
                    let angle = |of: &[f32]| row.map_or(f64::NAN, |r| f64::from(of[r * half + j]));
                    let (cosine, sine) = (angle(&self.angles[0]), direction * angle(&self.angles[1]));
                    let (i, k) = if self.interleaved { (2 * j, 2 * j + 1) } else { (j, half + j) };
                    let ((a, _), (b, _)) = (head[i], head[k]);
                    head[i] = (a * cosine - b * sine, (a * cosine).abs() + (b * sine).abs());
                    head[k] = (b * cosine + a * sine, (b * cosine).abs() + (a * sine).abs());
                }
            }
        }
        wanted
    }
}

/// A function of the catalog for each variant.
macro_rules! rotations { ($($name:ident: $interleaved:expr, $back:expr;)*) => { $(
    pub fn $name(rt: &Runtime, setup: &Setup) -> Boxed {
        fn of<T: Number + Embed>(rt: &Runtime, s: &Setup) -> Boxed {
            let (work, state) = Rotation::<T>::new(rt, s, $interleaved, $back)?;
            Ok(Box::new(Prepared {
                work,
                state,
                launch: |s: &mut Rotation<T>, on| s.launch(on),
                check: |s| {
                    let wanted = s.wanted().into_iter().map(|(exact, size)| {
                        // A value that is too large for T is an infinity in T.
                        let rounded: f64 = T::of(exact as f32).into();
                        // The error of two products in f32, and of the rounding to T.
                        let off = T::ROUNDING * 1.01 * exact.abs().max(T::NORMAL) + 1.3e-7 * size.max(f64::from(f32::MIN_POSITIVE));
                        (if rounded.is_finite() { exact } else { rounded }, off)
                    });
                    let wanted: Vec<_> = wanted.collect();
                    Ok(verdict::scaled(&numbers(&s.y.read()?), wanted.into_iter(), 1.0))
                },
                outputs: |s| Ok(vec![Output::of(if s.back { "dx" } else { "y" }, &s.y.read()?)]),
            }))
        }
        by_dtype!(setup, of(rt, setup))
    }
)* } }
rotations! {
    rope: false, false;
    rope_interleaved: true, false;
    rope_backward: false, true;
    rope_interleaved_backward: true, true;
}
