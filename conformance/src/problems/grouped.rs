//! grouped_matmul, with matrices and with their transposes.

use super::Boxed;
use super::matmul::{accumulation, judge, sampled};
use super::matrix::{Entry, Matrix, floats_of, random_operands};
use crate::data;
use crate::guarded::Guarded;
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::reference;
use tilewright_core::{DType, bf16, f16};
use tilewright_ops::{self as ops, GroupMultiply};
use tilewright_runtime::{Result, Runtime};

struct Groups<T> {
    host: (Vec<f32>, Vec<f32>),
    extents: [usize; 4],
    ends_host: Vec<i32>,
    a: Matrix<T>,
    b: Matrix<T>,
    ends: Guarded<i32>,
    c: Guarded<T>,
    unwritten: T,
}

impl<T> Groups<T> {
    /// The group of a row; none behind the last end.
    fn of_row(&self, row: usize) -> Option<usize> {
        let mut begin = 0;
        (0..self.ends_host.len()).find(|&g| {
            let end = self.ends_host[g].max(begin);
            begin = end;
            row < end as usize
        })
    }
}

/// Some groups have no rows, one end is below an earlier one, and some rows may be behind the last end.
fn ends(rng: &mut data::Rng, groups: usize, m: usize, awkward: bool) -> Vec<i32> {
    let mut ends: Vec<i32> = (0..groups).map(|_| rng.below(m as u64 + 1) as i32).collect();
    ends.sort_unstable();
    if let Some(last) = ends.last_mut().filter(|_| !awkward) {
        *last = m as i32;
    }
    if awkward && groups > 2 {
        ends[groups / 2] = [-5, 0, m as i32 + 100][rng.below(3) as usize];
    }
    ends
}

fn grouped<T: GroupMultiply + Entry>(rt: &Runtime, s: &Setup, transposed: bool) -> Result<(Work, Groups<T>)> {
    let extents = [s.size[0], s.size[1], s.size[2], s.size[3]].map(|n| n as usize);
    let [groups, m, n, k] = extents;
    let mut rng = data::Rng::new(s.seed);
    let (a, b) = match s.given {
        Some(row) => (row.input("a", m * k)?, row.input("b", groups * k * n)?),
        None => {
            let one = |_| random_operands::<T>(&mut rng, [1, n, k], s.awkward).1;
            let b: Vec<Vec<T>> = (0..groups).map(one).collect();
            (random_operands::<T>(&mut rng, [m, n, k], s.awkward).0, b.concat())
        }
    };
    let ends_host = s.input("ends", groups, || ends(&mut rng, groups, m, s.awkward))?;
    let host = (floats_of(&a), floats_of(&b));
    let in_memory = match transposed {
        true => b.chunks(if n * k > 0 { n * k } else { 1 }).flat_map(|b| reference::transpose(b, k, n)).collect(),
        false => b,
    };
    let of_b = if transposed { [groups, n, k] } else { [groups, k, n] };
    let unwritten = s.unwritten(T::POISON);
    let state = Groups {
        host,
        extents,
        a: Matrix::new(rt, s, &a, [1, m, k])?,
        b: Matrix::new(rt, s, &in_memory, of_b)?,
        ends: Guarded::new(rt, &ends_host, 0, s.odd)?,
        c: Guarded::new(rt, &vec![unwritten; m * n], T::POISON, s.odd)?,
        ends_host,
        unwritten,
    };
    let moved = m * k + groups.min(m) * k * n + m * n;
    Ok((Work { bytes: (moved * size_of::<T>()) as u64, flops: 2 * (m * n * k) as u64 }, state))
}

fn of<T: GroupMultiply + Entry>(rt: &Runtime, s: &Setup, transposed: bool) -> Boxed {
    let (work, state) = grouped::<T>(rt, s, transposed)?;
    let by_rows = |s: &mut Groups<T>, on: &ops::ExecOptions| {
        ops::grouped_matmul::<T>(on, s.a.view()?, s.b.batch()?, s.ends.get()?, s.c.get_mut()?)
    };
    let by_columns = |s: &mut Groups<T>, on: &ops::ExecOptions| {
        ops::grouped_matmul::<T>(on, s.a.view()?, s.b.transposes()?, s.ends.get()?, s.c.get_mut()?)
    };
    Ok(Box::new(Prepared {
        work,
        state,
        launch: if transposed { by_columns } else { by_rows },
        check: |s| {
            let [_, m, n, k] = s.extents;
            let all = s.c.read()?;
            let rows = sampled(m, n * k);
            let mut wanted = vec![];
            for &r in &rows {
                match s.of_row(r) {
                    Some(g) => {
                        let (a, b) = (&s.host.0[r * k..][..k], &s.host.1[g * k * n..][..k * n]);
                        wanted.extend(reference::product(a, b, k, n, &[0]));
                    }
                    None => wanted.extend((0..n).map(|_| (s.unwritten.value(), 1.0))),
                }
            }
            let found: Vec<T> = rows.iter().flat_map(|&r| all[r * n..(r + 1) * n].iter().copied()).collect();
            Ok(judge(&found, wanted.into_iter(), accumulation(T::DTYPE, k)))
        },
        outputs: |s| Ok(vec![Output::of("c", &s.c.read()?)]),
    }))
}

pub fn grouped_matmul(rt: &Runtime, s: &Setup) -> Boxed {
    if s.dtype == DType::F16 { of::<f16>(rt, s, false) } else { of::<bf16>(rt, s, false) }
}

pub fn grouped_matmul_nt(rt: &Runtime, s: &Setup) -> Boxed {
    if s.dtype == DType::F16 { of::<f16>(rt, s, true) } else { of::<bf16>(rt, s, true) }
}
