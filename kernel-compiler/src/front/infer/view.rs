//! Views: parameters, and views that a kernel makes of a pointer.

use crate::diag::{Code, Result, Span};
use crate::dtype::DType;
use crate::front::infer::builtins::Call;
use crate::front::infer::val::{Extents, Pointer, View};
use crate::front::infer::{Infer, Val};
use crate::ir::{Address, Base, Binary, BlockPointer, Dim, Number, Op, ParamKind, StmtKind, Type, Value};
use std::rc::Rc;
use tilewright_types::limits::MAX_RANK;

impl Infer<'_> {
    pub(super) fn view_of(&self, v: &Val) -> Option<Rc<View>> {
        match v {
            Val::View(view) => Some(view.clone()),
            Val::Param(p) => match self.params[*p].kind {
                ParamKind::View { rank, .. } => {
                    let extents = Extents::Words { first: self.params[*p].first_word + 1, rank };
                    Some(Rc::new(View { pointer: Pointer { to: Base::Raw(*p), offset: None }, extents }))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// `view(p, [M, N], [stride, 1])`
    pub(super) fn view(&mut self, c: &Call) -> Result<Val> {
        let [p, dims, strides] = self.args(c)?;
        let Val::Ptr(pointer) = p else {
            let found = self.describe(&p);
            return self.error(
                Code::ViewOfPointer,
                c.args[0].span,
                format!("`view` is made of a pointer, found {found}"),
            );
        };
        let offsets = pointer.offset.map_or(vec![], |o| self.ty(o).shape.clone());
        let addresses = pointer.to.address().map_or(vec![], |a| self.ty(a).shape.clone());
        if let Some(shape) = [offsets, addresses].into_iter().find(|s| !s.is_empty()) {
            return self.error(
                Code::ViewOfPointer,
                c.args[0].span,
                format!("`view` is made of one pointer, found pointers {shape:?}"),
            );
        }
        let mut numbers = |v: Val, of: usize, what: &str| match v {
            Val::Array(list) | Val::Tuple(list) if (1..=MAX_RANK).contains(&list.len()) => {
                let scalar = |v: Val| {
                    let v = self.run_as(v, DType::U64, c.args[of].span)?;
                    match self.ty(v).is_scalar() {
                        true => Ok(v),
                        false => self.error(Code::ViewOfPointer, c.args[of].span, format!("{what} are scalars")),
                    }
                };
                list.into_iter().map(scalar).collect::<Result<Vec<_>>>()
            }
            _ => self.error(
                Code::ViewOfPointer,
                c.args[of].span,
                format!("`view` takes {what} as an array of 1 to {MAX_RANK}: `[m, n]`"),
            ),
        };
        let (dims, strides) = (numbers(dims, 1, "extents")?, numbers(strides, 2, "strides")?);
        if dims.len() != strides.len() {
            let found = format!("{} extents and {} strides", dims.len(), strides.len());
            return self.error(
                Code::ViewOfPointer,
                c.span,
                format!("a view has a stride for each extent, found {found}"),
            );
        }
        Ok(Val::View(Rc::new(View { pointer, extents: Extents::Values { dims, strides } })))
    }

    /// The extent of a dimension, or its stride.
    fn view_extent(&mut self, view: &View, axis: usize, is_stride: bool, span: Span) -> Value {
        match &view.extents {
            Extents::Words { first, rank } => {
                let word = first + axis + if is_stride { *rank } else { 0 };
                self.push(Op::Word { word }, Type::scalar(DType::U64), span)
            }
            Extents::Values { dims, strides } => {
                if is_stride {
                    strides[axis]
                } else {
                    dims[axis]
                }
            }
        }
    }

    pub(super) fn extent_of(&mut self, name: &str, c: &Call) -> Result<Val> {
        let Some(first) = c.args.first() else {
            return self.error(Code::NotMemory, c.span, format!("`.{name}` follows a slice or a view"));
        };
        let base = self.expr(first)?;
        if let (Some(view), "dim" | "stride", 2) = (self.view_of(&base), name, c.args.len()) {
            let axis = self.expr(&c.args[1])?;
            let axis = self.axis(&axis, view.rank(), c.args[1].span)?;
            return Ok(Val::Run(self.view_extent(&view, axis, name == "stride", c.span)));
        }
        let word = match (&base, name, c.args.len()) {
            (Val::Param(p), "len", 1) if matches!(self.params[*p].kind, ParamKind::Slice { .. }) => {
                self.params[*p].first_word + 1
            }
            (Val::Shared(array), "len", 1) => {
                return Ok(Val::Int(self.shared[*array].len as i128, Some(DType::U64)));
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
                    Code::NotMemory,
                    c.span,
                    format!(
                        "`x.len()` is for slices, `v.dim(axis)` for views and tiles, `v.stride(axis)` for views; found \
                         {found}"
                    ),
                );
            }
        };
        Ok(Val::Run(self.push(Op::Word { word }, Type::scalar(DType::U64), c.span)))
    }

    /// `v.tile([o..], [E..])` and `v.store([o..], t)`: element addresses and the clip that keeps them inside.
    pub(super) fn view_access(&mut self, name: &str, c: &Call, view: Rc<View>) -> Result<Val> {
        let (to, rank) = (view.pointer.to, view.rank());
        let (dtype, called) = (self.elem(to), self.view_name(to));
        let usage = format!("views have `{called}.tile([o0, ..], [E0, ..])` and `{called}.store([o0, ..], t)`");
        if !matches!(name, "tile" | "store") || c.args.len() != 3 {
            let cure = match name {
                "load" => {
                    let zeros = vec!["0"; rank].join(", ");
                    let ones = vec!["1"; rank].join(", ");
                    format!(
                        ": one element is `sum({called}.tile([{zeros}], [{ones}]))`, elements at computed indices are \
                         loaded from a slice, `{called}: &[{dtype}]`"
                    )
                }
                _ => String::new(),
            };
            return self.error(Code::AccessArguments, c.span, format!("{usage}{cure}"));
        }
        if name == "store" && !self.is_mut(to) {
            let why = match view.extents {
                Extents::Words { .. } => format!("declare it as `mut {called}: ViewMut<{dtype}, {rank}>`"),
                Extents::Values { .. } => format!("make it of a `*mut {dtype}`"),
            };
            return self.error(Code::NotWritable, c.args[0].span, format!("`{called}` cannot be written: {why}"));
        }
        let offsets = match self.expr(&c.args[1])? {
            Val::Array(list) | Val::Tuple(list) if list.len() == rank => list,
            _ => {
                return self.error(
                    Code::ViewTile,
                    c.args[1].span,
                    format!("`{called}` has rank {rank}: give {rank} offsets"),
                );
            }
        };
        let last = self.expr(&c.args[2])?;
        let (shape, value) = if name == "tile" {
            (self.shape(&last, c.args[2].span)?, None)
        } else {
            let v = self.run_as(last, dtype, c.args[2].span)?;
            (self.ty(v).shape.clone(), Some(v))
        };
        if shape.len() != rank {
            let full: Vec<_> =
                vec![1; rank.saturating_sub(shape.len())].into_iter().chain(shape.iter().copied()).collect();
            let cure = match (name, shape.len() < rank) {
                ("tile", _) => format!("give {rank} extents"),
                (_, true) => format!("add dimensions of 1, as `reshape(t, {full:?})`"),
                (_, false) => format!("store a tile of rank {rank}"),
            };
            return self.error(
                Code::ViewTile,
                c.args[2].span,
                format!("`{called}` has rank {rank}, the tile has shape {shape:?}: {cure}"),
            );
        }
        let span = c.span;
        if c.options.unchecked {
            self.checked_views.push(span.first);
        }
        let (mut index, mut mask, mut starts) = (None, None, vec![]);
        for (axis, (offset, &extent)) in offsets.into_iter().zip(&shape).enumerate() {
            let offset = self.run_as(offset, DType::U64, c.args[1].span)?;
            starts.push(offset);
            if !self.ty(offset).is_scalar() {
                let why = "an offset of a view's tile is a scalar: elements at computed indices are loaded from a slice, \
                           `load(x, i)`";
                return self.error(Code::ViewTile, c.args[1].span, why);
            }
            let steps = self.push(Op::Arange { start: 0 }, Type::tile(DType::U64, [extent]), span);
            let mut position = self.binary(Binary::Add, offset, steps, span)?;
            for d in (0..rank).filter(|&d| d != axis) {
                let mut s = self.ty(position).shape.clone();
                s.insert(d.min(s.len()), 1);
                position = self.push(Op::Expand(position, d.min(s.len() - 1)), Type::tile(DType::U64, s), span);
            }
            let (dim, stride) = (self.view_extent(&view, axis, false, span), self.view_extent(&view, axis, true, span));
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
        let (mut index, mut mask) = (index.expect("rank is at least 1"), mask.expect("rank is at least 1"));
        if let Some(offset) = view.pointer.offset {
            index = self.binary(Binary::Add, index, offset, span)?;
        }
        if let Some(m) = self.mask(&c.options, &shape)? {
            mask = self.binary(Binary::And, mask, m, span)?;
        }
        let (index, mask) = (self.broadcast(index, &shape, span), self.broadcast(mask, &shape, span));
        let ptr = Address { base: to, index };
        let whole = match view.extents {
            Extents::Words { first, .. } => {
                let number = |k: usize| Number::word(first + k);
                let dims = (0..rank).map(|d| Dim { extent: number(d), stride: number(rank + d) }).collect();
                Some(BlockPointer { dims, at: starts })
            }
            Extents::Values { .. } => None,
        };
        match value {
            Some(value) => {
                let block_pointer = whole.filter(|_| c.options.mask.is_none());
                self.emit(StmtKind::Store {
                    ptr,
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
                        let v = self.run_as(v.clone(), dtype, *at)?;
                        Some(self.broadcast_to(v, &shape, *at, "the `other` value")?)
                    }
                    None => None,
                };
                let masked = c.options.mask.is_some() && !planted!("view-tile-ignores-its-mask");
                let block_pointer = whole.filter(|_| !masked && other.is_none());
                Ok(Val::Run(self.push(
                    Op::Load { ptr, mask: Some(mask), other, hint: c.options.hint, block_pointer },
                    Type { dtype, shape },
                    span,
                )))
            }
        }
    }

    /// The name that messages have for it.
    fn view_name(&self, to: Base) -> String {
        match to {
            Base::Slice(p) | Base::Raw(p) => self.params[p].name.clone(),
            Base::Shared(array) => self.shared[array].name.clone(),
            Base::Pointer { .. } => "view".into(),
        }
    }
}
