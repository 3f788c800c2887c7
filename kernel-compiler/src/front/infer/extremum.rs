//! `max` and `min` of two values.

use crate::diag::{Code, Result};
use crate::dtype::{DType, in_message, rounded};
use crate::front::infer::builtins::Call;
use crate::front::infer::{Infer, Val};
use crate::ir::Binary;

impl Infer<'_> {
    /// The greater or the less of two values, by the name of the call.
    pub(super) fn extremum(&mut self, [a, b]: [Val; 2], c: &Call) -> Result<Val> {
        let op = if c.name.to_string().starts_with("max") { Binary::Max } else { Binary::Min };
        if let (Val::Int(_, Some(tx)), Val::Int(_, Some(ty))) = (&a, &b)
            && tx != ty
        {
            let why = format!("`{}` of a {tx} and a {ty} constant: convert with `as`", c.name);
            return self.error(Code::MixedTypes, c.span, why);
        }
        if let Some(v) = self.fold_extremum(op == Binary::Max, &a, &b) {
            return Ok(v);
        }
        let (a, b) = self.unify(a, b, (&c.args[0], &c.args[1]), &format!("`{}`", c.name))?;
        self.numeric(a, &c.name.to_string(), c.span)?;
        let op = self.extremum_op(op, self.ty(a).dtype, c)?;
        self.binary(op, a, b, c.span).map(Val::Run)
    }

    /// `max` or `min` of elements of a type, under `.propagate_nan()` if it is given.
    pub(super) fn extremum_op(&self, op: Binary, dtype: DType, c: &Call) -> Result<Binary> {
        match c.options.propagate_nan {
            None => Ok(op),
            Some(_) if dtype.is_float() => Ok(op.propagating_nan()),
            Some(at) => self.error(
                Code::ElementType,
                at,
                format!("`.propagate_nan()` is for floats, {} has no NaN: leave it out", in_message(dtype)),
            ),
        }
    }

    /// The greater of two constants, or the less.
    fn fold_extremum(&self, greater: bool, a: &Val, b: &Val) -> Option<Val> {
        match (a, b) {
            (Val::Int(x, tx), Val::Int(y, ty)) => {
                Some(Val::Int(if greater { *x.max(y) } else { *x.min(y) }, tx.or(*ty)))
            }
            (Val::Float(x, tx), Val::Float(y, ty)) if tx.is_none() || ty.is_none() || tx == ty => {
                let t = tx.or(*ty);
                let [x, y] = [*x, *y].map(|v| t.map_or(v, |t| rounded(v, t)));
                // Of a NaN and of zeros with signs the kernel decides.
                let is_plain = !x.is_nan() && !y.is_nan() && (x != 0.0 || y != 0.0);
                is_plain.then(|| Val::Float(if greater { x.max(y) } else { x.min(y) }, t))
            }
            _ => None,
        }
    }
}
