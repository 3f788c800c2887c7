//! Two operands of one operation: their dtypes agree, their ranks agree. A mistake is reported at the operand to
//! change.

use crate::diag::{Code, Reported, Result};
use crate::dtype::{DType, in_message};
use crate::front::ast::Expr;
use crate::front::infer::{Infer, Val};
use crate::front::print::{self, Level};
use crate::ir::Value;

/// Longer operands are not written again in a message.
const MAX_TEXT: usize = 40;

impl Infer<'_> {
    /// Two operands of one dtype. An open literal takes the dtype of the other.
    pub(super) fn unify(&mut self, a: Val, b: Val, (ea, eb): (&Expr, &Expr), what: &str) -> Result<(Value, Value)> {
        let (sa, sb) = (ea.span, eb.span);
        match (self.dtype_of(&a), self.dtype_of(&b)) {
            (Some(x), Some(y)) if x != y => {
                for (v, to) in [(&a, y), (&b, x)] {
                    if let Val::Run(v) = v
                        && self.retype(*v, to)
                    {
                        return Err(Reported);
                    }
                }
                Err(self.mismatch((&a, ea, x), (&b, eb, y), what))
            }
            (Some(t), _) | (_, Some(t)) => Ok((self.run_as(a, t, sa)?, self.run_as(b, t, sb)?)),
            (None, None) => {
                let float = matches!(a, Val::Float(..)) || matches!(b, Val::Float(..));
                let t = if float { DType::F32 } else { DType::I32 };
                Ok((self.run_as(a, t, sa)?, self.run_as(b, t, sb)?))
            }
        }
    }

    fn dtype_of(&self, v: &Val) -> Option<DType> {
        match v {
            Val::Run(v) => Some(self.ty(*v).dtype),
            Val::Int(_, t) | Val::Float(_, t) => *t,
            Val::Bool(_) => Some(DType::Bool),
            _ => None,
        }
    }

    /// The operand to convert is the one whose dtype holds less. Of two that hold as much it is the scalar, else the
    /// right one.
    fn mismatch(&self, (a, ea, x): (&Val, &Expr, DType), (b, eb, y): (&Val, &Expr, DType), what: &str) -> Reported {
        let rank = |t: DType| (t != DType::Bool, t.is_float(), t.size());
        let is_tile = |v: &Val| matches!(v, Val::Run(v) if !self.ty(*v).is_scalar());
        let left = rank(x) < rank(y) || rank(x) == rank(y) && !is_tile(a) && is_tile(b);
        let (v, e, to) = if left { (a, ea, y) } else { (b, eb, x) };
        let (other, other_e, from) = if left { (b, eb, x) } else { (a, ea, y) };
        let mut cure = converted(e, to);
        if is_tile(v) && !is_tile(other) {
            cure = format!("{cure}, or convert the scalar: {}", converted(other_e, from));
        }
        let (da, db) = (self.describe(a), self.describe(b));
        self.d.error(
            Code::MixedTypes,
            self.place(e.span),
            format!("{what} of {da} and {db}: nothing converts by itself, write {cure}"),
        )
    }

    /// Reports operands of different ranks, which are both tiles.
    pub(super) fn same_rank(&self, (x, ex): (Value, &Expr), (y, ey): (Value, &Expr), what: &str) -> Result<()> {
        let (a, b) = (&self.ty(x).shape, &self.ty(y).shape);
        if a.is_empty() || b.is_empty() || a.len() == b.len() {
            return Ok(());
        }
        let (low, e, high) = if a.len() < b.len() { (a, ex, b) } else { (b, ey, a) };
        let fits = |axis: &usize| {
            let mut shape = low.clone();
            shape.insert(*axis, 1);
            shape.iter().zip(high).all(|(&a, &b)| a == b || a == 1 || b == 1)
        };
        let axes = (0..=low.len()).filter(|_| low.len() + 1 == high.len()).filter(fits);
        let cures: Vec<String> = axes.map(|axis| applied(e, &format!(".expand({axis})"))).collect();
        let cure = match &cures[..] {
            [] => "insert dimensions of 1 with `.expand(axis)`".to_string(),
            all => format!("write {}", all.join(" or ")),
        };
        self.error(
            Code::RankMismatch,
            e.span,
            format!("{what} of tiles with the shapes {a:?} and {b:?}: their ranks must agree, {cure}"),
        )
    }
}

/// A conversion of an expression, as a message spells it.
fn converted(e: &Expr, to: DType) -> String {
    applied(e, &format!(".to::<{}>()", in_message(to)))
}

/// A method behind an expression, or behind dots where that is long.
fn applied(e: &Expr, method: &str) -> String {
    let text = print::expr(e, Level::Postfix, 0);
    if text.len() > MAX_TEXT || text.contains('\n') { format!("`(..){method}`") } else { format!("`{text}{method}`") }
}
