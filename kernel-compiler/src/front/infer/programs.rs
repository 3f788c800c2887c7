//! The numbers of programs: `program_id`, `num_programs`, `swizzle2d`.

use crate::diag::{Code, Result, Span};
use crate::dtype::DType;
use crate::front::infer::builtins::Call;
use crate::front::infer::{Infer, Val};
use crate::ir::{Binary, Op, Type, Value};

impl Infer<'_> {
    pub(super) fn program(&mut self, name: &str, c: &Call) -> Result<Val> {
        let [axis] = self.args(c)?;
        let axis = self.axis(&axis, 3, c.args[0].span)? as u32;
        let op = if name == "program_id" { Op::ProgramId(axis) } else { Op::NumPrograms(axis) };
        Ok(Val::Run(self.push(op, Type::scalar(DType::U64), c.span)))
    }

    /// `swizzle2d(t, (tm, tn), GROUP)`: row and column of the `t`-th of `tm * tn` tiles, where the order goes down the
    /// columns of `GROUP` rows of tiles, then to the next `GROUP` rows, of which the last may be fewer. In 32 bits:
    /// divisions of 64 take hundreds of cycles, where every tile begins, and four thousand million tiles are more than
    /// memories hold.
    pub(super) fn swizzle2d(&mut self, c: &Call) -> Result<Val> {
        let [t, extents, group] = self.args(c)?;
        let at = c.args[1].span;
        let (Val::Tuple(list) | Val::Array(list)) = &extents else {
            let found = self.describe(&extents);
            return self.error(Code::Swizzle, at, format!("the numbers of tiles are a pair `(tm, tn)`, found {found}"));
        };
        let [tm, tn] = &list[..] else {
            return self.error(
                Code::Swizzle,
                at,
                format!("`swizzle2d` orders tiles of two dimensions, found {} extents", list.len()),
            );
        };
        let size = self.const_int(&group, c.args[2].span, "the size of a group")?;
        if !(1..=i32::MAX as i128).contains(&size) {
            return self.error(Code::Swizzle, c.args[2].span, format!("a group of {size} rows of tiles: 1 or more"));
        }
        let t = self.count(t, c.args[0].span)?;
        let (tm, tn) = (self.count(tm.clone(), at)?, self.count(tn.clone(), at)?);
        let size = self.constant(&Val::Int(size, None), DType::U32, c.span)?;
        let [t, tm, tn] = [t, tm, tn].map(|v| self.push(Op::Cast(v), Type::scalar(DType::U32), c.span));
        let mut op = |op, x, y| self.binary(op, x, y, c.span);
        let size = op(Binary::Min, size, tm)?;
        let in_group = op(Binary::Mul, size, tn)?;
        let group = op(Binary::Div, t, in_group)?;
        let within = op(Binary::Rem, t, in_group)?;
        let first = op(Binary::Mul, group, size)?;
        let left = op(Binary::Sub, tm, first)?;
        let rows = op(Binary::Min, left, size)?;
        let row = op(Binary::Rem, within, rows)?;
        let i = op(Binary::Add, first, row)?;
        let j = op(Binary::Div, within, rows)?;
        let [i, j] = [i, j].map(|v| Val::Run(self.push(Op::Cast(v), Type::scalar(DType::U64), c.span)));
        Ok(Val::Tuple(vec![i, j]))
    }

    /// A scalar `usize`.
    fn count(&mut self, v: Val, span: Span) -> Result<Value> {
        let v = self.run_as(v, DType::U64, span)?;
        if !self.ty(v).is_scalar() {
            let ty = self.ty(v).clone();
            return self.error(Code::Swizzle, span, format!("`swizzle2d` takes scalars, found a tile {ty}"));
        }
        Ok(v)
    }
}
