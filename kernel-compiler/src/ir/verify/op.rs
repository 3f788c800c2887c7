//! Invariants of operations.

use super::{Verifier, check};
use crate::dtype::{DType, register};
use crate::ir::{
    Atomic, Binary, Combine, Meaning, Op, Param, ParamKind, Precision, SharedArray, Type, Value, is_product_extent,
    matrices, padded_elements,
};

/// The result of a product of operands of a type.
fn product(dtype: DType) -> Option<DType> {
    match dtype {
        DType::F16 | DType::BF16 | DType::F32 | DType::F8E4M3 | DType::F8E5M2 => Some(DType::F32),
        DType::F64 => Some(DType::F64),
        DType::I8 => Some(DType::I32),
        _ => None,
    }
}

fn takes_atomic(op: Atomic, d: DType) -> bool {
    match d {
        DType::I32 | DType::U32 | DType::I64 | DType::U64 => true,
        DType::F32 | DType::F64 | DType::F16 | DType::BF16 => !matches!(op, Atomic::And | Atomic::Or | Atomic::Xor),
        _ => false,
    }
}

impl Verifier<'_> {
    /// The result of an operation has the rank of its operand.
    fn same_rank(&self, operand: Value, result: &Type) -> Result<(), String> {
        let of = self.ty(operand);
        check(of.shape.len() == result.shape.len(), || format!("{result} has another rank than {of}"))
    }

    pub(super) fn op(&mut self, v: Value) -> Result<(), String> {
        let f = self.f;
        let (op, ty) = (f.op(v), f.ty(v).clone());
        self.uses(op.operands())?;
        match op {
            Op::Int(n) => check(ty.is_scalar() && ty.dtype.holds(*n) && ty.dtype.is_int(), || {
                format!("the integer {n} of type {ty}")
            }),
            Op::Float(_) => check(ty.is_scalar() && ty.dtype.is_float(), || format!("a float of type {ty}")),
            Op::Bool(_) => check(ty == Type::scalar(DType::Bool), || format!("a bool of type {ty}")),
            Op::Word { word } => self.read_word(*word, &ty),
            Op::ProgramId(axis) | Op::NumPrograms(axis) => {
                check(*axis < 3, || format!("a grid has no axis {axis}"))?;
                self.number_of_program(&ty)
            }
            Op::ClusterCtaRank => {
                check(f.ctas > 1, || "the rank of a thread block outside of a cluster".into())?;
                self.number_of_program(&ty)
            }
            Op::ClusterGather { value, array, .. } => {
                let of = self.ty(*value).clone();
                let shape = [&[f.ctas as usize], &of.shape[..]].concat();
                check(f.ctas > 1 && ty.dtype == of.dtype && ty.shape == shape, || {
                    format!("{ty} is gathered from {of} of {} thread blocks", f.ctas)
                })?;
                let wanted = padded_elements(&shape);
                let fits = |a: &SharedArray| a.dtype == of.dtype && a.len == wanted;
                check(f.shared.get(*array).is_some_and(fits), || format!("no shared array holds {ty}"))
            }
            Op::LoopVar => Err("a loop variable is defined by its loop".into()),
            Op::ReadVar(var) => {
                check(*self.var(*var)? == ty, || format!("{var:?} is read as {ty}"))?;
                let assigned = self.assigned.as_ref().is_none_or(|a| a[var.0 as usize]);
                check(assigned, || format!("{var:?} is read where it may not have been assigned"))
            }
            Op::Arange { start } => {
                // Other types are cast from u64.
                let end = start.saturating_add(ty.shape.iter().product::<usize>() as i128 - 1);
                let holds = DType::U64.holds(*start) && DType::U64.holds(end);
                let fits = ty.shape.len() == 1 && ty.dtype == DType::U64 && holds;
                check(fits, || format!("a range from {start} of type {ty}"))
            }
            Op::Splat(x) => {
                check(!ty.is_scalar(), || format!("{x:?} is broadcast to no tile"))?;
                self.scalar(*x, Some(ty.dtype))
            }
            Op::Unary(u, x) => {
                let operand = self.ty(*x).clone();
                self.shape(*x, &ty.shape)?;
                self.computes(u.name(), operand.dtype, u.takes().holds(operand.dtype))?;
                self.gives(u.name(), &operand, u.gives(operand.dtype), &ty)
            }
            Op::Binary(b, x, y) => {
                let operands = self.ty(*x).clone();
                self.shape(*x, &ty.shape)?;
                self.same(*y, &Type { dtype: b.second(operands.dtype), shape: operands.shape.clone() })?;
                self.computes(b.name(), operands.dtype, b.takes().holds(operands.dtype))?;
                self.gives(b.name(), &operands, b.gives(operands.dtype), &ty)
            }
            Op::Fma(a, b, c) => {
                [a, b, c].into_iter().try_for_each(|&x| self.same(x, &ty))?;
                self.computes("fma", ty.dtype, ty.dtype.is_float())
            }
            Op::Select(cond, a, b) => {
                self.same(*cond, &Type::tile(DType::Bool, ty.shape.clone()))?;
                [a, b].into_iter().try_for_each(|&x| self.same(x, &ty))
            }
            Op::Asm { results, index, operands, meaning: Meaning { params, body, result }, .. } => {
                operands.iter().try_for_each(|&x| self.shape(x, &ty.shape))?;
                let dtypes: Vec<DType> = operands.iter().map(|&x| self.ty(x).dtype).collect();
                check(!operands.is_empty(), || "inline assembly of nothing".into())?;
                for &t in dtypes.iter().chain(results) {
                    check(register(t).is_some(), || format!("inline assembly of {t}"))?;
                }
                check(results.get(*index) == Some(&ty.dtype), || format!("result {index} of {results:?} is no {ty}"))?;
                self.closure((params, &dtypes), body, (&[*result], &[ty.dtype]))
            }
            Op::Cast(x) => self.shape(*x, &ty.shape),
            Op::Bitcast(x) => {
                self.shape(*x, &ty.shape)?;
                let (from, to) = (self.ty(*x).dtype, ty.dtype);
                check(from.size() == to.size() && from != DType::Bool && to != DType::Bool, || {
                    format!("a bitcast of {from} to {to}")
                })
            }
            Op::Expand(x, axis) => {
                let mut shape = f.shape(*x).to_vec();
                check(*axis <= shape.len(), || format!("no axis {axis}"))?;
                shape.insert(*axis, 1);
                self.same(*x, &Type::tile(ty.dtype, f.shape(*x)))?;
                check(shape == ty.shape, || format!("{shape:?} is not {ty}"))
            }
            Op::Broadcast(x) => {
                let from = f.shape(*x);
                let fits = from.len() == ty.shape.len() && from.iter().zip(&ty.shape).all(|(a, b)| a == b || *a == 1);
                check(fits && self.ty(*x).dtype == ty.dtype, || format!("{} is broadcast to {ty}", self.ty(*x)))
            }
            Op::Reshape(x) => self.reshape(f.ty(*x), &ty),
            Op::Join(a, b) => {
                self.together(&[*a, *b])?;
                let shape = [f.shape(*a), &[2]].concat();
                check(shape == ty.shape && [*a, *b].iter().all(|&x| self.ty(x).dtype == ty.dtype), || {
                    format!("{} joined with {} is not {ty}", self.ty(*a), self.ty(*b))
                })
            }
            Op::Slice { value, axis, start } => {
                let mut shape = f.shape(*value).to_vec();
                check(*axis < shape.len(), || format!("no axis {axis}"))?;
                self.same_rank(*value, &ty)?;
                let extent = std::mem::replace(&mut shape[*axis], ty.shape[*axis]);
                check(shape == ty.shape && self.ty(*value).dtype == ty.dtype, || {
                    format!("{} is no part of {}", ty, self.ty(*value))
                })?;
                let len = ty.shape[*axis];
                check(len.is_power_of_two() && start.is_multiple_of(len) && start.saturating_add(len) <= extent, || {
                    format!("{len} elements from {start} on are no part of {extent}")
                })
            }
            Op::Sort { values, axis, .. } => {
                self.together(values)?;
                let mut kept = self.ty(values[0]).clone();
                check(*axis < kept.shape.len(), || format!("no axis {axis}"))?;
                self.same_rank(values[0], &ty)?;
                let all = std::mem::replace(&mut kept.shape[*axis], ty.shape[*axis]);
                check(kept == ty, || format!("{} are sorted to {ty}", self.ty(values[0])))?;
                let powers = all.is_power_of_two() && ty.shape[*axis].is_power_of_two();
                check(powers && ty.shape[*axis] <= all, || {
                    format!("{} of {all} elements are sorted", ty.shape[*axis])
                })?;
                check(ty.dtype.is_int(), || format!("keys of {}", ty.dtype))
            }
            Op::Gather { value, index, axis } => {
                let mut shape = f.shape(*value).to_vec();
                check(*axis < shape.len(), || format!("no axis {axis}"))?;
                self.same_rank(*value, &ty)?;
                let of = self.ty(*index);
                check(of.dtype.is_int() && of.shape == ty.shape, || format!("indices of type {of} for {ty}"))?;
                shape[*axis] = ty.shape[*axis];
                check(shape == ty.shape && self.ty(*value).dtype == ty.dtype, || {
                    format!("{ty} is gathered from {}", self.ty(*value))
                })
            }
            Op::Histogram { value, weights, mask } => {
                let of = self.ty(*value).clone();
                check(of.dtype.is_int() && of.shape.len() == 1 && ty.shape.len() == 1, || {
                    format!("a histogram {ty} of {of}")
                })?;
                mask.iter().try_for_each(|&m| self.same(m, &Type::tile(DType::Bool, of.shape.clone())))?;
                let summed = weights.map_or(DType::I32, |_| ty.dtype);
                weights.iter().try_for_each(|&w| self.same(w, &Type::tile(ty.dtype, of.shape.clone())))?;
                let takes = ty.dtype == summed && takes_atomic(Atomic::Add, ty.dtype) && ty.dtype.size() >= 4;
                self.computes("a histogram", ty.dtype, takes)
            }
            Op::Cumcount { value, bins, mask } => {
                let of = self.ty(*value).clone();
                let counts = Type::tile(DType::I32, of.shape.clone());
                check(of.dtype.is_int() && of.shape.len() == 1 && ty == counts && *bins > 0, || {
                    format!("counts {ty} of {of} in {bins} bins")
                })?;
                mask.iter().try_for_each(|&m| self.same(m, &Type::tile(DType::Bool, of.shape.clone())))
            }
            Op::Permute(x, perm) => {
                let from = f.shape(*x);
                let mut sorted = perm.clone();
                sorted.sort_unstable();
                check(sorted.into_iter().eq(0..from.len()), || format!("{perm:?} is no permutation"))?;
                let shape: Vec<usize> = perm.iter().map(|&d| from[d]).collect();
                check(shape == ty.shape && self.ty(*x).dtype == ty.dtype, || format!("{shape:?} is not {ty}"))
            }
            Op::Reduce { values, axis, combine } => {
                self.together(values)?;
                self.reduced(values[0], *axis, &ty.shape)?;
                check(self.ty(values[0]).dtype == ty.dtype, || format!("{} is reduced to {ty}", self.ty(values[0])))?;
                let extent = f.shape(values[0])[*axis];
                check(matches!(combine, Combine::Binary(_)) || extent.is_power_of_two(), || {
                    format!("a closure has no neutral element to fill {extent} elements up with")
                })?;
                let known = [Binary::Add, Binary::Min, Binary::Max, Binary::MinNan, Binary::MaxNan];
                self.combine("a reduction", combine, values, &known)
            }
            Op::Scan { values, axis, combine, exclusive, .. } => {
                self.together(values)?;
                self.same(values[0], &ty)?;
                check(*axis < ty.shape.len(), || format!("no axis {axis}"))?;
                check(exclusive.is_empty() || exclusive.len() == values.len(), || {
                    format!("{} scalars before the first of {} tiles", exclusive.len(), values.len())
                })?;
                for (&e, &v) in exclusive.iter().zip(values) {
                    self.scalar(e, Some(self.ty(v).dtype))?;
                }
                self.combine("a scan", combine, values, &[Binary::Add, Binary::Mul, Binary::Min, Binary::Max])
            }
            Op::Result(of, index) => {
                let (Op::Reduce { values, .. } | Op::Scan { values, .. } | Op::Sort { values, .. }) = f.op(*of) else {
                    return Err(format!("{of:?} has one result"));
                };
                check((1..values.len()).contains(index), || format!("{of:?} has no result {index}"))?;
                let result = Type { dtype: self.ty(values[*index]).dtype, shape: f.shape(*of).to_vec() };
                check(result == ty, || format!("{result} is not {ty}"))
            }
            Op::ArgReduce { value, axis, .. } => {
                self.reduced(*value, *axis, &ty.shape)?;
                let dtype = self.ty(*value).dtype;
                self.computes("an index of the first", dtype, dtype != DType::Bool)?;
                check(ty.dtype == DType::I32, || format!("an index of type {ty}"))
            }
            Op::Load { ptr, mask, other, block_pointer, .. } => {
                self.access(ptr, &ty, *mask, block_pointer.as_ref())?;
                other.iter().try_for_each(|&o| self.same(o, &ty))?;
                check(block_pointer.is_none() || other.is_none_or(|o| f.is_zeros(o)), || {
                    "a block pointer has zeros outside of its array, not `other`".into()
                })
            }
            Op::Dot { a, b, acc, precision } => self.dot([*a, *b, *acc], *precision, &ty),
            Op::Atomic { op, ptr, values, mask, .. } => {
                self.access(ptr, &ty, *mask, None)?;
                self.writes(ptr)?;
                self.computes(&format!("atomic_{}", op.name()), ty.dtype, takes_atomic(*op, ty.dtype))?;
                check(values.len() == op.values().len(), || {
                    format!("atomic_{} of {} values", op.name(), values.len())
                })?;
                values.iter().try_for_each(|&x| self.same(x, &ty))
            }
        }
    }

    /// Whether an operation is one of this type.
    fn computes(&self, op: &str, dtype: DType, takes: bool) -> Result<(), String> {
        check(takes && !dtype.is_float8(), || format!("{op} of {dtype}"))
    }

    fn gives(&self, op: &str, operand: &Type, wanted: DType, result: &Type) -> Result<(), String> {
        check(result.dtype == wanted, || format!("{op} of {operand} gives {result}"))
    }

    fn number_of_program(&self, ty: &Type) -> Result<(), String> {
        check(ty.is_scalar() && ty.dtype.is_int(), || format!("a number of a program of type {ty}"))
    }

    /// An argument word is a number; one of a scalar parameter has the bits of its type.
    fn read_word(&self, word: usize, ty: &Type) -> Result<(), String> {
        self.word(word)?;
        let of_param = |p: &Param| p.first_word == word && p.kind == ParamKind::Scalar && p.dtype == ty.dtype;
        let fits = ty.is_scalar() && (ty.dtype == DType::U64 || self.f.params.iter().any(of_param));
        check(fits, || format!("argument word {word} is read as {ty}"))
    }

    /// Extents that are not powers of two are padded, which only dimensions of 1 leave as it is.
    fn reshape(&self, from: &Type, to: &Type) -> Result<(), String> {
        let elements = |t: &Type| t.shape.iter().product::<usize>();
        let squeezed = |t: &Type| t.shape.iter().copied().filter(|&e| e != 1).collect::<Vec<_>>();
        let padded = from.shape.iter().chain(&to.shape).any(|e| !e.is_power_of_two());
        let fits = elements(from) == elements(to) && (!padded || squeezed(from) == squeezed(to));
        check(fits && from.dtype == to.dtype && !from.is_scalar() && !to.is_scalar(), || {
            format!("{from} is reshaped to {to}")
        })
    }

    fn reduced(&self, value: Value, axis: usize, to: &[usize]) -> Result<(), String> {
        let mut shape = self.f.shape(value).to_vec();
        check(axis < shape.len(), || format!("no axis {axis}"))?;
        shape.remove(axis);
        check(shape == to, || format!("{shape:?} is not {to:?}"))
    }

    /// Tiles whose elements are combined together have one shape.
    fn together(&self, values: &[Value]) -> Result<(), String> {
        let shapes: Vec<_> = values.iter().map(|&v| self.f.shape(v)).collect();
        check(shapes.first().is_some_and(|s| !s.is_empty()) && shapes.iter().all(|s| *s == shapes[0]), || {
            format!("{shapes:?} are no tiles of one shape")
        })
    }

    /// By one of these operations, of one tile, or by a closure.
    fn combine(&mut self, by: &str, combine: &Combine, values: &[Value], known: &[Binary]) -> Result<(), String> {
        let dtypes: Vec<DType> = values.iter().map(|&v| self.ty(v).dtype).collect();
        match combine {
            Combine::Binary(b) => {
                let takes =
                    known.contains(b) && dtypes[0] != DType::Bool && dtypes.len() == 1 && b.takes().holds(dtypes[0]);
                self.computes(&format!("{by} by {}", b.name()), dtypes[0], takes)
            }
            Combine::Closure { a, b, body, results } => {
                let (args, both) = ([&a[..], b].concat(), [&dtypes[..], &dtypes].concat());
                self.closure((&args, &both), body, (results, &dtypes))
            }
        }
    }

    /// The values of a closure are in reach in it alone.
    fn closure(
        &mut self,
        args: (&[Value], &[DType]),
        body: &[Value],
        results: (&[Value], &[DType]),
    ) -> Result<(), String> {
        let mut inner = vec![];
        for (list, dtypes) in [args, results] {
            check(list.len() == dtypes.len(), || {
                format!("a closure of {} values for {} tiles", list.len(), dtypes.len())
            })?;
        }
        for (&v, &dtype) in args.0.iter().zip(args.1) {
            self.is_value(v)?;
            self.scalar(v, Some(dtype))?;
            check(matches!(self.f.op(v), Op::LoopVar), || format!("{v:?} is no argument of a closure"))?;
            self.define(v, &mut inner)?;
        }
        for &v in body {
            self.is_value(v)?;
            self.scalar(v, None)?;
            let op = self.f.op(v);
            let constant = matches!(op, Op::Int(_) | Op::Float(_) | Op::Bool(_) | Op::Word { .. });
            check(constant || op.is_elementwise(), || format!("{v:?} is no arithmetic, in a closure"))?;
            self.op(v)?;
            self.define(v, &mut inner)?;
        }
        for (&v, &dtype) in results.0.iter().zip(results.1) {
            self.uses([v])?;
            self.scalar(v, Some(dtype))?;
        }
        inner.into_iter().for_each(|v| self.defined[v.0 as usize] = false);
        Ok(())
    }

    fn dot(&self, [a, b, acc]: [Value; 3], precision: Precision, ty: &Type) -> Result<(), String> {
        let f = self.f;
        self.same(acc, ty)?;
        let (of_a, of_b) = (f.ty(a), f.ty(b));
        let rank = ty.shape.len();
        check((2..=3).contains(&rank) && of_a.shape.len() == rank && of_b.shape.len() == rank, || {
            format!("{of_a} times {of_b} is not {ty}")
        })?;
        let ((ba, [m, k]), (bb, [kb, n]), (bc, mn)) =
            (matrices(&of_a.shape), matrices(&of_b.shape), matrices(&ty.shape));
        let fits = ba == bb && bb == bc && k == kb && mn == [m, n];
        let is_narrow = ty.dtype == DType::F16
            && self.has_narrow_sums
            && matches!(of_a.dtype, DType::F16 | DType::F8E4M3 | DType::F8E5M2);
        let is_sum = product(of_a.dtype) == Some(ty.dtype) || is_narrow;
        check(fits && of_a.dtype == of_b.dtype && is_sum, || format!("{of_a} times {of_b} is not {ty}"))?;
        check(precision == Precision::Ieee || of_a.dtype == DType::F32, || {
            format!("operands of {} are rounded to tf32", of_a.dtype)
        })?;
        let by_tensor_cores = !matches!((of_a.dtype, precision), (DType::F32 | DType::F64, Precision::Ieee));
        check(!by_tensor_cores || k * of_a.dtype.size() >= 32, || {
            format!("{of_a} times {of_b}: tensor cores multiply rows of 32 bytes or more")
        })?;
        let powers = ba.iter().chain([&k]).all(|e| e.is_power_of_two());
        let one = (m.is_power_of_two() || n.is_power_of_two()) && is_product_extent(m) && is_product_extent(n);
        check(powers && one, || {
            format!("{of_a} times {of_b}: extents are powers of two, and rows or columns may be 3, 5 or 7 times one")
        })
    }
}
