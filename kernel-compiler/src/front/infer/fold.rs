//! Arithmetic on compile-time values.

use crate::diag::{Code, Result, Span};
use crate::dtype::{DType, rounded, wrapped};
use crate::front::ast::{Expr, ExprKind};
use crate::front::infer::{Infer, Val};
use crate::front::operators::{BinaryOp, UnaryOp};

impl Infer<'_> {
    /// `-x` and `!x` of constants; none of other values.
    pub(super) fn fold_unary(&self, op: UnaryOp, v: &Val, span: Span) -> Result<Option<Val>> {
        Ok(Some(match (op, v) {
            (UnaryOp::Neg, Val::Int(_, Some(t))) if !t.is_signed() => {
                return self.error(Code::ElementType, span, format!("cannot negate a {t} constant: it is not signed"));
            }
            (UnaryOp::Neg, Val::Int(n, Some(t))) if !t.holds(-n) => {
                return self.error(
                    Code::ConstantArithmetic,
                    span,
                    format!("`-({n})` is {}, which does not fit in {t}", -n),
                );
            }
            (UnaryOp::Neg, Val::Int(n, t)) => Val::Int(-n, *t),
            (UnaryOp::Neg, Val::Float(n, t)) => Val::Float(-n, *t),
            (UnaryOp::Not, Val::Bool(b)) => Val::Bool(!b),
            (UnaryOp::Not, Val::Int(n, Some(t))) => Val::Int(wrapped(!n, *t), Some(*t)),
            (UnaryOp::Not, Val::Int(n, None)) => Val::Int(!n, None),
            _ => return Ok(None),
        }))
    }

    /// The number of a literal with the suffix of its type, and the sign that it has.
    pub(super) fn suffixed(&self, n: i128, t: DType, span: Span) -> Result<Val> {
        match t.holds(n) {
            true => Ok(Val::Int(n, Some(t))),
            false => self.error(Code::LiteralRange, span, format!("{n} does not fit in {t}")),
        }
    }

    /// The number behind the last one of a closed range that begins at a number of a type.
    pub(super) fn behind(&mut self, last: Val, of: Option<DType>, e: &Expr) -> Result<Val> {
        if let Val::Int(n, t) = &last
            && let Some(t) = t.or(of)
            && t.holds(*n)
            && !t.holds(n + 1)
        {
            return self.error(
                Code::Range,
                e.span,
                format!("a closed range of {t} ends before {n}, the greatest {t}: count in a wider type"),
            );
        }
        let one = Expr { kind: ExprKind::Int(1, None), span: e.span };
        self.binary_op(BinaryOp::Add, (last, e), (Val::Int(1, None), &one), e.span)
    }

    /// Arithmetic on compile-time values.
    pub(super) fn fold(&self, op: BinaryOp, a: &Val, b: &Val, span: Span) -> Result<Option<Val>> {
        use BinaryOp::*;
        if let Some(v) = self.compare_variants(op, a, b, span)? {
            return Ok(Some(v));
        }
        Ok(Some(match (a, b) {
            (Val::Int(x, tx), Val::Int(y, ty)) => {
                let shift = matches!(op, Shl | Shr);
                if let (Some(tx), Some(ty), false) = (tx, ty, shift)
                    && tx != ty
                {
                    return self.error(
                        Code::MixedTypes,
                        span,
                        format!("`{}` of a {tx} and a {ty} constant: convert with `as`", op.symbol()),
                    );
                }
                let t = if shift { *tx } else { tx.or(*ty) };
                if op.is_compare() {
                    return Ok(Some(Val::Bool(op.compare(x, y))));
                }
                let r = match op {
                    Add => x.checked_add(*y),
                    Sub => x.checked_sub(*y),
                    Mul => x.checked_mul(*y),
                    Div => x.checked_div(*y),
                    Rem => x.checked_rem(*y),
                    And => Some(x & y),
                    Or => Some(x | y),
                    Xor => Some(x ^ y),
                    _ => {
                        let width = t.map_or(64, |t| 8 * t.size() as u32);
                        let Some(by) = u32::try_from(*y).ok().filter(|s| *s < width) else {
                            return self.error(
                                Code::ConstantArithmetic,
                                span,
                                format!(
                                    "`{x} {} {y}`: a constant of {width} bits is shifted by less than {width}",
                                    op.symbol()
                                ),
                            );
                        };
                        match (op, t) {
                            (Shr, _) => Some(x >> by),
                            // Bits beyond the type are lost.
                            (_, Some(t)) => Some(wrapped(x << by, t)),
                            (_, None) => x.checked_mul(1 << by),
                        }
                    }
                };
                let Some(r) = r.filter(|r| r.unsigned_abs() <= u64::MAX.into()) else {
                    return self.error(
                        Code::ConstantArithmetic,
                        span,
                        format!("`{x} {} {y}` has no value: it divides by 0 or overflows", op.symbol()),
                    );
                };
                if let Some(t) = t
                    && !t.holds(r)
                {
                    return self.error(
                        Code::ConstantArithmetic,
                        span,
                        format!("`{x} {} {y}` is {r}, which does not fit in {t}", op.symbol()),
                    );
                }
                Val::Int(r, t)
            }
            (Val::Float(x, tx), Val::Float(y, ty)) if tx.is_none() || ty.is_none() || tx == ty => {
                let t = tx.or(*ty);
                let [x, y] = [*x, *y].map(|v| t.map_or(v, |t| rounded(v, t)));
                if op.is_compare() {
                    // A literal without a type is an f32.
                    let [x, y] = [x, y].map(|v| rounded(v, t.unwrap_or(DType::F32)));
                    return Ok(Some(Val::Bool(op.compare(x, y))));
                }
                let result = match op {
                    Add => x + y,
                    Sub => x - y,
                    Mul => x * y,
                    Div => x / y,
                    Rem => x % y,
                    _ => return Ok(None),
                };
                Val::Float(result, t)
            }
            (Val::DType(x), Val::DType(y)) => match op {
                Eq => Val::Bool(x == y),
                Ne => Val::Bool(x != y),
                _ => return Ok(None),
            },
            (Val::Bool(x), Val::Bool(y)) => match op {
                And => Val::Bool(x & y),
                Or => Val::Bool(x | y),
                Xor | Ne => Val::Bool(x ^ y),
                Eq => Val::Bool(x == y),
                _ => return Ok(None),
            },
            _ => return Ok(None),
        }))
    }
}
