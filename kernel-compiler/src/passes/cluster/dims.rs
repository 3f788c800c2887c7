//! The dimensions of a function's tiles, in classes of dimensions that must be partitioned alike.

use crate::diag::Code;
use crate::ir::walk::walk;
use crate::ir::{Func, Op, StmtKind, Value};
use crate::missed::Why;
use proc_macro2::Span;

/// The rule that a program breaks, why it cannot be partitioned, and the place of the obstacle; none if the program
/// lacks something.
pub(super) type Refused = (Code, Why, Option<Span>);

/// The dimensions of tiles. Dimensions with the same rows or columns are in one class.
pub(super) struct Dims {
    /// The first dimension of each value, then of each variable.
    pub first: Vec<usize>,
    pub vars: usize,
    parent: Vec<usize>,
    /// The dimensions that every CTA needs as a whole, with the reasons.
    pub whole: Vec<(usize, Value)>,
    /// The dimensions that are reduced, with the reductions.
    pub reduced: Vec<(usize, Value)>,
}

impl Dims {
    pub fn of(f: &Func) -> Result<Dims, Refused> {
        let mut first = vec![];
        let mut n = 0;
        for rank in f.values.iter().map(|v| v.ty.shape.len()).chain(f.vars.iter().map(|v| v.ty.shape.len())) {
            first.push(n);
            n += rank;
        }
        let mut dims = Dims { first, vars: f.values.len(), parent: (0..n).collect(), whole: vec![], reduced: vec![] };
        for s in walk(&f.body) {
            match &s.kind {
                StmtKind::Let(v) => dims.op(f, *v)?,
                StmtKind::Assign(var, v) => (0..f.shape(*v).len()).for_each(|d| {
                    let to = dims.first[dims.vars + var.0 as usize] + d;
                    dims.join(to, dims.first[v.0 as usize] + d);
                }),
                StmtKind::Store { ptr, value, mask, .. } => {
                    ptr.operands().chain(mask).for_each(|&x| dims.same(f, x, *value));
                }
                _ => {}
            }
        }
        Ok(dims)
    }

    fn dim(&self, v: Value, d: usize) -> usize {
        self.first[v.0 as usize] + d
    }

    pub fn find(&self, mut d: usize) -> usize {
        while self.parent[d] != d {
            d = self.parent[d];
        }
        d
    }

    pub fn class(&self, v: Value, d: usize) -> usize {
        self.find(self.dim(v, d))
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.find(a), self.find(b));
        self.parent[a] = b;
    }

    /// Unites the dimensions of tiles of one shape.
    fn same(&mut self, f: &Func, a: Value, b: Value) {
        (0..f.shape(a).len().min(f.shape(b).len())).for_each(|d| self.join(self.dim(a, d), self.dim(b, d)));
    }

    fn keep_whole(&mut self, f: &Func, v: Value, by: Value) {
        (0..f.shape(v).len()).for_each(|d| self.whole.push((self.dim(v, d), by)));
    }

    fn op(&mut self, f: &Func, v: Value) -> Result<(), Refused> {
        let here = Some(f.values[v.0 as usize].span);
        match f.op(v) {
            Op::Expand(x, axis) => (0..f.shape(*x).len())
                .for_each(|d| self.join(self.dim(*x, d), self.dim(v, d + usize::from(d >= *axis)))),
            Op::Broadcast(x) => (0..f.shape(v).len())
                .filter(|&d| f.shape(*x)[d] == f.shape(v)[d])
                .for_each(|d| self.join(self.dim(*x, d), self.dim(v, d))),
            Op::Permute(x, perm) => {
                perm.iter().enumerate().for_each(|(d, &from)| self.join(self.dim(*x, from), self.dim(v, d)))
            }
            Op::Reshape(x) => {
                let wide = |v: Value| (0..f.shape(v).len()).filter(|&d| f.shape(v)[d] != 1).collect::<Vec<_>>();
                let (from, to) = (wide(*x), wide(v));
                if from.iter().map(|&d| f.shape(*x)[d]).eq(to.iter().map(|&d| f.shape(v)[d])) {
                    from.into_iter().zip(to).for_each(|(a, b)| self.join(self.dim(*x, a), self.dim(v, b)));
                } else {
                    self.keep_whole(f, *x, v);
                    self.keep_whole(f, v, v);
                }
            }
            Op::Scan { values, axis, .. } | Op::Sort { values, axis, .. } => {
                values.iter().for_each(|&x| self.same(f, x, v));
                if !planted!("cluster-scans-its-part-alone") {
                    self.whole.push((self.dim(v, *axis), v));
                }
            }
            Op::Load { ptr, mask, other, .. } => {
                ptr.operands().chain(mask).chain(other).for_each(|&x| self.same(f, x, v))
            }
            Op::Dot { a, b, acc, .. } => {
                if f.shape(v).len() != 2 {
                    return Err((Code::ClusterProduct, why!("products of batches are not partitioned"), here));
                }
                self.same(f, *acc, v);
                self.join(self.dim(*a, 0), self.dim(v, 0));
                self.join(self.dim(*b, 1), self.dim(v, 1));
                let across = [self.dim(*a, 1), self.dim(*b, 0), self.dim(v, 1)];
                self.whole.extend(across.map(|d| (d, v)));
            }
            Op::Histogram { value, .. } | Op::Cumcount { value, .. } => {
                f.op(v).operands().into_iter().for_each(|x| self.same(f, x, *value));
                if !planted!("cluster-counts-its-part-alone") {
                    self.whole.push((self.dim(*value, 0), v));
                }
                self.whole.push((self.dim(v, 0), v));
            }
            Op::ReadVar(var) => (0..f.shape(v).len())
                .for_each(|d| self.join(self.first[self.vars + var.0 as usize] + d, self.dim(v, d))),
            Op::Splat(_) | Op::Arange { .. } => {}
            Op::Join(a, b) => {
                for &x in [a, b] {
                    (0..f.shape(x).len()).for_each(|d| self.join(self.dim(x, d), self.dim(v, d)));
                }
                self.whole.push((self.dim(v, f.shape(*a).len()), v));
            }
            Op::Slice { value, axis, .. } | Op::Gather { value, axis, .. } => {
                for d in 0..f.shape(v).len() {
                    if d == *axis {
                        if !planted!("cluster-gathers-from-its-part-alone") {
                            self.whole.push((self.dim(*value, d), v));
                        }
                        self.whole.push((self.dim(v, d), v));
                    } else {
                        self.join(self.dim(*value, d), self.dim(v, d));
                    }
                }
                if let Op::Gather { index, .. } = f.op(v) {
                    self.same(f, *index, v);
                }
            }
            op if let Some((values, axis)) = op.reduced() => {
                for &x in values {
                    self.reduced.push((self.dim(x, axis), v));
                    (0..f.shape(v).len())
                        .for_each(|d| self.join(self.dim(x, d + usize::from(d >= axis)), self.dim(v, d)));
                }
            }
            op => op.operands().into_iter().for_each(|x| self.same(f, x, v)),
        }
        Ok(())
    }
}
