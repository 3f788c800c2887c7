//! Values of the backward function: constants, arithmetic, and contents of variables.

use super::Adjoint;
use super::refused::Refused;
use crate::dtype::DType;
use crate::ir::walk::assigned_vars;
use crate::ir::{Binary, Combine, Op, Stmt, StmtKind, Type, Unary, Value, Var, VarInfo};

impl Adjoint<'_> {
    pub(super) fn emit(&mut self, op: Op, ty: Type) -> Value {
        self.g.push(op, ty, self.span, &mut self.out)
    }

    pub(super) fn new_var(&mut self, name: &str, ty: Type) -> Var {
        self.g.vars.push(VarInfo { name: name.to_string(), ty });
        Var(self.g.vars.len() as u32 - 1)
    }

    /// The present content of a variable.
    pub(super) fn read(&mut self, var: Var) -> Value {
        if let Some(&v) = self.known.get(&var) {
            return v;
        }
        let v = self.emit(Op::ReadVar(var), self.g.vars[var.0 as usize].ty.clone());
        self.known.insert(var, v);
        v
    }

    pub(super) fn assign(&mut self, var: Var, v: Value) {
        self.out.push(StmtKind::Assign(var, v).into());
        self.known.insert(var, v);
    }

    /// The statements of a block. A block that runs `once` begins with the contents of variables that are known here.
    pub(super) fn nested(
        &mut self,
        once: bool,
        write: impl FnOnce(&mut Self) -> Result<(), Refused>,
    ) -> Result<Vec<Stmt>, Refused> {
        let (outer, known) = (std::mem::take(&mut self.out), self.known.clone());
        if !once {
            self.known.clear();
        }
        let written = write(self);
        let block = std::mem::replace(&mut self.out, outer);
        self.known = known;
        written.map(|()| block)
    }

    /// Writes a statement with blocks, behind which the contents of the variables that they assign are not known.
    pub(super) fn push_nested(&mut self, kind: StmtKind) {
        let s = Stmt::from(kind);
        for var in assigned_vars(std::slice::from_ref(&s)) {
            self.known.remove(&var);
        }
        self.out.push(s);
    }

    /// A number in every element.
    pub(super) fn number(&mut self, x: f64, ty: &Type) -> Value {
        let scalar = Type::scalar(ty.dtype);
        let number = if ty.dtype.is_float() { Op::Float(x) } else { Op::Int(x as i128) };
        let number = self.emit(number, scalar);
        if ty.is_scalar() { number } else { self.emit(Op::Splat(number), ty.clone()) }
    }

    pub(super) fn zero(&mut self, ty: &Type) -> Value {
        self.number(0.0, ty)
    }

    /// The number in each element of a tile like another.
    pub(super) fn like(&mut self, x: f64, v: Value) -> Value {
        self.number(x, &self.ty(v))
    }

    pub(super) fn unary(&mut self, u: Unary, x: Value) -> Value {
        self.emit(Op::Unary(u, x), self.ty(x))
    }

    pub(super) fn binary(&mut self, b: Binary, x: Value, y: Value) -> Value {
        let ty = self.ty(x);
        self.emit(Op::Binary(b, x, y), Type { dtype: b.gives(ty.dtype), ..ty })
    }

    pub(super) fn add(&mut self, x: Value, y: Value) -> Value {
        match () {
            () if self.g.is_zeros(x) => y,
            () if self.g.is_zeros(y) => x,
            () => self.binary(Binary::Add, x, y),
        }
    }

    pub(super) fn sub(&mut self, x: Value, y: Value) -> Value {
        self.binary(Binary::Sub, x, y)
    }

    pub(super) fn mul(&mut self, x: Value, y: Value) -> Value {
        self.binary(Binary::Mul, x, y)
    }

    pub(super) fn div(&mut self, x: Value, y: Value) -> Value {
        self.binary(Binary::Div, x, y)
    }

    pub(super) fn neg(&mut self, x: Value) -> Value {
        self.unary(Unary::Neg, x)
    }

    /// Times a number.
    pub(super) fn scaled(&mut self, x: Value, by: f64) -> Value {
        let by = self.like(by, x);
        self.mul(x, by)
    }

    pub(super) fn square(&mut self, x: Value) -> Value {
        self.mul(x, x)
    }

    pub(super) fn select(&mut self, cond: Value, x: Value, y: Value) -> Value {
        self.emit(Op::Select(cond, x, y), self.ty(x))
    }

    /// The value where a condition holds, else 0.
    pub(super) fn only(&mut self, cond: Value, x: Value) -> Value {
        let zero = self.like(0.0, x);
        self.select(cond, x, zero)
    }

    /// The value where a condition does not hold, else 0.
    pub(super) fn unless(&mut self, cond: Value, x: Value) -> Value {
        let zero = self.like(0.0, x);
        self.select(cond, zero, x)
    }

    pub(super) fn cast(&mut self, x: Value, to: DType) -> Value {
        let ty = self.ty(x);
        if ty.dtype == to { x } else { self.emit(Op::Cast(x), Type { dtype: to, ..ty }) }
    }

    /// The sum along an axis. Floats of 16 bits are summed in f32, as by `sum`.
    pub(super) fn sum_axis(&mut self, x: Value, axis: usize) -> Value {
        let dtype = self.dtype(x);
        let wide = if dtype.size() < 4 { self.cast(x, DType::F32) } else { x };
        let mut ty = self.ty(wide);
        ty.shape.remove(axis);
        let op = Op::Reduce { values: vec![wide], axis, combine: Combine::Binary(Binary::Add) };
        let sum = self.emit(op, ty);
        self.cast(sum, dtype)
    }

    /// The sum of all elements.
    pub(super) fn sum_all(&mut self, x: Value) -> Value {
        let dtype = self.dtype(x);
        let mut sum = if dtype.size() < 4 { self.cast(x, DType::F32) } else { x };
        while !self.g.ty(sum).is_scalar() {
            sum = self.sum_axis(sum, self.g.shape(sum).len() - 1);
        }
        self.cast(sum, dtype)
    }

    /// The same elements in a shape with other extents of 1.
    pub(super) fn reshaped(&mut self, x: Value, shape: &[usize]) -> Value {
        let dtype = self.dtype(x);
        match (self.g.shape(x), shape) {
            (from, to) if from == to => x,
            ([], _) => self.emit(Op::Splat(x), Type::tile(dtype, shape)),
            (_, []) => self.sum_all(x),
            _ => self.emit(Op::Reshape(x), Type::tile(dtype, shape)),
        }
    }

    /// A tile that was reduced along an axis, in each place along the axis.
    pub(super) fn spread(&mut self, x: Value, axis: usize, shape: &[usize]) -> Value {
        let mut flat = shape.to_vec();
        flat[axis] = 1;
        let dtype = self.dtype(x);
        if self.g.ty(x).is_scalar() {
            return self.emit(Op::Splat(x), Type::tile(dtype, shape));
        }
        let x = self.emit(Op::Expand(x, axis), Type::tile(dtype, flat.clone()));
        if flat == shape { x } else { self.emit(Op::Broadcast(x), Type::tile(dtype, shape)) }
    }

    /// The indices along an axis, in each element of a tile of this shape.
    pub(super) fn indices(&mut self, axis: usize, shape: &[usize]) -> Value {
        let line = self.emit(Op::Arange { start: 0 }, Type::tile(DType::U64, [shape[axis]]));
        let mut flat = vec![1; shape.len()];
        flat[axis] = shape[axis];
        let line = self.reshaped(line, &flat);
        if flat == shape { line } else { self.emit(Op::Broadcast(line), Type::tile(DType::U64, shape)) }
    }
}
