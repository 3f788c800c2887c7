//! `dot`: products of tiles.

use super::ops::Call;
use super::*;

impl Infer<'_> {
    /// `dot(a, b, acc)`: `acc + a·b`.
    pub(super) fn dot(&mut self, c: &Call) -> Result<Val> {
        let [a, b, acc] = self.args(c)?;
        let [a, b] = [(a, c.args[0].span), (b, c.args[1].span)].map(|(v, at)| self.run(v, at));
        let (a, b) = (a?, b?);
        let (ta, tb) = (self.ty(a).clone(), self.ty(b).clone());
        let (m, n) = match (&ta.shape[..], &tb.shape[..]) {
            ([m, k], [l, n]) if k == l => (*m, *n),
            ([_, k], [l, _]) => return self.error(c.args[1].span, format!("`dot` of {ta} and {tb}: {k} columns meet {l} rows; transpose an operand with `trans`")),
            _ => return self.error(c.span, format!("`dot` multiplies tiles of rank 2, found {ta} and {tb}")),
        };
        if ta.dtype != tb.dtype {
            return self.error(c.args[1].span, format!("the operands of `dot` have one dtype, found {} and {}", ta.dtype, tb.dtype));
        }
        let dtype = match ta.dtype {
            DType::F16 | DType::BF16 | DType::F32 => DType::F32,
            DType::I8 => DType::I32,
            d => return self.error(c.args[0].span, format!("`dot` multiplies f16, bf16, f32 and i8, found {d}")),
        };
        let acc = self.run_as(acc, dtype, c.args[2].span)?;
        if self.ty(acc).shape != [m, n] {
            let found = self.ty(acc).clone();
            return self.error(c.args[2].span, format!("the accumulator of this `dot` is {dtype}{:?}, found {found}", [m, n]));
        }
        Ok(Val::Run(self.push(Op::Dot { a, b, acc, precision: Precision::Ieee }, Type::tile(dtype, [m, n]), c.span)))
    }
}
