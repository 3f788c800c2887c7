//! Index tiles as `base + constant of the register (+ constant × scalar)`.

use crate::thread_ir::Name;

#[derive(Clone, Debug)]
pub struct Affine {
    /// A u64 that each thread computes.
    pub base: Name,
    /// The constant of each register.
    pub consts: Vec<i64>,
    /// A u64 scalar, and its factor in each register.
    pub strides: Vec<(Name, Vec<i64>)>,
}

impl Affine {
    /// The same for all registers.
    pub fn is_uniform(&self) -> bool {
        self.strides.is_empty() && self.consts.iter().all(|&c| c == 0)
    }

    pub fn scaled(&self, k: i64) -> (Vec<i64>, Vec<(Name, Vec<i64>)>) {
        let times = |v: &[i64]| v.iter().map(|c| c.wrapping_mul(k)).collect::<Vec<_>>();
        (times(&self.consts), self.strides.iter().map(|(s, v)| (*s, times(v))).collect())
    }

    pub fn mapped(&self, regs: &[usize]) -> Affine {
        let pick = |v: &[i64]| regs.iter().map(|&r| v[r]).collect::<Vec<_>>();
        Affine {
            base: self.base,
            consts: pick(&self.consts),
            strides: self.strides.iter().map(|(s, v)| (*s, pick(v))).collect(),
        }
    }

    pub fn plus(mut self, base: Name, o: (Vec<i64>, Vec<(Name, Vec<i64>)>)) -> Affine {
        let sum = |a: &[i64], b: &[i64]| a.iter().zip(b).map(|(x, y)| x.wrapping_add(*y)).collect::<Vec<_>>();
        self.consts = sum(&self.consts, &o.0);
        for (s, v) in o.1 {
            match self.strides.iter_mut().find(|(t, _)| *t == s) {
                Some((_, w)) => *w = sum(w, &v),
                None => self.strides.push((s, v)),
            }
        }
        self.base = base;
        self
    }
}
