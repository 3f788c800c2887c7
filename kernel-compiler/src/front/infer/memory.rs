//! Loads, stores, atomics, views and pointers.

use crate::diag::{Result, Span};
use crate::dtype::{DType, in_message};
use crate::front::ast::Expr;
use crate::front::infer::builtins::{Call, usage};
use crate::front::infer::options::Options;
use crate::front::infer::{Infer, Val};
use crate::ir::{Address, Atomic, Binary, BlockPointer, Dim, Number, Op, ParamKind, StmtKind, Type, Value};

fn atomic_op(name: &str) -> Option<Atomic> {
    Some(match name {
        "atomic_add" => Atomic::Add,
        "atomic_max" => Atomic::Max,
        "atomic_min" => Atomic::Min,
        "atomic_and" => Atomic::And,
        "atomic_or" => Atomic::Or,
        "atomic_xor" => Atomic::Xor,
        "atomic_xchg" => Atomic::Xchg,
        "atomic_cas" => Atomic::Cas,
        "atomic_load" => Atomic::Load,
        "atomic_store" => Atomic::Store,
        _ => return None,
    })
}

impl Infer<'_> {
    pub(super) fn access(&mut self, name: &str, c: &Call) -> Result<Val> {
        let Some(first) = c.args.first() else {
            return self.error(c.span, format!("`{name}` needs a slice, a pointer or a view"));
        };
        let base = self.expr(first)?;
        if let Val::Param(p) = base
            && let ParamKind::View { rank, .. } = self.params[p].kind
        {
            return self.view_access(name, c, p, rank);
        }
        if name == "tile" {
            let found = self.describe(&base);
            return self.error(first.span, format!("`.tile` is for views, found {found}: use `load(x, i)`"));
        }
        let writes = name != "load";
        let (param, place, rest) = match base {
            Val::Param(param) => {
                if let ("store", 2) = (name, c.args.len()) {
                    let slice = &self.params[param].name;
                    return self.error(
                        c.span,
                        format!("`store` on a slice needs an index and a value: `store({slice}, i, v)`"),
                    );
                }
                let Some(i) = c.args.get(1) else {
                    return self.error(
                        c.span,
                        format!("`{name}` on a slice needs an index: `{name}({}, i, ..)`", self.params[param].name),
                    );
                };
                let v = self.expr(i)?;
                let index = self.index(v, i.span)?;
                let place =
                    if c.options.unchecked { Address::Raw { param, index } } else { Address::Slice { param, index } };
                (param, place, &c.args[2..])
            }
            Val::Ptr(param, offset) => {
                let index = match offset {
                    Some(o) => o,
                    None => self.constant(&Val::Int(0, None), DType::U64, first.span)?,
                };
                (param, Address::Raw { param, index }, &c.args[1..])
            }
            other => {
                let found = self.describe(&other);
                return self.error(first.span, format!("`{name}` needs a slice, a pointer or a view, found {found}"));
            }
        };
        if writes && !self.params[param].kind.is_mut() {
            let p = &self.params[param];
            return self.error(
                first.span,
                format!("`{}` cannot be written: declare it as `{}: &mut [{}]`", p.name, p.name, p.dtype.name()),
            );
        }
        let dtype = self.params[param].dtype;
        let shape = self.ty(place.index()).shape.clone();
        let mask = self.mask(&c.options, &shape)?;
        if let (Some((_, at)), true) = (&c.options.other, writes) {
            return self.error(*at, "only a load has `.other(v)`");
        }
        if c.options.relaxed && !name.starts_with("atomic_") {
            return self.error(c.span, "only an atomic has `.relaxed()`");
        }
        let value = |cx: &mut Self, e: &Expr, what: &str| {
            let v = cx.expr(e)?;
            let v = cx.run_as(v, dtype, e.span)?;
            cx.broadcast_to(v, &shape, e.span, what)
        };
        match (name, rest) {
            ("load", []) => {
                let other = match &c.options.other {
                    Some((v, at)) => {
                        let v = self.run_as(v.clone(), dtype, *at)?;
                        Some(self.broadcast_to(v, &shape, *at, "the `other` value")?)
                    }
                    None => None,
                };
                Ok(Val::Run(self.push(
                    Op::Load { place, mask, other, hint: c.options.hint, block_pointer: None },
                    Type { dtype, shape },
                    c.span,
                )))
            }
            ("store", [v]) => {
                let value = value(self, v, "a value to store")?;
                self.emit(StmtKind::Store {
                    place,
                    value,
                    mask,
                    hint: c.options.hint,
                    block_pointer: None,
                    span: c.span.first,
                });
                Ok(Val::Unit)
            }
            (_, given) if atomic_op(name).is_some_and(|op| op.values().len() == given.len()) => {
                self.atomic_dtype(name, dtype, c.span)?;
                let op = atomic_op(name).expect("checked");
                let values =
                    given.iter().zip(op.values()).map(|(v, what)| value(self, v, what)).collect::<Result<_>>()?;
                let old = self.push(
                    Op::Atomic { op, place, values, mask, relaxed: c.options.relaxed },
                    Type { dtype, shape },
                    c.span,
                );
                Ok(if op == Atomic::Store { Val::Unit } else { Val::Run(old) })
            }
            _ => {
                let usage = usage(name);
                let pointer = match place {
                    Address::Raw { .. } if !c.options.unchecked => format!(
                        "`{}` is a pointer, the index is added to it: `{name}({}.add(i), ..)`; ",
                        self.params[param].name, self.params[param].name
                    ),
                    _ => String::new(),
                };
                self.error(c.span, format!("wrong number of arguments: {pointer}expected {usage}"))
            }
        }
    }

    fn atomic_dtype(&self, name: &str, dtype: DType, span: Span) -> Result<()> {
        let bits = matches!(name, "atomic_and" | "atomic_or" | "atomic_xor");
        let ok = match dtype {
            DType::I32 | DType::U32 | DType::I64 | DType::U64 => true,
            DType::F32 | DType::F64 | DType::F16 | DType::BF16 => !bits,
            _ => false,
        };
        if ok {
            Ok(())
        } else {
            let allowed = if bits { "i32, u32, i64, u64" } else { "i32, u32, i64, u64, f32, f64, f16, bf16" };
            self.error(span, format!("`{name}` works on {allowed}, found {}", in_message(dtype)))
        }
    }

    /// An index: any integer, a literal becomes `usize`.
    fn index(&mut self, v: Val, span: Span) -> Result<Value> {
        let v = match v {
            Val::Int(_, None) => self.constant(&v, DType::U64, span)?,
            v => self.run(v, span)?,
        };
        let ty = self.ty(v).clone();
        if !ty.dtype.is_int() {
            return self.error(span, format!("an index is an integer, found {ty}: convert with `.to::<usize>()`"));
        }
        Ok(v)
    }

    pub(super) fn mask(&mut self, o: &Options, shape: &[usize]) -> Result<Option<Value>> {
        match &o.mask {
            None | Some((Val::Bool(true), _)) => Ok(None),
            Some((v, at)) => {
                let v = self.run(v.clone(), *at)?;
                let ty = self.ty(v).clone();
                if ty.dtype != DType::Bool {
                    return self.error(*at, format!("a mask is a bool, found {ty}: compare, as in `i < n`"));
                }
                self.broadcast_to(v, shape, *at, "a mask").map(Some)
            }
        }
    }

    pub(super) fn pointer_add(&mut self, p: Val, i: Val, span: Span) -> Result<Val> {
        let Val::Ptr(param, offset) = p else { return self.error(span, "a pointer is expected") };
        let mut i = self.index(i, span)?;
        if self.ty(i).dtype != DType::U64 {
            // Negative offsets wrap, as addresses do.
            let ty = Type { dtype: DType::U64, shape: self.ty(i).shape.clone() };
            i = self.push(Op::Cast(i), ty, span);
        }
        let offset = match offset {
            Some(o) => self.binary(Binary::Add, o, i, span)?,
            None => i,
        };
        Ok(Val::Ptr(param, Some(offset)))
    }

    pub(super) fn extent_of(&mut self, name: &str, c: &Call) -> Result<Val> {
        let Some(first) = c.args.first() else {
            return self.error(c.span, format!("`.{name}` follows a slice or a view"));
        };
        let base = self.expr(first)?;
        let slot = match (&base, name, c.args.len()) {
            (Val::Param(p), "len", 1) if matches!(self.params[*p].kind, ParamKind::Slice { .. }) => {
                self.params[*p].slot + 1
            }
            (Val::Param(p), "dim" | "stride", 2) if matches!(self.params[*p].kind, ParamKind::View { .. }) => {
                let ParamKind::View { rank, .. } = self.params[*p].kind else { unreachable!() };
                let axis = self.expr(&c.args[1])?;
                let axis = self.axis(&axis, rank, c.args[1].span)?;
                self.params[*p].slot + 1 + axis + if name == "stride" { rank } else { 0 }
            }
            (Val::Array(list), "len", 1) => return Ok(Val::Int(list.len() as i128, Some(DType::U64))),
            (Val::Run(v), "dim", 2) if !self.ty(*v).is_scalar() => {
                let shape = self.ty(*v).shape.clone();
                let axis = self.expr(&c.args[1])?;
                let axis = self.axis(&axis, shape.len(), c.args[1].span)?;
                return Ok(Val::Int(shape[axis] as i128, Some(DType::U64)));
            }
            _ => {
                let found = self.describe(&base);
                return self.error(
                    c.span,
                    format!(
                        "`x.len()` is for slices, `v.dim(axis)` for views and tiles, `v.stride(axis)` for views; found \
                         {found}"
                    ),
                );
            }
        };
        Ok(Val::Run(self.push(Op::Slot { slot }, Type::scalar(DType::U64), c.span)))
    }

    /// `v.tile([o..], [E..])` and `v.store([o..], t)`: element addresses and the clip that keeps them inside.
    fn view_access(&mut self, name: &str, c: &Call, param: usize, rank: usize) -> Result<Val> {
        let p = self.params[param].clone();
        let usage = format!("views have `{}.tile([o0, ..], [E0, ..])` and `{}.store([o0, ..], t)`", p.name, p.name);
        if !matches!(name, "tile" | "store") || c.args.len() != 3 {
            return self.error(c.span, usage);
        }
        if name == "store" && !p.kind.is_mut() {
            return self.error(
                c.args[0].span,
                format!(
                    "`{}` cannot be written: declare it as `mut {}: ViewMut<{}, {rank}>`",
                    p.name,
                    p.name,
                    p.dtype.name()
                ),
            );
        }
        let offsets = match self.expr(&c.args[1])? {
            Val::Array(list) | Val::Tuple(list) if list.len() == rank => list,
            _ => return self.error(c.args[1].span, format!("`{}` has rank {rank}: give {rank} offsets", p.name)),
        };
        let last = self.expr(&c.args[2])?;
        let (shape, value) = if name == "tile" {
            (self.shape(&last, c.args[2].span)?, None)
        } else {
            let v = self.run_as(last, p.dtype, c.args[2].span)?;
            (self.ty(v).shape.clone(), Some(v))
        };
        if shape.len() != rank {
            return self.error(c.args[2].span, format!("`{}` has rank {rank}, the tile has shape {shape:?}", p.name));
        }
        let span = c.span;
        let (mut index, mut mask, mut starts) = (None, None, vec![]);
        for (axis, (offset, &extent)) in offsets.into_iter().zip(&shape).enumerate() {
            let offset = self.run_as(offset, DType::U64, c.args[1].span)?;
            starts.push(offset);
            if !self.ty(offset).is_scalar() {
                return self.error(c.args[1].span, "an offset of a view's tile is a scalar");
            }
            let steps = self.push(Op::Arange { start: 0 }, Type::tile(DType::U64, [extent]), span);
            let mut position = self.binary(Binary::Add, offset, steps, span)?;
            for d in (0..rank).filter(|&d| d != axis) {
                let mut s = self.ty(position).shape.clone();
                s.insert(d.min(s.len()), 1);
                position = self.push(Op::Expand(position, d.min(s.len() - 1)), Type::tile(DType::U64, s), span);
            }
            let slot = |k| Op::Slot { slot: p.slot + 1 + k };
            let dim = self.push(slot(axis), Type::scalar(DType::U64), span);
            let stride = self.push(slot(rank + axis), Type::scalar(DType::U64), span);
            let inside = self.binary(Binary::Lt, position, dim, span)?;
            let term = self.binary(Binary::Mul, position, stride, span)?;
            index = Some(match index {
                None => term,
                Some(i) => self.binary(Binary::Add, i, term, span)?,
            });
            mask = Some(match mask {
                None => inside,
                Some(m) => self.binary(Binary::And, m, inside, span)?,
            });
        }
        let (index, mut mask) = (index.expect("rank is at least 1"), mask.expect("rank is at least 1"));
        if let Some(m) = self.mask(&c.options, &shape)? {
            mask = self.binary(Binary::And, mask, m, span)?;
        }
        let (index, mask) = (self.broadcast(index, &shape, span), self.broadcast(mask, &shape, span));
        let place = Address::Raw { param, index };
        // Extents are behind the address, strides behind them.
        let number = |k: usize| Number::slot(p.slot + 1 + k);
        let whole = BlockPointer {
            dims: (0..rank).map(|d| Dim { extent: number(d), stride: number(rank + d) }).collect(),
            at: starts,
        };
        match value {
            Some(value) => {
                let block_pointer = c.options.mask.is_none().then_some(whole);
                self.emit(StmtKind::Store {
                    place,
                    value,
                    mask: Some(mask),
                    hint: c.options.hint,
                    block_pointer,
                    span: span.first,
                });
                Ok(Val::Unit)
            }
            None => {
                let other = match &c.options.other {
                    Some((v, at)) => {
                        let v = self.run_as(v.clone(), p.dtype, *at)?;
                        Some(self.broadcast_to(v, &shape, *at, "the `other` value")?)
                    }
                    None => None,
                };
                let block_pointer = (c.options.mask.is_none() && other.is_none()).then_some(whole);
                Ok(Val::Run(self.push(
                    Op::Load { place, mask: Some(mask), other, hint: c.options.hint, block_pointer },
                    Type { dtype: p.dtype, shape },
                    span,
                )))
            }
        }
    }
}
