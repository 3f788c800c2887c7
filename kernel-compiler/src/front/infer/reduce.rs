//! Reductions: over an axis, or over all elements to a scalar.

use crate::diag::{Code, Result, Span};
use crate::dtype::DType;
use crate::front::ast::Expr;
use crate::front::infer::builtins::Call;
use crate::front::infer::options::is_scan;
use crate::front::infer::{Closure, Infer, Val, builtins};
use crate::ir::{Binary, Combine, Op, StmtKind, Type, Value};

/// Tiles that one reduction or scan takes.
const MAX_TILES: usize = 8;

impl Infer<'_> {
    /// `max(t)` and `max(t, AXIS)` reduce a tile; `max(a, b)` of two values compares them.
    pub(super) fn is_reduced(&self, first: &Val, second: Option<&Val>) -> bool {
        let is_tile = matches!(first, Val::Run(v) if !self.ty(*v).is_scalar());
        is_tile && second.is_none_or(|v| matches!(v, Val::Int(_, None | Some(DType::U64))))
    }

    /// `first`: the first argument, where it is known.
    pub(super) fn reduction(&mut self, name: &str, c: &Call, first: Option<Val>) -> Result<Val> {
        let custom = name == "reduce";
        let counts = if custom { 2..=3 } else { 1..=2 };
        if !counts.contains(&c.args.len()) {
            let usage = builtins::usage(name);
            return self.error(Code::ArgumentCount, c.span, format!("expected {usage}"));
        }
        let tiles = match first {
            Some(first) => self.tiles_of(name, first, &c.args[0], custom)?,
            None => self.tiles(name, &c.args[0], custom)?,
        };
        let ty = self.ty(tiles[0]).clone();
        let (axis, closure) = match (custom, c.args.len()) {
            (true, n) => {
                let Val::Closure(f) = self.expr(&c.args[n - 1])? else {
                    return self.error(
                        Code::OperationClosure,
                        c.args[n - 1].span,
                        "a closure is expected: `reduce(t, axis, |a, b| a + b)`",
                    );
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
            let compared = match (name, axis) {
                ("max" | "min", Some(axis)) => format!(", as `{name}(m.to::<i32>(), {axis}) != 0`"),
                ("max" | "min", None) => format!(", as `{name}(m.to::<i32>()) != 0`"),
                _ => String::new(),
            };
            return self.error(
                Code::ElementType,
                c.args[0].span,
                format!("`{name}` of bool: convert with `.to::<i32>()`{compared}"),
            );
        }
        if matches!(name, "argmax" | "argmin") {
            return self.arg_reduction(tiles[0], axis, name == "argmax", c.span);
        }
        if let (Some(_), Some(&e)) =
            (&closure, axis.map_or_else(|| ty.shape.iter().find(|e| !e.is_power_of_two()), |a| ty.shape.get(a)))
            && !e.is_power_of_two()
        {
            return self.error(Code::PowerOfTwo, c.span, format!("`reduce` with a closure needs an extent that is a power of two, found {e}: take a larger tile, filled with a neutral element"));
        }
        // Halves are summed in f32 and rounded once.
        let is_wide = name == "sum" && !planted!("sum-rounds-each-half");
        let wide = if is_wide { self.widened(tiles[0], c.span) } else { None };
        let mut values = wide.map_or(tiles, |v| vec![v]);
        let combine = match (name, closure) {
            (_, Some(f)) => self.combine(&f, name, &values, c.span)?,
            ("sum", _) => Combine::Binary(Binary::Add),
            ("max", _) => Combine::Binary(self.extremum_op(Binary::Max, ty.dtype, c)?),
            _ => Combine::Binary(self.extremum_op(Binary::Min, ty.dtype, c)?),
        };
        match axis {
            Some(a) => values = self.reduce_axis(values, a, combine, c.span),
            None => {
                values = values.into_iter().map(|v| self.flatten(v, c.span)).collect::<Result<_>>()?;
                while !self.ty(values[0]).is_scalar() {
                    let last = self.ty(values[0]).shape.len() - 1;
                    values = self.reduce_axis(values, last, combine.clone(), c.span);
                }
            }
        }
        if wide.is_some() {
            let shape = self.ty(values[0]).shape.clone();
            return Ok(Val::Run(self.push(Op::Cast(values[0]), Type { dtype: ty.dtype, shape }, c.span)));
        }
        Ok(results(values))
    }

    /// The operand of a reduction or a scan: a tile, or tiles of one shape where there may be `several`.
    pub(super) fn tiles(&mut self, name: &str, e: &Expr, several: bool) -> Result<Vec<Value>> {
        let found = self.expr(e)?;
        self.tiles_of(name, found, e, several)
    }

    /// The same of an expression whose value is known.
    fn tiles_of(&mut self, name: &str, found: Val, e: &Expr, several: bool) -> Result<Vec<Value>> {
        let list = match found {
            Val::Tuple(list) if several && (2..=MAX_TILES).contains(&list.len()) => list,
            Val::Tuple(list) if several => {
                return self.error(
                    Code::TilesOfOneShape,
                    e.span,
                    format!("`{name}` takes a tile or a tuple of 2 to {MAX_TILES}, found a tuple of {}", list.len()),
                );
            }
            v => vec![v],
        };
        let tiles = list.into_iter().map(|v| self.run(v, e.span)).collect::<Result<Vec<_>>>()?;
        let first = self.ty(tiles[0]).clone();
        for &t in &tiles {
            let ty = self.ty(t);
            if ty.is_scalar() {
                let verb = match name {
                    n if is_scan(n) => "scans",
                    "sort" | "topk" => "sorts",
                    _ => "reduces",
                };
                return self.error(Code::NeedsTile, e.span, format!("`{name}` {verb} a tile, found a scalar {ty}"));
            }
            if ty.shape != first.shape {
                return self.error(
                    Code::TilesOfOneShape,
                    e.span,
                    format!("`{name}` takes tiles of one shape, found {first} and {ty}"),
                );
            }
            self.computes(t, &format!("`{name}`"), e.span)?;
        }
        Ok(tiles)
    }

    /// In f32, of 16-bit floats.
    pub(super) fn widened(&mut self, v: Value, span: Span) -> Option<Value> {
        let ty = self.ty(v).clone();
        let halves = matches!(ty.dtype, DType::F16 | DType::BF16);
        halves.then(|| self.push(Op::Cast(v), Type { dtype: DType::F32, shape: ty.shape }, span))
    }

    fn reduce_axis(&mut self, values: Vec<Value>, axis: usize, combine: Combine, span: Span) -> Vec<Value> {
        let mut shape = self.ty(values[0]).shape.clone();
        shape.remove(axis);
        self.results(Op::Reduce { values: values.clone(), axis, combine }, &values, &shape, span)
    }

    /// The results of an operation on several tiles, of their types and this shape.
    pub(super) fn results(&mut self, op: Op, tiles: &[Value], shape: &[usize], span: Span) -> Vec<Value> {
        let ty = |cx: &Self, i: usize| Type { dtype: cx.ty(tiles[i]).dtype, shape: shape.to_vec() };
        let first = self.push(op, ty(self, 0), span);
        let others = (1..tiles.len()).map(|i| self.push(Op::Result(first, i), ty(self, i), span));
        [first].into_iter().chain(others.collect::<Vec<_>>()).collect()
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
                        Code::PowerOfTwo,
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

    /// A user's closure: scalar arithmetic on an element of each tile and another one of each.
    pub(super) fn combine(&mut self, f: &Closure, name: &str, tiles: &[Value], span: Span) -> Result<Combine> {
        let (dtypes, at): (Vec<DType>, _) = (tiles.iter().map(|&t| self.ty(t).dtype).collect(), f.written.body.span);
        let mut argument =
            || dtypes.iter().map(|&d| self.define(Op::LoopVar, Type::scalar(d), span)).collect::<Vec<_>>();
        let (a, b) = (argument(), argument());
        let args = [&a, &b].map(|list| results(list.clone()));
        let (body, results) = self.scalar_code(f, name, args.to_vec(), span, |cx, found| {
            let list = match found {
                Val::Tuple(list) if list.len() == dtypes.len() => list,
                v if dtypes.len() == 1 => vec![v],
                v => {
                    let found = cx.describe(&v);
                    let n = dtypes.len();
                    return cx.error(
                        Code::OperationClosure,
                        at,
                        format!("the closure of `{name}` gives a tuple of {n} here, found {found}"),
                    );
                }
            };
            list.into_iter().zip(&dtypes).map(|(v, &d)| cx.run_as(v, d, at)).collect()
        })?;
        Ok(Combine::Closure { a, b, body, results })
    }

    /// The code of a closure on scalars: the values that it defines, and its results. `finish` takes the results out of
    /// the closure's value.
    pub(super) fn scalar_code(
        &mut self,
        f: &Closure,
        name: &str,
        args: Vec<Val>,
        span: Span,
        finish: impl FnOnce(&mut Self, Val) -> Result<Vec<Value>>,
    ) -> Result<(Vec<Value>, Vec<Value>)> {
        let at = f.written.body.span;
        let (stmts, found) = self.nested(|cx| {
            let found = cx.closure(f, args.into_iter().map(|v| (v, span)).collect(), span)?;
            finish(cx, found)
        });
        let found = found?;
        if found.iter().any(|&v| !self.ty(v).is_scalar()) {
            return self.error(
                Code::OperationClosure,
                at,
                format!("the closure of `{name}` takes scalars and gives scalars"),
            );
        }
        let mut body = vec![];
        for s in stmts {
            match &s.kind {
                StmtKind::Let(v)
                    if matches!(
                        self.values[v.0 as usize].op,
                        Op::Int(_) | Op::Float(_) | Op::Bool(_) | Op::Word { .. }
                    ) || self.values[v.0 as usize].op.is_elementwise() =>
                {
                    body.push(*v)
                }
                kind => {
                    let cure = match kind {
                        StmtKind::If { .. } => ": write `where_(c, a, b)` for an `if`, also for each part of a tuple",
                        _ => "",
                    };
                    return self.error(
                        Code::OperationClosure,
                        at,
                        format!("the closure of `{name}` only computes with its arguments{cure}"),
                    );
                }
            }
        }
        Ok((body, found))
    }
}

/// One value, or a tuple of several.
pub(super) fn results(values: Vec<Value>) -> Val {
    match values[..] {
        [v] => Val::Run(v),
        _ => Val::Tuple(values.into_iter().map(Val::Run).collect()),
    }
}
