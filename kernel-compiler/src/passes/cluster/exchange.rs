//! Reductions over the partitioned dimension. Each CTA reduces its part. All CTAs gather the results of all CTAs and
//! reduce them in the order of the ranks, so that each has the same result.

use super::CtaPartition;
use crate::dtype::DType;
use crate::ir::{Binary, Combine, Op, SharedArray, Stmt, Type, Value, padded_elements};
use std::collections::HashMap;

impl CtaPartition {
    /// The axis of a reduction, if it is partitioned.
    pub(super) fn reduced(&self, v: Value) -> Option<usize> {
        let (values, axis) = self.f.op(v).reduced()?;
        (self.parted(values[0]) == Some(axis)).then_some(axis)
    }

    /// Makes a value the reduction over all CTAs.
    pub(super) fn reduce_all(&mut self, v: Value, axis: usize, out: &mut Vec<Stmt>) {
        let reduced = match self.f.op(v).clone() {
            Op::Reduce { values, combine, .. } => self.reduce(v, values, axis, combine, out),
            Op::ArgReduce { value, largest, .. } => self.arg_reduce(v, value, axis, largest, out),
            op => unreachable!("{op:?} reduces nothing"),
        };
        self.f.values[v.0 as usize].op = reduced;
    }

    fn reduce(&mut self, v: Value, values: Vec<Value>, axis: usize, combine: Combine, out: &mut Vec<Stmt>) -> Op {
        let ty = self.f.ty(v).clone();
        let dtypes: Vec<DType> = values.iter().map(|&x| self.f.ty(x).dtype).collect();
        let mine = self.define(Op::Reduce { values, axis, combine: combine.clone() }, ty.clone(), v, out);
        let gathered = (0..dtypes.len()).map(|i| {
            let ty = Type { dtype: dtypes[i], shape: ty.shape.clone() };
            let part = if i == 0 { mine } else { self.define(Op::Result(mine, i), ty, v, out) };
            self.gather(part, v, out)
        });
        let values = gathered.collect();
        Op::Reduce { values, axis: 0, combine: self.renamed(combine) }
    }

    /// The index that the first CTA with the best value found.
    fn arg_reduce(&mut self, v: Value, value: Value, axis: usize, largest: bool, out: &mut Vec<Stmt>) -> Op {
        let (dtype, extent, ty) = (self.f.ty(value).dtype, self.f.shape(value)[axis], self.f.ty(v).clone());
        let best = if largest { Binary::Max } else { Binary::Min };
        let best = Op::Reduce { values: vec![value], axis, combine: Combine::Binary(best) };
        let best = self.define(best, Type { dtype, shape: ty.shape.clone() }, v, out);
        let index = self.define(Op::ArgReduce { value, axis, largest }, ty.clone(), v, out);
        let start = self.start(extent, ty.dtype, v);
        let start = self.splat(start, &ty, v, out);
        let of_all = Op::Binary(Binary::Add, index, start);
        let index = if planted!("cluster-index-in-its-part") { index } else { self.define(of_all, ty.clone(), v, out) };

        let (best, index) = (self.gather(best, v, out), self.gather(index, v, out));
        let gathered = self.f.ty(index).clone();
        let rank = self.define(Op::ArgReduce { value: best, axis: 0, largest }, ty.clone(), v, out);
        // All other indices become zero, so that the sum is that index.
        let rank = if ty.is_scalar() {
            self.splat(rank, &gathered, v, out)
        } else {
            let one = Type { dtype: ty.dtype, shape: [&[1], &ty.shape[..]].concat() };
            let rank = self.define(Op::Expand(rank, 0), one, v, out);
            self.define(Op::Broadcast(rank), gathered.clone(), v, out)
        };
        let ctas = self.f.ctas as usize;
        let ranks = self.define(Op::Arange { start: 0 }, Type::tile(DType::U64, vec![ctas]), v, out);
        let mut ranks = self.define(Op::Cast(ranks), Type::tile(ty.dtype, vec![ctas]), v, out);
        for d in 1..gathered.shape.len() {
            let shape = [vec![ctas], vec![1; d]].concat();
            ranks = self.define(Op::Expand(ranks, d), Type::tile(ty.dtype, shape), v, out);
        }
        if gathered.shape.len() > 1 {
            ranks = self.define(Op::Broadcast(ranks), gathered.clone(), v, out);
        }
        let is_best = Type::tile(DType::Bool, gathered.shape.clone());
        let is_best = self.define(Op::Binary(Binary::Eq, ranks, rank), is_best, v, out);
        let zero = self.define(Op::Int(0), Type::scalar(ty.dtype), v, out);
        let zeros = self.define(Op::Splat(zero), gathered.clone(), v, out);
        let kept = self.define(Op::Select(is_best, index, zeros), gathered, v, out);
        Op::Reduce { values: vec![kept], axis: 0, combine: Combine::Binary(Binary::Add) }
    }

    /// The gathered parts of all CTAs.
    fn gather(&mut self, part: Value, like: Value, out: &mut Vec<Stmt>) -> Value {
        let Type { dtype, shape } = self.f.ty(part).clone();
        let shape = [&[self.f.ctas as usize], &shape[..]].concat();
        let array = self.f.shared.len();
        let len = padded_elements(&shape);
        self.f.shared.push(SharedArray { name: format!("cluster{array}"), dtype, len });
        let gather = Op::ClusterGather { value: part, array, repeats: self.loops > 0 };
        self.define(gather, Type::tile(dtype, shape), like, out)
    }

    /// A tile whose elements are all a scalar, or the scalar itself.
    fn splat(&mut self, x: Value, ty: &Type, like: Value, out: &mut Vec<Stmt>) -> Value {
        if ty.is_scalar() { x } else { self.define(Op::Splat(x), ty.clone(), like, out) }
    }

    fn define(&mut self, op: Op, ty: Type, like: Value, out: &mut Vec<Stmt>) -> Value {
        let span = self.f.span(like);
        self.f.push(op, ty, span, out)
    }

    /// A copy of the closure with new values.
    fn renamed(&mut self, combine: Combine) -> Combine {
        let Combine::Closure { a, b, body, results } = combine else { return combine };
        let mut names = HashMap::new();
        let mut rename = |cx: &mut Self, v: Value| {
            let mut info = cx.f.values[v.0 as usize].clone();
            info.op.operands_mut().into_iter().for_each(|o| *o = names.get(o).copied().unwrap_or(*o));
            cx.f.values.push(info);
            let new = Value(cx.f.values.len() as u32 - 1);
            names.insert(v, new);
            new
        };
        let mut all = |cx: &mut Self, list: Vec<Value>| list.into_iter().map(|v| rename(cx, v)).collect();
        let (a, b, body) = (all(self, a), all(self, b), all(self, body));
        let results = results.into_iter().map(|v| names.get(&v).copied().unwrap_or(v)).collect();
        Combine::Closure { a, b, body, results }
    }
}
