//! `dot`: products of tiles.

use crate::diag::{Code, Reported, Result, Span};
use crate::dtype::{DType, in_message};
use crate::front::infer::builtins::Call;
use crate::front::infer::options::DotPrecision;
use crate::front::infer::{Infer, Val};
use crate::ir::{Binary, Op, Precision, Type, Value, is_product_extent, matrices};

impl Infer<'_> {
    /// `dot(a, b, acc)`: `acc + a·b`, for each index of the dimensions before the last two.
    pub(super) fn dot(&mut self, c: &Call) -> Result<Val> {
        let [a, b, acc] = self.args(c)?;
        let [at_a, at_b, at_acc] = [0, 1, 2].map(|i| c.args[i].span);
        let (a, b) = (self.run(a, at_a), self.run(b, at_b));
        self.product([(a?, at_a), (b?, at_b)], (acc, at_acc), c.options.precision, c.span)
    }

    /// A product of two operands, added to an accumulator.
    pub(super) fn product(
        &mut self,
        [(a, at_a), (b, at_b)]: [(Value, Span); 2],
        (acc, at_acc): (Val, Span),
        precision: Option<(DotPrecision, Span)>,
        span: Span,
    ) -> Result<Val> {
        let (ta, tb) = (self.ty(a).clone(), self.ty(b).clone());
        for (t, at) in [(&ta, at_a), (&tb, at_b)] {
            if t.shape.len() < 2 {
                return self.error(
                    Code::DotShape,
                    at,
                    format!("`dot` multiplies tiles of rank 2, and batches of them, found {t}"),
                );
            }
        }
        if ta.shape.len() != tb.shape.len() {
            let cure = "broadcast one to a batch with `.expand(0)` and `.broadcast(..)`";
            return self.error(Code::DotShape, at_b, format!("`dot` of {ta} and {tb}: their ranks differ; {cure}"));
        }
        if ta.dtype != tb.dtype {
            let (a, b) = (in_message(ta.dtype), in_message(tb.dtype));
            return self.error(
                Code::DotTypes,
                at_b,
                format!("the operands of `dot` have one dtype, found {a} and {b}"),
            );
        }
        let dtype = match ta.dtype {
            DType::F16 | DType::F8E4M3 | DType::F8E5M2 if self.is_f16(&acc) => DType::F16,
            DType::F16 | DType::BF16 | DType::F32 | DType::F8E4M3 | DType::F8E5M2 => DType::F32,
            DType::F64 => DType::F64,
            DType::I8 => DType::I32,
            d => {
                return self.error(
                    Code::DotTypes,
                    at_a,
                    format!("`dot` multiplies f16, bf16, f32, f64, i8, f8e4m3 and f8e5m2, found {d}"),
                );
            }
        };
        let ((of_a, [m, k]), (of_b, [l, n])) = (matrices(&ta.shape), matrices(&tb.shape));
        if of_a != of_b {
            return self.error(
                Code::DotShape,
                at_b,
                format!(
                    "`dot` of {ta} and {tb}: the batches have {} and {} matrices",
                    of_a.iter().product::<usize>(),
                    of_b.iter().product::<usize>()
                ),
            );
        }
        if k != l {
            return self.error(
                Code::DotDepth,
                at_b,
                format!("`dot` of {ta} and {tb}: the left one has {k} columns, the right one {l} rows; transpose an operand with `trans`"),
            );
        }
        let precision = match precision {
            Some((_, at)) if ta.dtype != DType::F32 => {
                return self.error(
                    Code::Precision,
                    at,
                    format!("{} products have no precision option: remove it", ta.dtype),
                );
            }
            precision => precision.map(|(p, _)| p),
        };
        if let Some(batch) = of_a.iter().find(|b| !b.is_power_of_two()) {
            return self.error(Code::DotExtents, at_a, format!("`dot` multiplies batches of a power of two, found {batch} in {ta}: take a larger tile, elements outside a matrix are loaded as 0"));
        }
        let (multiplied, precision, parts) = match precision {
            None => (ta.dtype, Precision::Ieee, 1),
            Some(DotPrecision::Tf32) => (DType::F32, Precision::Tf32, 1),
            Some(DotPrecision::Tf32x3) => (DType::F32, Precision::Tf32x3, 1),
            Some(DotPrecision::Bf16x3) => (DType::BF16, Precision::Ieee, 2),
            Some(DotPrecision::Bf16x6) => (DType::BF16, Precision::Ieee, 3),
        };
        self.dot_extents([m, n, k], multiplied, precision, (at_a, at_b))?;
        let ty = Type::tile(dtype, [of_a, &[m, n]].concat());
        let acc = self.accumulator(acc, ty.clone(), at_acc)?;
        let [a, b, mut acc] = [a, b, acc].map(|v| self.one_batch(v, span));
        let (a, b) = match multiplied == ta.dtype {
            true => (vec![a], vec![b]),
            false => (self.bf16_parts(a, parts, span)?, self.bf16_parts(b, parts, span)?),
        };
        // The least products come first.
        for sum in (0..parts).rev() {
            for i in 0..=sum {
                let ty = self.ty(acc).clone();
                acc = self.push(Op::Dot { a: a[i], b: b[sum - i], acc, precision }, ty, span);
            }
        }
        let is_merged = self.ty(acc).shape != ty.shape;
        Ok(Val::Run(if is_merged { self.push(Op::Reshape(acc), ty, span) } else { acc }))
    }

    fn is_f16(&self, v: &Val) -> bool {
        match v {
            Val::Run(v) => self.ty(*v).dtype == DType::F16,
            Val::Float(_, said) => *said == Some(DType::F16),
            _ => false,
        }
    }

    /// Batches of batches as one.
    fn one_batch(&mut self, v: Value, span: Span) -> Value {
        let Type { dtype, shape } = self.ty(v).clone();
        match &shape[..] {
            [batches @ .., m, n] if batches.len() > 1 => {
                let shape = [batches.iter().product(), *m, *n];
                self.push(Op::Reshape(v), Type::tile(dtype, shape), span)
            }
            _ => v,
        }
    }

    /// Tiles of bf16 whose sum is nearly `x`: the nearest one, the nearest of the rest, and so on.
    fn bf16_parts(&mut self, x: Value, parts: usize, span: Span) -> Result<Vec<Value>> {
        let (mut rest, mut out) = (x, vec![]);
        let ty = self.ty(x).clone();
        for part in 0..parts {
            let nearest = self.push(Op::Cast(rest), Type { dtype: DType::BF16, ..ty.clone() }, span);
            out.push(nearest);
            if part + 1 < parts && !planted!("bf16-parts-of-the-whole") {
                let wide = self.push(Op::Cast(nearest), ty.clone(), span);
                rest = self.binary(Binary::Sub, rest, wide, span)?;
            }
        }
        Ok(out)
    }

    /// The minimum extents of tensor-core instructions: 16 rows, 8 columns, 32 bytes of a row. Products in the
    /// precision of f32 or f64 are made of multiply-adds, of any number of them.
    fn dot_extents(
        &self,
        [m, n, k]: [usize; 3],
        dtype: DType,
        precision: Precision,
        (at_a, at_b): (Span, Span),
    ) -> Result<()> {
        let least = match (dtype, precision) {
            (DType::F32 | DType::F64, Precision::Ieee) => [1, 1, 1],
            _ => [16, 8, 32 / dtype.size()],
        };
        for (letter, extent, least, at) in
            [("M", m, least[0], at_a), ("K", k, least[2], at_a), ("N", n, least[1], at_b)]
        {
            if extent < least {
                let k = 32 / dtype.size();
                return self.error(Code::DotExtents, at, format!("`dot` of {dtype} on tensor cores needs M ≥ 16, N ≥ 8 and K ≥ {k}, found {letter} = {extent}: take a larger tile, elements outside a matrix are loaded as 0"));
            }
            let fits = extent.is_power_of_two() || letter != "K" && is_product_extent(extent);
            if !fits {
                return self.error(Code::DotExtents, at, format!("`dot` needs extents that are powers of two; one of M and N may be 3, 5 or 7 times a power of two, found {letter} = {extent}: take a larger tile, elements outside a matrix are loaded as 0"));
            }
        }
        // Extents that are no powers of two are padded, along one dimension alone.
        if !m.is_power_of_two() && !n.is_power_of_two() {
            return self.error(Code::DotExtents, at_a, format!("M = {m} and N = {n} of this `dot`: only one of them may be 3, 5 or 7 times a power of two: take a larger tile, elements outside a matrix are loaded as 0"));
        }
        Ok(())
    }

    /// It is broadcast like any operand: `0.0` and a row of biases will do.
    fn accumulator(&mut self, acc: Val, ty: Type, at: Span) -> Result<Value> {
        if let Val::Run(v) = acc
            && self.ty(v).dtype != ty.dtype
        {
            if self.retype(v, ty.dtype) {
                return Err(Reported);
            }
            let (found, name) = (self.ty(v).clone(), ty.dtype.name());
            return self.error(Code::Accumulator, at, format!("the accumulator of this `dot` is {ty}, found {found}: start it with `zeros::<{name}>({:?})` and convert the result", ty.shape));
        }
        let acc = self.run_as(acc, ty.dtype, at)?;
        let found = self.ty(acc).clone();
        let fits = found.is_scalar()
            || (found.shape.len() == ty.shape.len()
                && found.shape.iter().zip(&ty.shape).all(|(&a, &b)| a == b || a == 1));
        if !fits {
            return self.error(Code::Accumulator, at, format!("the accumulator of this `dot` is {ty}, found {found}"));
        }
        Ok(self.broadcast(acc, &ty.shape, at))
    }
}
