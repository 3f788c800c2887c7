//! Tiles made of several, parts of tiles, and elements at other places.

use crate::diag::{Code, Result, Span};
use crate::dtype::{DType, in_message};
use crate::front::ast::{Expr, ExprKind};
use crate::front::infer::builtins::{Call, usage};
use crate::front::infer::{Infer, Val};
use crate::ir::{Binary, Op, Shape, Type, Value, padded_elements};
use tilewright_types::limits::MAX_RANK;

/// Bytes of the largest tile that goes through shared memory as a whole.
const MAX_SHARED: usize = 64 << 10;

impl Infer<'_> {
    pub(super) fn parts(&mut self, name: &str, c: &Call) -> Result<Val> {
        match name {
            "join" | "interleave" => {
                let [a, b] = self.args(c)?;
                let joined = self.join(name, [a, b], c)?;
                if name == "join" {
                    return Ok(Val::Run(joined));
                }
                let mut shape = self.ty(joined).shape.clone();
                shape.pop();
                *shape.last_mut().expect("tiles were joined") *= 2;
                self.merged(name, joined, &shape, c.span).map(Val::Run)
            }
            "cat" => {
                let [a, b, axis] = self.args(c)?;
                let joined = self.join(name, [a, b], c)?;
                let rank = self.ty(joined).shape.len() - 1;
                let axis = self.axis(&axis, rank, c.args[2].span)?;
                // The tile's number comes before its index along the axis.
                let perm: Vec<usize> = (0..axis).chain([rank]).chain(axis..rank).collect();
                let mut shape: Shape = perm.iter().map(|&d| self.ty(joined).shape[d]).collect();
                let ty = Type { dtype: self.ty(joined).dtype, shape: shape.clone() };
                let v = self.push(Op::Permute(joined, perm), ty, c.span);
                shape.remove(axis);
                shape[axis] *= 2;
                self.merged(name, v, &shape, c.span).map(Val::Run)
            }
            "split" => {
                let [t] = self.args(c)?;
                let t = self.tile(name, t, c.args[0].span)?;
                let shape = self.ty(t).shape.clone();
                let Some((2, rest)) = shape.split_last().map(|(last, rest)| (*last, rest)) else {
                    let found = self.ty(t);
                    return self.error(
                        Code::PartOfTile,
                        c.args[0].span,
                        format!("`split` takes a tile whose last extent is 2, found {found}"),
                    );
                };
                if rest.is_empty() {
                    return self.error(
                        Code::NeedsTile,
                        c.args[0].span,
                        "`split` takes a tile of rank 2 or more: its parts are tiles",
                    );
                }
                let (axis, rest) = (rest.len(), rest.to_vec());
                let half = |cx: &mut Self, start: usize| {
                    let part = cx.subtile(t, axis, start, 1, c.span);
                    cx.reshape(part, &rest, c.span).map(Val::Run)
                };
                Ok(Val::Tuple(vec![half(self, 0)?, half(self, 1)?]))
            }
            "slice" => self.slice(c),
            "insert" => self.insert(c),
            "flip" => {
                let [t, axis] = self.args(c)?;
                let t = self.tile(name, t, c.args[0].span)?;
                let shape = self.ty(t).shape.clone();
                let axis = self.axis(&axis, shape.len(), c.args[1].span)?;
                let place = self.along(axis, &shape, c.span);
                let last = self.number(shape[axis] as i128 - 1, self.ty(place).dtype, c.span)?;
                let index = self.binary(Binary::Sub, last, place, c.span)?;
                self.gather(name, t, index, axis, c).map(Val::Run)
            }
            _ => {
                let [t, index, axis] = self.args(c)?;
                let t = self.tile(name, t, c.args[0].span)?;
                let index = self.tile(name, index, c.args[1].span)?;
                let axis = self.axis(&axis, self.ty(t).shape.len(), c.args[2].span)?;
                self.gather(name, t, index, axis, c).map(Val::Run)
            }
        }
    }

    /// The operation makes a tile of one more dimension, if only in between.
    pub(super) fn one_more_dimension(&self, name: &str, ty: &Type, span: Span) -> Result<()> {
        match ty.shape.len() < MAX_RANK {
            true => Ok(()),
            false => self.error(
                Code::TileShape,
                span,
                format!("`{name}` takes a tile of at most {} dimensions, found {ty}", MAX_RANK - 1),
            ),
        }
    }

    pub(super) fn tile(&mut self, name: &str, v: Val, span: Span) -> Result<Value> {
        let t = self.run(v, span)?;
        match self.ty(t).is_scalar() {
            true => self.error(Code::NeedsTile, span, format!("`{name}` takes a tile, found a scalar {}", self.ty(t))),
            false => Ok(t),
        }
    }

    fn join(&mut self, name: &str, [a, b]: [Val; 2], c: &Call) -> Result<Value> {
        let (a, b) = self.unify(a, b, (&c.args[0], &c.args[1]), &format!("`{name}`"))?;
        let shape = self.common_shape(&self.ty(a).shape.clone(), &self.ty(b).shape.clone(), c.span)?;
        if shape.is_empty() {
            return self.error(Code::NeedsTile, c.args[0].span, format!("`{name}` takes tiles, found scalars"));
        }
        let [a, b] = [a, b].map(|v| self.broadcast(v, &shape, c.span));
        let mut ty = self.ty(a).clone();
        self.one_more_dimension(name, &ty, c.span)?;
        ty.shape.push(2);
        self.check_size(&ty.shape, c.span)?;
        Ok(self.push(Op::Join(a, b), ty, c.span))
    }

    /// A tile with two dimensions in one.
    pub(super) fn merged(&mut self, name: &str, v: Value, shape: &[usize], span: Span) -> Result<Value> {
        if let Some(e) = shape.iter().find(|e| !e.is_power_of_two()) {
            return self.error(
                Code::PowerOfTwo,
                span,
                format!("`{name}` takes extents that are powers of two, found {e} in the result"),
            );
        }
        self.reshape(v, shape, span)
    }

    pub(super) fn subtile(&mut self, value: Value, axis: usize, start: usize, extent: usize, span: Span) -> Value {
        let mut ty = self.ty(value).clone();
        if ty.shape[axis] == extent {
            return value;
        }
        ty.shape[axis] = extent;
        self.push(Op::Slice { value, axis, start }, ty, span)
    }

    fn slice(&mut self, c: &Call) -> Result<Val> {
        let [first, axis, range] = c.args else {
            return self.error(Code::ArgumentCount, c.span, format!("expected {}", usage("slice")));
        };
        let (t, axis) = (self.expr(first)?, self.expr(axis)?);
        let t = self.tile("slice", t, first.span)?;
        let axis = self.axis(&axis, self.ty(t).shape.len(), c.args[1].span)?;
        let [from, to] = self.bounds(range)?;
        let extent = self.ty(t).shape[axis] as i128;
        let len = to - from;
        if from < 0 || len < 1 || to > extent {
            return self.error(
                Code::PartOfTile,
                range.span,
                format!("{from}..{to} is no part of an extent of {extent}"),
            );
        }
        if !(len as usize).is_power_of_two() || from % len != 0 {
            return self.error(
                Code::PartOfTile,
                range.span,
                format!("a part has a power of two of elements and begins at a multiple of it: {from}..{to} has {len}"),
            );
        }
        if extent > 2 * len {
            self.fits_shared("slice", t, first.span)?;
        }
        Ok(Val::Run(self.subtile(t, axis, from as usize, len as usize, c.span)))
    }

    /// `a..b` of constants.
    fn bounds(&mut self, range: &Expr) -> Result<[i128; 2]> {
        let ExprKind::Range { lo: from, hi: to, is_closed } = &range.kind else {
            return self.error(
                Code::PartOfTile,
                range.span,
                "a range of constants is expected: `slice(t, axis, a..b)`",
            );
        };
        let mut bound = |e: &Expr| {
            let v = self.expr(e)?;
            self.const_int(&v, e.span, "a bound of a part")
        };
        Ok([bound(from)?, bound(to)? + i128::from(*is_closed)])
    }

    fn insert(&mut self, c: &Call) -> Result<Val> {
        let [t, axis, at, part] = self.args(c)?;
        let (t, part) = self.unify(t, part, (&c.args[0], &c.args[3]), "`insert`")?;
        let (ty, of) = (self.ty(t).clone(), self.ty(part).clone());
        if ty.is_scalar() || of.shape.len() != ty.shape.len() {
            return self.error(
                Code::PartOfTile,
                c.args[3].span,
                format!("`insert` takes a tile and a part of as many dimensions, found {ty} and {of}"),
            );
        }
        let axis = self.axis(&axis, ty.shape.len(), c.args[1].span)?;
        let at = self.const_int(&at, c.args[2].span, "where the part goes")?;
        let (extent, len) = (ty.shape[axis], of.shape[axis]);
        let mut fits = of.shape.clone();
        fits[axis] = extent;
        if fits != ty.shape || at < 0 || at + len as i128 > extent as i128 {
            return self.error(
                Code::PartOfTile,
                c.args[3].span,
                format!("{of} at {at} along axis {axis} is no part of {ty}"),
            );
        }
        let at = at as usize;
        if let Some(e) = ty.shape.iter().chain([&len]).find(|e| !e.is_power_of_two()) {
            return self.error(
                Code::PowerOfTwo,
                c.span,
                format!("`insert` takes extents that are powers of two, found {e}"),
            );
        }
        if !at.is_multiple_of(len) {
            return self.error(
                Code::PartOfTile,
                c.span,
                format!("a part of {len} elements must start at a multiple of {len}, found {at}"),
            );
        }
        // The part again and again along the axis; the place says which of its copies counts.
        let mut shape = of.shape.clone();
        shape.insert(axis, 1);
        self.one_more_dimension("insert", &of, c.span)?;
        let v = self.push(Op::Expand(part, axis), Type { dtype: of.dtype, shape: shape.clone() }, c.span);
        shape[axis] = extent / len;
        let v = self.broadcast(v, &shape, c.span);
        let copies = self.reshape(v, &ty.shape, c.span)?;
        let place = self.along(axis, &ty.shape, c.span);
        let dtype = self.ty(place).dtype;
        let (low, high) = (self.number(at as i128, dtype, c.span)?, self.number((at + len) as i128, dtype, c.span)?);
        let from = self.binary(Binary::Ge, place, low, c.span)?;
        let to = self.binary(Binary::Lt, place, high, c.span)?;
        let inside = self.binary(Binary::And, from, to, c.span)?;
        Ok(Val::Run(self.push(Op::Select(inside, copies, t), ty, c.span)))
    }

    /// The index along an axis, for each element.
    fn along(&mut self, axis: usize, shape: &[usize], span: Span) -> Value {
        let mut ty = Type { dtype: DType::U64, shape: vec![shape[axis]] };
        let mut v = self.push(Op::Arange { start: 0 }, ty.clone(), span);
        for d in (0..shape.len()).filter(|&d| d != axis) {
            ty.shape.insert(d, 1);
            v = self.push(Op::Expand(v, d), ty.clone(), span);
        }
        self.broadcast(v, shape, span)
    }

    fn gather(&mut self, name: &str, value: Value, index: Value, axis: usize, c: &Call) -> Result<Value> {
        let (ty, of) = (self.ty(value).clone(), self.ty(index).clone());
        if !of.dtype.is_int() {
            return self.error(
                Code::IndexType,
                c.args[1].span,
                format!("an index is of an integer type, found {}", in_message(of.dtype)),
            );
        }
        let mut fits = ty.shape.clone();
        if of.shape.len() == fits.len() {
            fits[axis] = of.shape[axis];
        }
        if fits != of.shape {
            return self.error(
                Code::TilesOfOneShape,
                c.args[1].span,
                format!(
                    "the indices of `gather` have the extents of the tile but along axis {axis}: found {of} for {ty}"
                ),
            );
        }
        self.fits_shared(name, value, c.args[0].span)?;
        Ok(self.push(Op::Gather { value, index, axis }, Type { dtype: ty.dtype, shape: of.shape }, c.span))
    }

    /// Of a tile that goes through shared memory as a whole.
    pub(super) fn fits_shared(&self, name: &str, value: Value, span: Span) -> Result<()> {
        self.type_fits_shared(&format!("`{name}` takes"), self.ty(value), span)
    }

    /// The same of a type; `what` begins the message.
    pub(super) fn type_fits_shared(&self, what: &str, ty: &Type, span: Span) -> Result<()> {
        let bytes = padded_elements(&ty.shape) * ty.dtype.size();
        match bytes <= MAX_SHARED {
            true => Ok(()),
            false => self.error(
                Code::TileTooLarge,
                span,
                format!("{what} a tile of {MAX_SHARED} bytes at most, {ty} has {bytes}"),
            ),
        }
    }
}
