//! The derivatives of elementwise functions.

use super::refused::Refused;
use super::{Adjoint, Scope};
use crate::ir::{Binary, Op, Unary, Value};
use std::f64::consts::{LN_2, LN_10, PI};

impl Adjoint<'_> {
    /// `[operand, result]` are values of the forward function.
    pub(super) fn of_unary(
        &mut self,
        u: Unary,
        [of, result]: [Value; 2],
        g: Value,
        scope: &Scope,
    ) -> Result<(), Refused> {
        if !self.is_float(of) {
            return self.give(of, g);
        }
        let (x, y) = (scope.value(of), scope.value(result));
        let more = match u {
            Unary::Neg => self.neg(g),
            Unary::Abs => {
                let zero = self.like(0.0, x);
                let (above, below) = (self.binary(Binary::Gt, x, zero), self.binary(Binary::Lt, x, zero));
                let minus = self.neg(g);
                let rest = self.only(below, minus);
                self.select(above, g, rest)
            }
            // Constant between the jumps.
            Unary::Floor | Unary::Ceil | Unary::Trunc | Unary::Rint | Unary::Round => return Ok(()),
            Unary::Sqrt => {
                let half = self.scaled(g, 0.5);
                self.div(half, y)
            }
            Unary::Rsqrt => {
                let half = self.scaled(g, -0.5);
                let square = self.square(y);
                let of_y = self.mul(half, y);
                self.mul(of_y, square)
            }
            Unary::Cbrt => {
                let square = self.square(y);
                let three = self.scaled(square, 3.0);
                self.div(g, three)
            }
            Unary::Recip => {
                let square = self.square(y);
                let product = self.mul(g, square);
                self.neg(product)
            }
            Unary::Exp => self.mul(g, y),
            Unary::Exp2 => self.times_scaled(g, y, LN_2),
            Unary::Exp10 => self.times_scaled(g, y, LN_10),
            Unary::Expm1 => {
                let exp = self.plus(y, 1.0);
                self.mul(g, exp)
            }
            Unary::Log => self.div(g, x),
            Unary::Log2 => {
                let of_x = self.scaled(x, LN_2);
                self.div(g, of_x)
            }
            Unary::Log10 => {
                let of_x = self.scaled(x, LN_10);
                self.div(g, of_x)
            }
            Unary::Log1p => {
                let of_x = self.plus(x, 1.0);
                self.div(g, of_x)
            }
            Unary::Sin => {
                let cos = self.unary(Unary::Cos, x);
                self.mul(g, cos)
            }
            Unary::Cos => {
                let sin = self.unary(Unary::Sin, x);
                let product = self.mul(g, sin);
                self.neg(product)
            }
            Unary::Tan => {
                let square = self.square(y);
                let of_y = self.plus(square, 1.0);
                self.mul(g, of_y)
            }
            Unary::Asin => {
                let root = self.root_of_rest(x);
                self.div(g, root)
            }
            Unary::Acos => {
                let root = self.root_of_rest(x);
                let quotient = self.div(g, root);
                self.neg(quotient)
            }
            Unary::Atan => {
                let square = self.square(x);
                let of_x = self.plus(square, 1.0);
                self.div(g, of_x)
            }
            Unary::Sinh => {
                let cosh = self.unary(Unary::Cosh, x);
                self.mul(g, cosh)
            }
            Unary::Cosh => {
                let sinh = self.unary(Unary::Sinh, x);
                self.mul(g, sinh)
            }
            Unary::Tanh => {
                let rest = self.rest_of_square(y);
                self.mul(g, rest)
            }
            Unary::Asinh | Unary::Acosh => {
                let square = self.square(x);
                let under = self.plus(square, if u == Unary::Asinh { 1.0 } else { -1.0 });
                let root = self.unary(Unary::Sqrt, under);
                self.div(g, root)
            }
            Unary::Atanh => {
                let rest = self.rest_of_square(x);
                self.div(g, rest)
            }
            Unary::Erf | Unary::Erfc => {
                let square = self.square(x);
                let minus = self.neg(square);
                let bell = self.unary(Unary::Exp, minus);
                let height = 2.0 / PI.sqrt();
                self.times_scaled(g, bell, if u == Unary::Erf { height } else { -height })
            }
            Unary::Erfinv => {
                let square = self.square(y);
                let exp = self.unary(Unary::Exp, square);
                self.times_scaled(g, exp, PI.sqrt() / 2.0)
            }
            Unary::Sigmoid => {
                let one = self.like(1.0, y);
                let rest = self.sub(one, y);
                let product = self.mul(y, rest);
                self.mul(g, product)
            }
            Unary::Lgamma | Unary::Tgamma => {
                let why = format!("`{}` has no adjoint, which would take the digamma function", u.name());
                return self.refuse(why);
            }
            Unary::Not
            | Unary::Isnan
            | Unary::Isinf
            | Unary::Isfinite
            | Unary::Popc
            | Unary::Clz
            | Unary::Ffs
            | Unary::Brev => return Ok(()),
        };
        let is_linear = matches!(u, Unary::Neg | Unary::Abs);
        let more = if is_linear { more } else { self.of_nonzero(g, more) };
        self.give(of, more)
    }

    /// `[left, right, result]` are values of the forward function.
    pub(super) fn of_binary(
        &mut self,
        op: Binary,
        [left, right, result]: [Value; 3],
        g: Value,
        scope: &Scope,
    ) -> Result<(), Refused> {
        if !self.is_float(left) {
            self.give(left, g)?;
            return self.give(right, g);
        }
        let (a, b, y) = (scope.value(left), scope.value(right), scope.value(result));
        let (of_left, of_right) = match op {
            Binary::Add => (Some(g), Some(g)),
            Binary::Sub => (Some(g), Some(self.neg(g))),
            Binary::Mul => (Some(self.times(g, b)), Some(self.times(g, a))),
            Binary::Div => {
                let of_a = self.div(g, b);
                let product = self.mul(of_a, y);
                let of_b = self.neg(product);
                (Some(self.of_nonzero(g, of_a)), Some(self.of_nonzero(g, of_b)))
            }
            Binary::Rem => {
                // `a - b trunc(a / b)`
                let quotient = self.div(a, b);
                let times = self.unary(Unary::Trunc, quotient);
                let product = self.times(g, times);
                (Some(g), Some(self.neg(product)))
            }
            Binary::Min | Binary::Max | Binary::MinNan | Binary::MaxNan => {
                // Equal operands have a half each.
                let (both, half) = (self.binary(Binary::Eq, a, b), self.scaled(g, 0.5));
                let mut of = |x: Value| {
                    let is_result = self.binary(Binary::Eq, x, y);
                    let whole = self.only(is_result, g);
                    self.select(both, half, whole)
                };
                (Some(of(a)), Some(of(b)))
            }
            Binary::Pow => {
                // `b a^(b - 1)`, and 0 for an exponent of 0; `a^b log(a)`, and 0 for a base of 0.
                let zero = self.like(0.0, a);
                let (less, none) = (self.plus(b, -1.0), self.binary(Binary::Eq, b, zero));
                let power = self.binary(Binary::Pow, a, less);
                let slope = self.mul(b, power);
                let of_a = self.mul(g, slope);
                let (log, flat) = (self.unary(Unary::Log, a), self.binary(Binary::Eq, a, zero));
                let slope = self.mul(y, log);
                let of_b = self.mul(g, slope);
                let (of_a, of_b) = (self.unless(none, of_a), self.unless(flat, of_b));
                (Some(self.of_nonzero(g, of_a)), Some(self.of_nonzero(g, of_b)))
            }
            Binary::Atan2 => {
                let (aa, bb) = (self.square(a), self.square(b));
                let sum = self.add(aa, bb);
                let share = self.div(g, sum);
                let share = self.of_nonzero(g, share);
                let product = self.mul(share, a);
                (Some(self.mul(share, b)), Some(self.neg(product)))
            }
            Binary::Hypot => {
                let share = self.div(g, y);
                let share = self.of_nonzero(g, share);
                (Some(self.mul(share, a)), Some(self.mul(share, b)))
            }
            Binary::Copysign => {
                // The sign of `a` is kept or changed; at 0 it has none.
                let zero = self.like(0.0, a);
                let (same, none) = (self.binary(Binary::Eq, a, y), self.binary(Binary::Eq, a, zero));
                let minus = self.neg(g);
                let of_a = self.select(same, g, minus);
                (Some(self.unless(none, of_a)), None)
            }
            Binary::Ldexp => (Some(self.binary(Binary::Ldexp, g, b)), None),
            Binary::Nextafter => return self.refuse("`nextafter` has no adjoint"),
            Binary::And
            | Binary::Or
            | Binary::Xor
            | Binary::Shl
            | Binary::Shr
            | Binary::Eq
            | Binary::Ne
            | Binary::Lt
            | Binary::Le
            | Binary::Gt
            | Binary::Ge
            | Binary::Mulhi => (None, None),
        };
        for (of, more) in [(left, of_left), (right, of_right)] {
            if let Some(more) = more {
                self.give(of, more)?;
            }
        }
        Ok(())
    }

    /// The product with an adjoint, which is 0 where the adjoint is, also if the factor is infinite or NaN.
    pub(super) fn times(&mut self, g: Value, factor: Value) -> Value {
        let product = self.mul(g, factor);
        if self.is_finite(factor) { product } else { self.of_nonzero(g, product) }
    }

    /// Whether it is a finite constant.
    fn is_finite(&self, v: Value) -> bool {
        match self.g.op(v) {
            Op::Splat(x) => self.is_finite(*x),
            Op::Float(x) => x.is_finite(),
            _ => false,
        }
    }

    /// A part of an adjoint `g`, and 0 where `g` is 0. Elements that a mask leaves out have a `g` of 0, and may have an
    /// infinite derivative.
    fn of_nonzero(&mut self, g: Value, part: Value) -> Value {
        let zero = self.like(0.0, g);
        let is_zero = self.binary(Binary::Eq, g, zero);
        self.select(is_zero, zero, part)
    }

    /// `g · x · by`
    fn times_scaled(&mut self, g: Value, x: Value, by: f64) -> Value {
        let scaled = self.scaled(x, by);
        self.mul(g, scaled)
    }

    /// `x + n`
    fn plus(&mut self, x: Value, n: f64) -> Value {
        let n = self.like(n, x);
        self.add(x, n)
    }

    /// `1 - x²`
    fn rest_of_square(&mut self, x: Value) -> Value {
        let (square, one) = (self.square(x), self.like(1.0, x));
        self.sub(one, square)
    }

    /// `sqrt(1 - x²)`
    fn root_of_rest(&mut self, x: Value) -> Value {
        let rest = self.rest_of_square(x);
        self.unary(Unary::Sqrt, rest)
    }
}
