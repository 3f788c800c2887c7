//! Adjoints of operations other than elementwise functions: shapes, reductions, scans, products.

use super::refused::Refused;
use super::{Adjoint, Scope};
use crate::dtype::DType;
use crate::ir::{Binary, Combine, Func, Op, Precision, Type, Value, is_product_extent, matrices};

impl Adjoint<'_> {
    /// Hands the adjoint of a value to its operands.
    pub(super) fn value(&mut self, v: Value, adjoint: Value, scope: &Scope) -> Result<(), Refused> {
        if !self.active.value(v) {
            return Ok(());
        }
        let f = self.f;
        match f.op(v) {
            Op::ReadVar(var) => {
                if let Some(&of) = self.of_vars.get(var) {
                    let sum = self.read(of);
                    let sum = self.add(sum, adjoint);
                    self.assign(of, sum);
                }
                Ok(())
            }
            Op::Load { ptr, mask, other, .. } => self.loaded(v, ptr, *mask, *other, adjoint, scope),
            Op::Unary(u, x) => self.of_unary(*u, [*x, v], adjoint, scope),
            Op::Binary(b, x, y) => self.of_binary(*b, [*x, *y, v], adjoint, scope),
            Op::Fma(a, b, c) => {
                let (x, y) = (scope.value(*a), scope.value(*b));
                let (of_a, of_b) = (self.times(adjoint, y), self.times(adjoint, x));
                self.give(*a, of_a)?;
                self.give(*b, of_b)?;
                self.give(*c, adjoint)
            }
            Op::Select(cond, a, b) => {
                let cond = scope.value(*cond);
                let (of_a, of_b) = (self.only(cond, adjoint), self.unless(cond, adjoint));
                self.give(*a, of_a)?;
                self.give(*b, of_b)
            }
            Op::Cast(x) => {
                let adjoint = if self.is_float(*x) { self.cast(adjoint, f.ty(*x).dtype) } else { adjoint };
                self.give(*x, adjoint)
            }
            Op::Bitcast(x) if self.is_float(*x) => self.refuse(BITS),
            Op::Bitcast(x) => self.give(*x, adjoint),
            Op::Splat(x) => {
                let sum = self.sum_all(adjoint);
                self.give(*x, sum)
            }
            Op::Expand(x, _) | Op::Reshape(x) => {
                let back = self.reshaped(adjoint, f.shape(*x));
                self.give(*x, back)
            }
            Op::Broadcast(x) => {
                let (from, to) = (f.shape(*x), f.shape(v));
                let mut sum = adjoint;
                for axis in (0..to.len()).filter(|&axis| from[axis] != to[axis]) {
                    let mut shape = self.g.shape(sum).to_vec();
                    shape[axis] = 1;
                    let along = self.sum_axis(sum, axis);
                    sum = self.spread(along, axis, &shape);
                }
                self.give(*x, sum)
            }
            Op::Permute(x, perm) => {
                let back = (0..perm.len()).map(|d| perm.iter().position(|&p| p == d).unwrap_or(d)).collect();
                let back = self.emit(Op::Permute(adjoint, back), f.ty(*x).clone());
                self.give(*x, back)
            }
            Op::Join(a, b) => {
                for (start, x) in [a, b].into_iter().enumerate() {
                    let shape = f.shape(*x).to_vec();
                    let one = Type::tile(self.dtype(adjoint), [&shape[..], &[1]].concat());
                    let axis = shape.len();
                    let half = self.emit(Op::Slice { value: adjoint, axis, start }, one);
                    let half = self.reshaped(half, &shape);
                    self.give(*x, half)?;
                }
                Ok(())
            }
            Op::Slice { value, axis, start } => {
                // Zero where the index is that of no element of the part.
                let ty = f.ty(*value).clone();
                let index = self.indices(*axis, &ty.shape);
                let first = self.like(*start as f64, index);
                let index = self.sub(index, first);
                let whole = self.emit(Op::Gather { value: adjoint, index, axis: *axis }, ty);
                self.give(*value, whole)
            }
            Op::Gather { value, index, .. } => {
                let ty = f.ty(*value).clone();
                if ty.shape.len() != 1 {
                    return self.refuse(
                        "`gather` has an adjoint for tiles of rank 1 alone: load the elements by their indices instead",
                    );
                }
                let wide = if ty.dtype.size() < 4 { DType::F32 } else { ty.dtype };
                let weights = self.cast(adjoint, wide);
                let op = Op::Histogram { value: scope.value(*index), weights: Some(weights), mask: None };
                let sums = self.emit(op, Type::tile(wide, ty.shape.clone()));
                let sums = self.cast(sums, ty.dtype);
                self.give(*value, sums)
            }
            Op::Histogram { value, weights: Some(weights), mask } => {
                let op = Op::Gather { value: adjoint, index: scope.value(*value), axis: 0 };
                let of_bins = self.emit(op, f.ty(*weights).clone());
                let of_bins = mask.map_or(of_bins, |m| self.only(scope.value(m), of_bins));
                self.give(*weights, of_bins)
            }
            Op::Reduce { values, axis, combine } if let Some(by) = function(f, combine) => {
                let x = values[0];
                let shape = f.shape(x).to_vec();
                let spread = self.spread(adjoint, *axis, &shape);
                if by == Binary::Add {
                    return self.give(x, spread);
                }
                // Equal elements share the gradient.
                let result = self.spread(scope.value(v), *axis, &shape);
                let is_result = self.binary(Binary::Eq, scope.value(x), result);
                let ones = self.like(1.0, spread);
                let ones = self.only(is_result, ones);
                let count = self.sum_axis(ones, *axis);
                let count = self.spread(count, *axis, &shape);
                let share = self.div(spread, count);
                let share = self.only(is_result, share);
                self.give(x, share)
            }
            Op::Scan { values, axis, combine, reverse, exclusive } if function(f, combine) == Some(Binary::Add) => {
                let ty = f.ty(values[0]).clone();
                let start: Vec<Value> = exclusive.iter().map(|_| self.zero(&Type::scalar(ty.dtype))).collect();
                let op = Op::Scan {
                    values: vec![adjoint],
                    axis: *axis,
                    combine: Combine::Binary(Binary::Add),
                    reverse: !reverse,
                    exclusive: start,
                };
                let sums = self.emit(op, ty);
                self.give(values[0], sums)?;
                if let Some(&first) = exclusive.first() {
                    let all = self.sum_all(adjoint);
                    self.give(first, all)?;
                }
                Ok(())
            }
            Op::Dot { a, b, acc, precision } => {
                self.product([*a, *b], *precision, adjoint, scope)?;
                self.give(*acc, adjoint)
            }
            Op::Reduce { .. } | Op::Scan { .. } | Op::Result(..) => self.refuse(
                "a reduction has an adjoint for sums, `max` and `min`, and a scan for sums, not for tuples, other \
                 operations and closures",
            ),
            Op::Sort { .. } => self.refuse("a sort has no adjoint: load the elements in the order of sorted indices"),
            Op::Asm { .. } => self.refuse("inline assembly has no adjoint: write the operations"),
            _ => self.refuse("this operation has no adjoint"),
        }
    }

    /// The adjoints of the operands of a product: `C = A B` gives `dA = dC Bᵀ` and `dB = Aᵀ dC`.
    fn product(
        &mut self,
        [a, b]: [Value; 2],
        precision: Precision,
        adjoint: Value,
        scope: &Scope,
    ) -> Result<(), Refused> {
        let dtype = self.f.ty(a).dtype;
        if dtype.is_float8() && [a, b].into_iter().any(|x| self.active.value(x)) {
            return self.refuse("a product of floats of 8 bits has no adjoint: multiply f16, bf16 or f32");
        }
        if self.active.value(a) {
            let right = self.transposed(scope.value(b));
            let of_a = self.multiplied(adjoint, right, dtype, precision)?;
            self.give(a, of_a)?;
        }
        if self.active.value(b) {
            let left = self.transposed(scope.value(a));
            let of_b = self.multiplied(left, adjoint, dtype, precision)?;
            self.give(b, of_b)?;
        }
        Ok(())
    }

    fn transposed(&mut self, x: Value) -> Value {
        let mut ty = self.ty(x);
        let rank = ty.shape.len();
        let mut perm: Vec<usize> = (0..rank).collect();
        perm.swap(rank - 1, rank - 2);
        ty.shape.swap(rank - 1, rank - 2);
        self.emit(Op::Permute(x, perm), ty)
    }

    /// A product of operands that are rounded to a type, in this type. Tensor cores take no rows shorter than 32 bytes:
    /// such operands are multiplied in f32.
    fn multiplied(&mut self, a: Value, b: Value, dtype: DType, precision: Precision) -> Result<Value, Refused> {
        let (batch, [m, k]) = matrices(self.g.shape(a));
        let (_, [_, n]) = matrices(self.g.shape(b));
        let shape = [batch, &[m, n]].concat();
        let is_one = m.is_power_of_two() || n.is_power_of_two();
        if !k.is_power_of_two() || !is_one || !is_product_extent(m) || !is_product_extent(n) {
            return self.refuse(format!(
                "the adjoint of a `dot` multiplies [{m}, {k}] by [{k}, {n}]: the extents have to be powers of two"
            ));
        }
        let by_tensor_cores = dtype.size() == 2 || precision != Precision::Ieee;
        let is_short = by_tensor_cores && k * dtype.size() < 32;
        let (operands, precision) = if is_short { (DType::F32, Precision::Ieee) } else { (dtype, precision) };
        let (a, b) = (self.cast(a, operands), self.cast(b, operands));
        let sum = if operands == DType::F64 { DType::F64 } else { DType::F32 };
        let ty = Type::tile(sum, shape);
        let acc = self.zero(&ty);
        let product = self.emit(Op::Dot { a, b, acc, precision }, ty);
        Ok(self.cast(product, dtype))
    }
}

/// The function by which a reduction or a scan combines elements of one tile, if it is one of those with an adjoint.
fn function(f: &Func, combine: &Combine) -> Option<Binary> {
    let by = match combine {
        Combine::Binary(by) => *by,
        Combine::Closure { a, b, body, results } => match (&a[..], &b[..], &body[..]) {
            ([a], [b], [v]) if results[..] == [*v] => match *f.op(*v) {
                Op::Binary(by, x, y) if (x, y) == (*a, *b) || (x, y) == (*b, *a) => by,
                _ => return None,
            },
            _ => return None,
        },
    };
    let known = [Binary::Add, Binary::Min, Binary::Max, Binary::MinNan, Binary::MaxNan];
    known.contains(&by).then_some(by)
}

const BITS: &str = "the bits of a float have no adjoint: compute with floats";
