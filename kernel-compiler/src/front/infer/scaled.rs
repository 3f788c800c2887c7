//! The formats of MX and NVFP4, and `dot_scaled`: bits of other types, made of existing operations.

use crate::diag::{Code, Result, Span};
use crate::dtype::{DType, in_message};
use crate::front::infer::builtins::Call;
use crate::front::infer::{Infer, Val};
use crate::ir::{Binary, Op, Type, Unary, Value};

const FORMATS: &str = "the types of the operands are their formats: u8 holds two e2m1 along K, f8e4m3, f8e5m2, bf16 and \
     f16 are themselves, and bytes of fp8 become these by `bitcast::<f8e4m3>(x)`";

/// An operand of a scaled product, as a call gives it.
struct Operand<'a> {
    name: &'static str,
    value: Value,
    at: Span,
    scale: Option<(Value, Span)>,
    /// The dimension that the product sums over.
    k_dim: usize,
    /// The extents of the scale, but for the last.
    rows: &'a [usize],
}

impl Infer<'_> {
    pub(super) fn scaled(&mut self, name: &str, c: &Call) -> Result<Val> {
        match name {
            "dot_scaled" => self.dot_scaled(c),
            "unpack_e2m1" => self.unpack_e2m1(c),
            "pack_e2m1" => self.pack_e2m1(c),
            "from_e8m0" => {
                let [x] = self.args(c)?;
                let x = self.run(x, c.args[0].span)?;
                let found = self.ty(x).clone();
                if found.dtype != DType::U8 {
                    return self.error(
                        Code::NarrowFormat,
                        c.args[0].span,
                        format!("`from_e8m0` takes u8, found {found}"),
                    );
                }
                let to = self.float_arg(c)?;
                let wide = self.power_of_two(x, c.span)?;
                Ok(Val::Run(self.converted(wide, to, c.span)))
            }
            _ => self.to_e8m0(c),
        }
    }

    /// The type of a conversion: `::<f32>`, of 16 bits or of 32.
    fn float_arg(&self, c: &Call) -> Result<DType> {
        let name = c.name;
        match self.type_arg(c)? {
            Some(t @ (DType::F16 | DType::BF16 | DType::F32)) => Ok(t),
            Some(t) => self.error(
                Code::NarrowFormat,
                c.span,
                format!("`{name}` gives f32, bf16 or f16, not {}", in_message(t)),
            ),
            None => self.error(
                Code::TypeArgument,
                c.span,
                format!("`{name}` names a type, one of f32, bf16 and f16: `{name}::<f32>(..)`"),
            ),
        }
    }

    /// A value to convert from: of f32, or of a type that f32 holds exactly.
    fn narrow_float(&mut self, name: &str, x: Value, span: Span) -> Result<Value> {
        match self.ty(x).dtype {
            DType::F32 => Ok(x),
            DType::F16 | DType::BF16 => Ok(self.converted(x, DType::F32, span)),
            _ => {
                let found = self.ty(x).clone();
                self.error(Code::NarrowFormat, span, format!("`{name}` takes f32, bf16 and f16, found {found}"))
            }
        }
    }

    fn bits_as(&mut self, x: Value, to: DType, span: Span) -> Value {
        let shape = self.ty(x).shape.clone();
        self.push(Op::Bitcast(x), Type { dtype: to, shape }, span)
    }

    fn function_of(&mut self, f: Unary, x: Value, span: Span) -> Value {
        let ty = self.ty(x).clone();
        self.push(Op::Unary(f, x), Type { dtype: f.gives(ty.dtype), ..ty }, span)
    }

    /// An operation of a value and a number of its type.
    fn with_number(&mut self, op: Binary, x: Value, number: impl Into<f64>, span: Span) -> Result<Value> {
        let (number, dtype) = (number.into(), self.ty(x).dtype);
        let number = match dtype.is_float() {
            true => Val::Float(number, None),
            false => Val::Int(number as i128, None),
        };
        let number = self.constant(&number, dtype, span)?;
        self.binary(op, x, number, span)
    }

    fn selected(&mut self, cond: Value, a: Value, b: Value, span: Span) -> Value {
        let (ty, shape) = (self.ty(a).clone(), self.ty(cond).shape.clone());
        let [a, b] = [a, b].map(|v| self.broadcast(v, &shape, span));
        self.push(Op::Select(cond, a, b), Type { dtype: ty.dtype, shape }, span)
    }

    /// e8m0 as f32: the power of two whose biased exponent the byte is; 255 is NaN. All are exact, 0 is denormal.
    fn power_of_two(&mut self, x: Value, span: Span) -> Result<Value> {
        let x = self.converted(x, DType::U32, span);
        let shifted = self.with_number(Binary::Shl, x, 23, span)?;
        let bits = match planted!("e8m0-of-zero-is-zero") {
            true => shifted,
            false => self.with_number(Binary::Max, shifted, 0x40_0000, span)?,
        };
        let is_nan = self.with_number(Binary::Eq, x, 255, span)?;
        let nan = self.number(0x7fc0_0000, DType::U32, span)?;
        let bits = self.selected(is_nan, nan, bits, span);
        Ok(self.bits_as(bits, DType::F32, span))
    }

    /// The power of two at or below the absolute value, as e8m0.
    fn to_e8m0(&mut self, c: &Call) -> Result<Val> {
        let [x] = self.args(c)?;
        let x = self.run(x, c.args[0].span)?;
        let x = self.narrow_float("to_e8m0", x, c.args[0].span)?;
        let bits = self.bits_as(x, DType::U32, c.span);
        let shifted = self.with_number(Binary::Shr, bits, 23, c.span)?;
        let exponent = self.with_number(Binary::And, shifted, 255, c.span)?;
        let finite = self.with_number(Binary::Min, exponent, 254, c.span)?;
        let is_nan = self.function_of(Unary::Isnan, x, c.span);
        let nan = self.number(255, DType::U32, c.span)?;
        let all = self.selected(is_nan, nan, finite, c.span);
        Ok(Val::Run(self.converted(all, DType::U8, c.span)))
    }

    /// `unpack_e2m1::<T>(t, axis)`
    fn unpack_e2m1(&mut self, c: &Call) -> Result<Val> {
        let [t, axis] = self.args(c)?;
        let t = self.tile("unpack_e2m1", t, c.args[0].span)?;
        let found = self.ty(t).clone();
        if found.dtype != DType::U8 {
            return self.error(
                Code::NarrowFormat,
                c.args[0].span,
                format!("`unpack_e2m1` takes u8, each with two numbers, found {found}"),
            );
        }
        let axis = self.axis(&axis, found.shape.len(), c.args[1].span)?;
        let to = self.float_arg(c)?;
        let halves = self.halves("unpack_e2m1", t, axis, c.span)?;
        let wide = self.of_e2m1(halves, c.span)?;
        Ok(Val::Run(self.converted(wide, to, c.span)))
    }

    /// The halves of bytes along an axis, the lower one first.
    fn halves(&mut self, name: &str, t: Value, axis: usize, span: Span) -> Result<Value> {
        let mut ty = self.ty(t).clone();
        self.one_more_dimension(name, &ty, span)?;
        let low = self.with_number(Binary::And, t, 15, span)?;
        let high = self.with_number(Binary::Shr, t, 4, span)?;
        let (low, high) = if planted!("e2m1-high-half-first") { (high, low) } else { (low, high) };
        let rank = ty.shape.len();
        ty.shape.push(2);
        self.check_size(&ty.shape, span)?;
        let mut both = self.push(Op::Join(low, high), ty.clone(), span);
        if axis + 1 != rank {
            // The half's number comes behind the index of the byte.
            let perm: Vec<usize> = (0..=axis).chain([rank]).chain(axis + 1..rank).collect();
            ty.shape = perm.iter().map(|&d| ty.shape[d]).collect();
            both = self.push(Op::Permute(both, perm), ty.clone(), span);
        }
        ty.shape.remove(axis + 1);
        ty.shape[axis] *= 2;
        self.merged(name, both, &ty.shape, span)
    }

    /// e2m1 in the lower half of a byte, as f32. All are exact: the bits are those of a float whose exponents are 126
    /// less, also of the denormal ones.
    fn of_e2m1(&mut self, x: Value, span: Span) -> Result<Value> {
        let x = self.converted(x, DType::U32, span);
        let (sign, magnitude) =
            (self.with_number(Binary::And, x, 8, span)?, self.with_number(Binary::And, x, 7, span)?);
        let sign = self.with_number(Binary::Shl, sign, 28, span)?;
        let magnitude = self.with_number(Binary::Shl, magnitude, 22, span)?;
        let bits = self.binary(Binary::Or, sign, magnitude, span)?;
        let small = self.bits_as(bits, DType::F32, span);
        self.with_number(Binary::Mul, small, 126f64.exp2(), span)
    }

    /// `pack_e2m1(t, axis)`: to nearest even; too large values become 6, and so does NaN.
    fn pack_e2m1(&mut self, c: &Call) -> Result<Val> {
        let [t, axis] = self.args(c)?;
        let at = c.args[0].span;
        let t = self.tile("pack_e2m1", t, at)?;
        let t = self.narrow_float("pack_e2m1", t, at)?;
        let ty = self.ty(t).clone();
        let axis = self.axis(&axis, ty.shape.len(), c.args[1].span)?;
        if !ty.shape[axis].is_multiple_of(2) {
            return self.error(
                Code::NarrowFormat,
                at,
                format!("`pack_e2m1` packs pairs along axis {axis}: its extent must be even, found {ty}"),
            );
        }
        if let Some(e) = ty.shape.iter().find(|e| !e.is_power_of_two()) {
            return self.error(
                Code::PowerOfTwo,
                at,
                format!("`pack_e2m1` takes extents that are powers of two, found {e} in {ty}"),
            );
        }
        self.one_more_dimension("pack_e2m1", &ty, at)?;
        let codes = self.as_e2m1(t, c.span)?;
        let mut shape = ty.shape.clone();
        shape[axis] /= 2;
        let bytes = shape.clone();
        shape.insert(axis + 1, 2);
        let pairs = self.reshape(codes, &shape, c.span)?;
        let half = |cx: &mut Self, start: usize| {
            let half = cx.subtile(pairs, axis + 1, start, 1, c.span);
            cx.reshape(half, &bytes, c.span)
        };
        let (low, high) = (half(self, 0)?, half(self, 1)?);
        let high = self.with_number(Binary::Shl, high, 4, c.span)?;
        self.binary(Binary::Or, low, high, c.span).map(Val::Run)
    }

    /// f32 as e2m1 in the lower half of a byte. The numbers below 2 are 1/2 apart, those below 4 are 1, others 2.
    fn as_e2m1(&mut self, x: Value, span: Span) -> Result<Value> {
        let size = self.function_of(Unary::Abs, x, span);
        // Rounds to multiples of `1 / scale`; `offset` codes are smaller.
        let steps = |cx: &mut Self, scale: f64, offset: f64| {
            let scaled = cx.with_number(Binary::Mul, size, scale, span)?;
            let rounded = cx.function_of(Unary::Rint, scaled, span);
            cx.with_number(Binary::Add, rounded, offset, span)
        };
        let (small, middle, large) = (steps(self, 2.0, 0.0)?, steps(self, 1.0, 2.0)?, steps(self, 0.5, 4.0)?);
        let is_middle = self.with_number(Binary::Lt, size, 4.0, span)?;
        let is_small = self.with_number(Binary::Lt, size, 2.0, span)?;
        let code = self.selected(is_middle, middle, large, span);
        let code = self.selected(is_small, small, code, span);
        // Of a number and NaN the number is taken.
        let code = self.with_number(Binary::Min, code, 7.0, span)?;
        let code = self.converted(code, DType::U32, span);
        let bits = self.bits_as(x, DType::U32, span);
        let shifted = self.with_number(Binary::Shr, bits, 28, span)?;
        let sign = self.with_number(Binary::And, shifted, 8, span)?;
        let is_nan = self.function_of(Unary::Isnan, x, span);
        let none = self.number(0, DType::U32, span)?;
        let sign = self.selected(is_nan, none, sign, span);
        let both = self.binary(Binary::Or, code, sign, span)?;
        Ok(self.converted(both, DType::U8, span))
    }

    /// `dot_scaled(a, a_scale, b, b_scale, acc)`: operands become bf16, or f16 where one is f16, and are multiplied so.
    fn dot_scaled(&mut self, c: &Call) -> Result<Val> {
        if let [_, _, format, _, ..] = c.args
            && c.args.len() > 5
        {
            return self.error(
                Code::DotTypes,
                format.span,
                format!("`dot_scaled(a, a_scale, b, b_scale, acc)`: {FORMATS}"),
            );
        }
        let [a, a_scale, b, b_scale, acc] = self.args(c)?;
        let [at_a, of_a, at_b, of_b, at_acc] = [0, 1, 2, 3, 4].map(|i| c.args[i].span);
        let (a, b) = (self.tile("dot_scaled", a, at_a), self.tile("dot_scaled", b, at_b));
        let (a, b) = (a?, b?);
        let (a_scale, b_scale) = (self.scale(a_scale, of_a), self.scale(b_scale, of_b));
        let (a_scale, b_scale) = (a_scale?, b_scale?);
        let (ta, tb) = (self.ty(a).clone(), self.ty(b).clone());
        for (t, at) in [(&ta, at_a), (&tb, at_b)] {
            if !matches!(t.dtype, DType::U8 | DType::F8E4M3 | DType::F8E5M2 | DType::BF16 | DType::F16) {
                return self.error(
                    Code::DotTypes,
                    at,
                    format!("`dot_scaled` does not multiply {}: {FORMATS}", in_message(t.dtype)),
                );
            }
            if t.shape.len() < 2 {
                return self.error(
                    Code::DotShape,
                    at,
                    format!("`dot_scaled` multiplies tiles of rank 2, and batches of them, found {t}"),
                );
            }
            self.one_more_dimension("dot_scaled", t, at)?;
        }
        let to = if [&ta, &tb].iter().any(|t| t.dtype == DType::F16) { DType::F16 } else { DType::BF16 };
        let (rank_a, rank_b) = (ta.shape.len(), tb.shape.len());
        // The scale of `b` has a row for each of its columns.
        let mut rows_b = tb.shape.clone();
        rows_b.swap(rank_b - 2, rank_b - 1);
        rows_b.pop();
        let [a, b] = [
            Operand {
                name: "a",
                value: a,
                at: at_a,
                scale: a_scale.map(|s| (s, of_a)),
                k_dim: rank_a - 1,
                rows: &ta.shape[..rank_a - 1],
            },
            Operand {
                name: "b",
                value: b,
                at: at_b,
                scale: b_scale.map(|s| (s, of_b)),
                k_dim: rank_b - 2,
                rows: &rows_b,
            },
        ];
        let (wide_a, wide_b) = (self.scaled_operand(a, to, c.span), self.scaled_operand(b, to, c.span));
        let (wide_a, wide_b) = (wide_a?, wide_b?);
        self.product([(wide_a, at_a), (wide_b, at_b)], (acc, at_acc), None, c.span)
    }

    /// A scale, or `None`.
    fn scale(&mut self, v: Val, at: Span) -> Result<Option<Value>> {
        match v {
            Val::Option(None) => Ok(None),
            Val::Option(Some(v)) => self.tile("dot_scaled", *v, at).map(Some),
            v => self.tile("dot_scaled", v, at).map(Some),
        }
    }

    /// An operand times its scales, of 16 bits: the product is exact, and is rounded once.
    fn scaled_operand(&mut self, o: Operand, to: DType, span: Span) -> Result<Value> {
        let from = self.ty(o.value).dtype;
        if o.scale.is_none() && from != DType::U8 {
            return Ok(self.converted(o.value, to, o.at));
        }
        let wide = match from {
            DType::U8 => {
                let halves = self.halves("dot_scaled", o.value, o.k_dim, o.at)?;
                self.of_e2m1(halves, span)?
            }
            _ => self.converted(o.value, DType::F32, span),
        };
        let wide = match o.scale {
            None => wide,
            Some((scale, at)) => {
                let factors = self.factors(&o, wide, scale, at, span)?;
                self.binary(Binary::Mul, wide, factors, span)?
            }
        };
        Ok(self.converted(wide, to, span))
    }

    /// The scale of each element: one for 32 along K as e8m0, or for 16 as e4m3.
    fn factors(&mut self, o: &Operand, wide: Value, scale: Value, at: Span, span: Span) -> Result<Value> {
        let (shape, ty) = (self.ty(wide).shape.clone(), self.ty(scale).clone());
        let (group, format) = match ty.dtype {
            DType::U8 => (32, "u8 (e8m0)"),
            DType::F8E4M3 => (16, "f8e4m3"),
            found => {
                let found = in_message(found);
                return self.error(
                    Code::Scale,
                    at,
                    format!("a scale is u8 (e8m0), one for 32 along K, or f8e4m3, one for 16, found {found}"),
                );
            }
        };
        let k = shape[o.k_dim];
        if !k.is_multiple_of(group) {
            return self.error(
                Code::Scale,
                o.at,
                format!("a scale of {format} is for {group} along K, of which `{}` has {k}", o.name),
            );
        }
        let wanted = [o.rows, &[k / group]].concat();
        if ty.shape != wanted {
            let letter = if o.name == "a" { "M" } else { "N" };
            return self.error(
                Code::Scale,
                at,
                format!(
                    "the scale of `{}`, which has K = {k}, is of shape [.., {letter}, K / {group}] = {wanted:?}, \
                     found {ty}",
                    o.name
                ),
            );
        }
        let mut factors = match ty.dtype {
            DType::U8 => self.power_of_two(scale, span)?,
            _ => self.converted(scale, DType::F32, span),
        };
        let mut factors_shape = wanted;
        let last = factors_shape.len() - 1;
        if o.k_dim != last {
            let mut perm: Vec<usize> = (0..=last).collect();
            perm.swap(last - 1, last);
            factors_shape.swap(last - 1, last);
            factors = self.push(Op::Permute(factors, perm), Type::tile(DType::F32, factors_shape.clone()), span);
        }
        factors_shape.insert(o.k_dim + 1, 1);
        factors = self.push(Op::Expand(factors, o.k_dim + 1), Type::tile(DType::F32, factors_shape.clone()), span);
        factors_shape[o.k_dim + 1] = group;
        self.check_size(&factors_shape, span)?;
        factors = self.broadcast(factors, &factors_shape, span);
        self.merged("dot_scaled", factors, &shape, span)
    }
}
