//! The verifier: the invariants of the IR, checked after every pass in debug builds and tests.
//!
//! - A value is defined once, before its uses, in a block that encloses them.
//! - Operands of an elementwise op have the shape of its result, and the dtype that the op asks for.
//! - A variable keeps one type: what is assigned to it and read from it has that type.
//! - Control flow depends on scalars of type `bool`, and loop bounds have the type of the loop's variable.
//! - `break` and `continue` stand in a loop.
//! - Shape operations, products, reductions and accesses have the shapes that they say.
//! - A block pointer has as many offsets as dimensions, at least as many as its tile, and they are scalars.
//! - Statements are numbered in the order of the function.

use super::{Address, Block, BlockPointer, Combine, Func, Op, Stmt, StmtKind, Type, Value, Var, matrices};
use crate::dtype::DType;

/// The first invariant that does not hold.
pub fn verify(f: &Func) -> Result<(), String> {
    let mut v = Verifier { f, defined: vec![false; f.values.len()], loops: 0, next: 0 };
    v.block(&f.body)
}

struct Verifier<'a> {
    f: &'a Func,
    /// Values that are in reach.
    defined: Vec<bool>,
    loops: usize,
    /// The id of the next statement.
    next: u32,
}

fn check(holds: bool, message: impl FnOnce() -> String) -> Result<(), String> {
    if holds { Ok(()) } else { Err(message()) }
}

impl Verifier<'_> {
    fn ty(&self, v: Value) -> &Type {
        self.f.ty(v)
    }

    fn block(&mut self, stmts: &Block) -> Result<(), String> {
        let mut mine = vec![];
        for s in stmts {
            check(s.id.0 == self.next, || format!("statement {:?} is number {} of the function", s.id, self.next))?;
            self.next += 1;
            self.stmt(s, &mut mine).map_err(|e| format!("{:?}: {e}", s.id))?;
        }
        mine.into_iter().for_each(|v: Value| self.defined[v.0 as usize] = false);
        Ok(())
    }

    fn define(&mut self, v: Value, mine: &mut Vec<Value>) -> Result<(), String> {
        let i = v.0 as usize;
        check(i < self.defined.len(), || format!("{v:?} is no value"))?;
        check(!std::mem::replace(&mut self.defined[i], true), || format!("{v:?} is defined twice"))?;
        mine.push(v);
        Ok(())
    }

    fn uses(&self, values: impl IntoIterator<Item = Value>) -> Result<(), String> {
        for v in values {
            let known = self.defined.get(v.0 as usize).is_some_and(|&d| d);
            check(known, || format!("{v:?} is not defined here"))?;
        }
        Ok(())
    }

    fn scalar(&self, v: Value, dtype: Option<DType>) -> Result<(), String> {
        let ty = self.ty(v);
        check(ty.is_scalar() && dtype.is_none_or(|d| ty.dtype == d), || match dtype {
            Some(d) => format!("{v:?} is {ty}, not {d}"),
            None => format!("{v:?} is {ty}, not a scalar"),
        })
    }

    fn same(&self, v: Value, ty: &Type) -> Result<(), String> {
        check(self.ty(v) == ty, || format!("{v:?} is {}, not {ty}", self.ty(v)))
    }

    fn shape(&self, v: Value, shape: &[usize]) -> Result<(), String> {
        check(self.f.shape(v) == shape, || format!("{v:?} is {}, not of shape {shape:?}", self.ty(v)))
    }

    fn stmt(&mut self, s: &Stmt, mine: &mut Vec<Value>) -> Result<(), String> {
        match &s.kind {
            StmtKind::Let(v) => {
                self.op(*v)?;
                self.define(*v, mine)
            }
            StmtKind::Assign(var, v) => {
                self.uses([*v])?;
                let ty = self.var(*var)?.clone();
                self.same(*v, &ty)
            }
            StmtKind::Store { place, value, mask, block_pointer, .. } => {
                self.uses([place.index(), *value].into_iter().chain(*mask))?;
                let shape = self.f.shape(*value).to_vec();
                self.access(place, &shape, *mask, block_pointer.as_ref())?;
                let dtype = self.f.params[place.param()].dtype;
                check(self.ty(*value).dtype == dtype, || format!("{value:?} is stored to elements of {dtype}"))?;
                check(self.f.params[place.param()].kind.is_mut(), || "a store to a parameter that is read".into())
            }
            StmtKind::If { cond, then, other } => {
                self.uses([*cond])?;
                self.scalar(*cond, Some(DType::Bool))?;
                self.block(then)?;
                self.block(other)
            }
            StmtKind::For { iv, lo, hi, step, body, .. } => {
                self.uses([*lo, *hi, *step])?;
                let dtype = self.ty(*iv).dtype;
                [*iv, *lo, *hi, *step].into_iter().try_for_each(|v| self.scalar(v, Some(dtype)))?;
                check(matches!(self.f.op(*iv), Op::LoopVar), || format!("{iv:?} is no loop variable"))?;
                let mut inner = vec![];
                self.define(*iv, &mut inner)?;
                self.in_loop(body)?;
                self.defined[iv.0 as usize] = false;
                Ok(())
            }
            StmtKind::Loop { body } => self.in_loop(body),
            StmtKind::Break | StmtKind::Continue => check(self.loops > 0, || "no loop to leave".into()),
            StmtKind::Return => Ok(()),
            StmtKind::Assert { cond, .. } => {
                self.uses([*cond])?;
                check(self.ty(*cond).dtype == DType::Bool, || format!("{cond:?} is no condition"))
            }
            StmtKind::Print { value, .. } => self.uses([*value]),
        }
    }

    fn in_loop(&mut self, body: &Block) -> Result<(), String> {
        self.loops += 1;
        let done = self.block(body);
        self.loops -= 1;
        done
    }

    fn var(&self, var: Var) -> Result<&Type, String> {
        self.f.vars.get(var.0 as usize).map(|v| &v.ty).ok_or_else(|| format!("{var:?} is no variable"))
    }

    fn access(
        &self,
        place: &Address,
        shape: &[usize],
        mask: Option<Value>,
        block_pointer: Option<&BlockPointer>,
    ) -> Result<(), String> {
        check(place.param() < self.f.params.len(), || "no such parameter".into())?;
        self.shape(place.index(), shape)?;
        check(self.ty(place.index()).dtype.is_int(), || format!("{:?} is no index", place.index()))?;
        if let Some(m) = mask {
            self.shape(m, shape)?;
            check(self.ty(m).dtype == DType::Bool, || format!("{m:?} is no mask"))?;
        }
        let Some(w) = block_pointer else { return Ok(()) };
        self.uses(w.at.iter().copied())?;
        w.at.iter().try_for_each(|&v| self.scalar(v, None))?;
        check(w.at.len() == w.dims.len() && w.dims.len() >= shape.len(), || {
            format!("a block pointer of {} dimensions and {} offsets for a tile {shape:?}", w.dims.len(), w.at.len())
        })
    }

    fn op(&mut self, v: Value) -> Result<(), String> {
        let f = self.f;
        let (op, ty) = (f.op(v), f.ty(v).clone());
        self.uses(op.operands())?;
        let elements = |shape: &[usize]| shape.iter().product::<usize>();
        match op {
            Op::Int(_) => check(ty.is_scalar() && ty.dtype.is_int(), || format!("an integer of type {ty}")),
            Op::Float(_) => check(ty.is_scalar() && ty.dtype.is_float(), || format!("a float of type {ty}")),
            Op::Bool(_) => check(ty == Type::scalar(DType::Bool), || format!("a bool of type {ty}")),
            Op::Slot { .. } | Op::ProgramId(_) | Op::NumPrograms(_) | Op::Rank => {
                check(ty.is_scalar(), || format!("a scalar of type {ty}"))
            }
            Op::LoopVar => Err("a loop variable is defined by its loop".into()),
            Op::ReadVar(var) => check(*self.var(*var)? == ty, || format!("{var:?} is read as {ty}")),
            Op::Arange { .. } => check(ty.shape.len() == 1 && ty.dtype.is_int(), || format!("a range of type {ty}")),
            Op::Splat(x) => self.scalar(*x, Some(ty.dtype)),
            Op::Unary(_, x) => self.same(*x, &ty),
            Op::Binary(b, x, y) => {
                let operands = self.ty(*x).clone();
                self.shape(*x, &ty.shape)?;
                self.same(*y, &operands)?;
                let result = if b.is_compare() { DType::Bool } else { operands.dtype };
                check(ty.dtype == result, || format!("{} of {operands} gives {ty}", b.name()))
            }
            Op::Fma(a, b, c) => [a, b, c].into_iter().try_for_each(|&x| self.same(x, &ty)),
            Op::Select(cond, a, b) => {
                self.same(*cond, &Type::tile(DType::Bool, ty.shape.clone()))?;
                [a, b].into_iter().try_for_each(|&x| self.same(x, &ty))
            }
            Op::Cast(x) => self.shape(*x, &ty.shape),
            Op::Bitcast(x) => {
                self.shape(*x, &ty.shape)?;
                let (from, to) = (self.ty(*x).dtype.size(), ty.dtype.size());
                check(from == to, || format!("a bitcast of {from} bytes to {to}"))
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
            Op::Reshape(x) => {
                let same = elements(f.shape(*x)) == elements(&ty.shape) && self.ty(*x).dtype == ty.dtype;
                check(same, || format!("{} is reshaped to {ty}", self.ty(*x)))
            }
            Op::Permute(x, perm) => {
                let from = f.shape(*x);
                let mut sorted = perm.clone();
                sorted.sort_unstable();
                check(sorted.into_iter().eq(0..from.len()), || format!("{perm:?} is no permutation"))?;
                let shape: Vec<usize> = perm.iter().map(|&d| from[d]).collect();
                check(shape == ty.shape && self.ty(*x).dtype == ty.dtype, || format!("{shape:?} is not {ty}"))
            }
            Op::Reduce { value, axis, combine } => {
                if let Combine::Closure { a, b, body, result } = combine {
                    self.closure([*a, *b], body, *result)?;
                }
                self.reduced(*value, *axis, &ty.shape)?;
                check(self.ty(*value).dtype == ty.dtype, || format!("{} is reduced to {ty}", self.ty(*value)))
            }
            Op::ArgReduce { value, axis, .. } => {
                self.reduced(*value, *axis, &ty.shape)?;
                check(ty.dtype == DType::I32, || format!("an index of type {ty}"))
            }
            Op::Load { place, mask, other, block_pointer, .. } => {
                self.access(place, &ty.shape, *mask, block_pointer.as_ref())?;
                other.iter().try_for_each(|&o| self.same(o, &ty))?;
                let dtype = f.params[place.param()].dtype;
                check(ty.dtype == dtype, || format!("{ty} is loaded from elements of {dtype}"))
            }
            Op::Dot { a, b, acc, .. } => {
                self.same(*acc, &ty)?;
                check(f.shape(*a).len() == ty.shape.len() && ty.shape.len() >= 2, || {
                    format!("a product of type {ty}")
                })?;
                check(f.shape(*b).len() == ty.shape.len(), || format!("a product of type {ty}"))?;
                let ((ba, [m, k]), (bb, [kb, n]), (bc, mn)) =
                    (matrices(f.shape(*a)), matrices(f.shape(*b)), matrices(&ty.shape));
                let fits = ba == bb && bb == bc && k == kb && mn == [m, n];
                check(fits, || format!("{} times {} is not {ty}", self.ty(*a), self.ty(*b)))
            }
            Op::Atomic { op, place, values, mask, .. } => {
                self.access(place, &ty.shape, *mask, None)?;
                check(values.len() == op.values().len(), || format!("{} values", values.len()))?;
                values.iter().try_for_each(|&x| self.same(x, &ty))
            }
        }
    }

    fn reduced(&self, value: Value, axis: usize, to: &[usize]) -> Result<(), String> {
        let mut shape = self.f.shape(value).to_vec();
        check(axis < shape.len(), || format!("no axis {axis}"))?;
        shape.remove(axis);
        check(shape == to, || format!("{shape:?} is not {to:?}"))
    }

    /// The values of a closure are in reach in it alone.
    fn closure(&mut self, args: [Value; 2], body: &[Value], result: Value) -> Result<(), String> {
        let mut inner = vec![];
        args.into_iter().try_for_each(|v| self.define(v, &mut inner))?;
        for &v in body {
            self.op(v)?;
            self.define(v, &mut inner)?;
        }
        self.uses([result])?;
        inner.into_iter().for_each(|v| self.defined[v.0 as usize] = false);
        Ok(())
    }
}
