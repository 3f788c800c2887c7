//! Reductions: over an axis, or over all elements to a scalar.

use crate::diag::{Result, Span};
use crate::dtype::DType;
use crate::front::ast;
use crate::front::infer::builtins::Call;
use crate::front::infer::{Closure, Infer, Val, builtins};
use crate::ir::{Binary, Combine, Op, StmtKind, Type, Value};

impl Infer<'_> {
    /// `max(t)` and `max(t, 1)` reduce a tile; `max(a, b)` of two values compares them.
    pub(super) fn is_reduction(&mut self, c: &Call) -> Result<bool> {
        // Looked at without keeping the code that looking makes.
        let saved = self.values.len();
        let (_, tile) = self.nested(|cx| {
            let first = match c.args.first() {
                Some(a) => cx.expr(a)?,
                None => return Ok(true),
            };
            Ok(match first {
                Val::Run(v) => !cx.ty(v).is_scalar(),
                _ => false,
            })
        });
        self.values.truncate(saved);
        Ok(tile? && (c.args.len() == 1 || matches!(c.args[1].kind, ast::ExprKind::Int(_, None))))
    }

    pub(super) fn reduction(&mut self, name: &str, c: &Call) -> Result<Val> {
        let custom = name == "reduce";
        let counts = if custom { 2..=3 } else { 1..=2 };
        if !counts.contains(&c.args.len()) {
            let usage = builtins::usage(name);
            return self.error(c.span, format!("expected {usage}"));
        }
        let t = self.expr(&c.args[0])?;
        let t = self.run(t, c.args[0].span)?;
        let ty = self.ty(t).clone();
        if ty.is_scalar() {
            return self.error(c.args[0].span, format!("`{name}` reduces a tile, found a scalar {ty}"));
        }
        self.computes(t, &format!("`{name}`"), c.args[0].span)?;
        let (axis, closure) = match (custom, c.args.len()) {
            (true, n) => {
                let Val::Closure(f) = self.expr(&c.args[n - 1])? else {
                    return self.error(c.args[n - 1].span, "a closure is expected: `reduce(t, axis, |a, b| a + b)`");
                };
                (if n == 3 { Some(&c.args[1]) } else { None }, Some(f))
            }
            (false, 2) => (Some(&c.args[1]), None),
            _ => (None, None),
        };
        let axis = match axis {
            Some(e) => {
                let v = self.expr(e)?;
                Some(self.axis(&v, ty.shape.len(), e.span)?)
            }
            None => None,
        };
        if ty.dtype == DType::Bool && closure.is_none() {
            return self.error(c.args[0].span, format!("`{name}` of bool: convert with `.to::<i32>()`"));
        }
        if matches!(name, "argmax" | "argmin") {
            return self.arg_reduction(t, axis, name == "argmax", c.span);
        }
        if let (Some(_), Some(&e)) =
            (&closure, axis.map_or_else(|| ty.shape.iter().find(|e| !e.is_power_of_two()), |a| ty.shape.get(a)))
            && !e.is_power_of_two()
        {
            return self.error(c.span, format!("`reduce` with a closure needs an extent that is a power of two, found {e}: take a larger tile, filled with a neutral element"));
        }
        // Halves are summed in f32 and rounded once.
        let widen = name == "sum" && matches!(ty.dtype, DType::F16 | DType::BF16);
        let mut v = t;
        if widen {
            v = self.push(Op::Cast(v), Type { dtype: DType::F32, shape: ty.shape.clone() }, c.span);
        }
        let dtype = self.ty(v).dtype;
        let combine = match (name, closure) {
            (_, Some(f)) => self.combine(&f, dtype, c.span)?,
            ("sum", _) => Combine::Binary(Binary::Add),
            ("max", _) => Combine::Binary(self.extremum_op(Binary::Max, dtype, c)?),
            _ => Combine::Binary(self.extremum_op(Binary::Min, dtype, c)?),
        };
        match axis {
            Some(a) => v = self.reduce_axis(v, a, combine, c.span),
            None => {
                v = self.flatten(v, c.span)?;
                while !self.ty(v).is_scalar() {
                    let last = self.ty(v).shape.len() - 1;
                    v = self.reduce_axis(v, last, combine.clone(), c.span);
                }
            }
        }
        if widen {
            let shape = self.ty(v).shape.clone();
            v = self.push(Op::Cast(v), Type { dtype: ty.dtype, shape }, c.span);
        }
        Ok(Val::Run(v))
    }

    fn reduce_axis(&mut self, value: Value, axis: usize, combine: Combine, span: Span) -> Value {
        let mut ty = self.ty(value).clone();
        ty.shape.remove(axis);
        self.push(Op::Reduce { value, axis, combine }, ty, span)
    }

    /// As rank 1 where that is free: one scratch buffer instead of one per axis.
    fn flatten(&mut self, v: Value, span: Span) -> Result<Value> {
        let shape = self.ty(v).shape.clone();
        if shape.len() > 1 && shape.iter().all(|e| e.is_power_of_two()) {
            return self.reshape(v, &[shape.iter().product()], span);
        }
        Ok(v)
    }

    fn arg_reduction(&mut self, t: Value, axis: Option<usize>, largest: bool, span: Span) -> Result<Val> {
        let name = if largest { "argmax" } else { "argmin" };
        let (value, axis) = match axis {
            Some(a) => (t, a),
            None => {
                let flat = self.flatten(t, span)?;
                if self.ty(flat).shape.len() > 1 {
                    return self.error(
                        span,
                        format!("`{name}` of all elements needs extents that are powers of two; give an axis"),
                    );
                }
                (flat, 0)
            }
        };
        let mut shape = self.ty(value).shape.clone();
        shape.remove(axis);
        Ok(Val::Run(self.push(Op::ArgReduce { value, axis, largest }, Type { dtype: DType::I32, shape }, span)))
    }

    /// A user's reducer: scalar arithmetic on two elements.
    fn combine(&mut self, f: &Closure, dtype: DType, span: Span) -> Result<Combine> {
        let (scalar, at) = (Type::scalar(dtype), f.written.body.span);
        let a = self.define(Op::LoopVar, scalar.clone(), span);
        let b = self.define(Op::LoopVar, scalar, span);
        let (stmts, result) = self.nested(|cx| {
            let r = cx.closure(f, vec![(Val::Run(a), span), (Val::Run(b), span)], span)?;
            cx.run_as(r, dtype, at)
        });
        let result = result?;
        if !self.ty(result).is_scalar() {
            return self.error(at, "the closure of `reduce` takes two scalars and gives one");
        }
        let mut body = vec![];
        for s in stmts {
            match &s.kind {
                StmtKind::Let(v)
                    if matches!(
                        self.values[v.0 as usize].op,
                        Op::Int(_) | Op::Float(_) | Op::Bool(_) | Op::Slot { .. }
                    ) || self.values[v.0 as usize].op.is_elementwise() =>
                {
                    body.push(*v)
                }
                _ => return self.error(at, "the closure of `reduce` only computes with its two arguments"),
            }
        }
        Ok(Combine::Closure { a, b, body, result })
    }
}
