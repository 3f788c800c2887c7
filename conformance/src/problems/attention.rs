//! attention.

use super::Boxed;
use super::matmul::{judge, sampled};
use super::matrix::{Entry, Matrix, floats_of};
use crate::pattern::Output;
use crate::problem::{Prepared, Setup, Work};
use crate::{data, reference, verdict};
use tilewright_core::cpu::parallel_map;
use tilewright_core::{DType, bf16, f16};
use tilewright_ops::{self as ops, Attend};
use tilewright_runtime::{Result, Runtime};

struct Attention<T> {
    /// Q, K and V.
    host: [Vec<f32>; 3],
    /// Heads, those of K for several of Q, queries, keys, elements.
    extents: [usize; 5],
    scale: f32,
    causal: bool,
    q: Matrix<T>,
    k: Matrix<T>,
    v: Matrix<T>,
    o: Matrix<T>,
}

fn scale(d: usize) -> f32 {
    (d.max(1) as f32).sqrt().recip()
}

impl<T: Attend + Entry> Attention<T> {
    fn check(&mut self) -> Result<verdict::Verdict> {
        let [heads, shared, queries, keys, d] = self.extents;
        let rows = sampled(heads * queries, keys * d);
        let all = self.o.read()?;
        let found: Vec<T> = rows.iter().flat_map(|&r| all[r * d..(r + 1) * d].iter().copied()).collect();
        let [q, k, v] = &self.host;
        let one = |&r: &usize| {
            let (head, query) = (r / queries / (heads / shared), r % queries);
            let seen = if self.causal { (query + 1 + keys).saturating_sub(queries) } else { keys };
            let first = head * keys * d;
            let seen = first..first + seen * d;
            reference::attention(&q[r * d..(r + 1) * d], &k[seen.clone()], &v[seen], self.scale as f64)
        };
        let wanted: Vec<(f64, f64)> = parallel_map(rows.len(), |i| one(&rows[i])).concat();
        // Weights are rounded before they multiply; their exponents are sums of f32.
        Ok(judge(&found, wanted.into_iter(), 1.1 * T::ROUNDING + 1e-5))
    }
}

pub fn attention(rt: &Runtime, setup: &Setup) -> Boxed {
    fn of<T: Attend + Entry>(rt: &Runtime, s: &Setup) -> Boxed {
        let [heads, queries, keys, d] = [s.size[0], s.size[1], s.size[2], s.size[3]].map(|n| n as usize);
        let causal = s.scalar("causal", i32::from(s.seed.is_multiple_of(2)))? != 0;
        let scale = s.scalar("scale", scale(d))?;
        // As many share keys as there are, up to 8, or none.
        let share = s.seed / 2 % 2 == 0 && heads > 0 && s.given.is_none();
        let shared = if share { heads >> heads.trailing_zeros().min(3) } else { heads };
        let mut rng = data::Rng::new(s.seed);
        let mut input = |name, rows| s.input(name, rows * d, || data::entries::<T>(&mut rng, rows * d));
        let (mut q, mut k, v) = (input("q", heads * queries)?, input("k", shared * keys)?, input("v", shared * keys)?);
        if s.given.is_none() {
            // Of numbers within 1 all weights would be nearly the same.
            q.iter_mut().for_each(|x| *x = T::of(4.0 * x.value()));
        }
        if s.awkward && d > 0 {
            // Queries of the last head: one with a NaN, one with an infinity.
            for (row, special) in [(1, f64::NAN), (queries, f64::INFINITY)].into_iter().take(queries) {
                if heads > 0 {
                    q[(heads * queries - row) * d] = T::of(special);
                }
            }
            // Of the first head, where it is not the only one: the last key, or all.
            if shared > 1 && keys > 0 {
                let first = if s.seed.is_multiple_of(3) { 0 } else { keys - 1 };
                (first..keys).for_each(|key| k[key * d] = T::of(f64::NAN));
            }
        }
        let host = [floats_of(&q), floats_of(&k), floats_of(&v)];
        let (q, k, v) = (
            Matrix::new(rt, s, &q, [heads, queries, d])?,
            Matrix::new(rt, s, &k, [shared, keys, d])?,
            Matrix::new(rt, s, &v, [shared, keys, d])?,
        );
        let o = Matrix::poisoned(rt, s, [heads, queries, d])?;
        let seen = if causal { 2 } else { 1 };
        Ok(Box::new(Prepared {
            work: Work {
                bytes: (2 * (heads * queries + shared * keys) * d * size_of::<T>()) as u64,
                flops: 4 * (heads * queries * keys * d / seen) as u64,
            },
            state: Attention { host, extents: [heads, shared, queries, keys, d], scale, causal, q, k, v, o },
            launch: |s: &mut Attention<T>, on| {
                let Attention { q, k, v, o, scale, causal, .. } = s;
                let attention =
                    ops::Attention::<T>::new(q.batch()?, k.batch()?, v.batch()?, o.batch_mut()?).scale(*scale);
                let attention = if *causal { attention.causal() } else { attention };
                attention.launch(on)
            },
            check: Attention::check,
            outputs: |s| Ok(vec![Output::of("o", &s.o.read()?)]),
        }))
    }
    match setup.dtype {
        DType::F16 => of::<f16>(rt, setup),
        _ => of::<bf16>(rt, setup),
    }
}
