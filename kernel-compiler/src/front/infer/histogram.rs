//! Histograms, and the parts that other counts of elements by bins share.

use crate::diag::{Code, Result};
use crate::dtype::{DType, in_message};
use crate::front::infer::builtins::Call;
use crate::front::infer::{Infer, Val};
use crate::ir::{Op, Type, Value};

impl Infer<'_> {
    /// The first arguments of an operation on the bins of elements: the elements, their type, and the number of bins.
    pub(super) fn elements_of_bins(&mut self, operation: &str, c: &Call) -> Result<(Value, Type, usize)> {
        let [t, bins] = self.args(c)?;
        let value = self.tile(operation, t, c.args[0].span)?;
        let of = self.ty(value).clone();
        if of.shape.len() != 1 || !of.dtype.is_int() {
            return self.error(
                Code::ElementType,
                c.args[0].span,
                format!("`{operation}` takes a tile of rank 1 of an integer type, found {of}"),
            );
        }
        Ok((value, of, self.extent(&bins, c.args[1].span)?))
    }

    /// `histogram(t, BINS)`, then any of `.mask(m)` and `.weights(w)`.
    pub(super) fn histogram(&mut self, c: &Call) -> Result<Val> {
        let (value, of, bins) = self.elements_of_bins("histogram", c)?;
        let at = c.args[1].span;
        let mut ty = Type::tile(DType::I32, [bins]);
        let mask = self.mask(&c.options, &of.shape)?;
        let (mut weights, mut halves) = (None, None);
        if let Some((w, at)) = &c.options.weights {
            let w = self.run(w.clone(), *at)?;
            ty.dtype = self.ty(w).dtype;
            if ty.dtype.size() < 4 && !matches!(ty.dtype, DType::F16 | DType::BF16) {
                let found = in_message(ty.dtype);
                return self.error(
                    Code::ElementType,
                    *at,
                    format!("weights are of i32, u32, i64, u64, f32, f64, f16 or bf16, found {found}: convert them"),
                );
            }
            let w = self.broadcast_to(w, &of.shape, *at, "a tile of weights")?;
            // Halves are summed in f32 and rounded once.
            let wide = self.widened(w, *at);
            halves = wide.map(|_| std::mem::replace(&mut ty.dtype, DType::F32));
            weights = Some(wide.unwrap_or(w));
        }
        self.type_fits_shared("`histogram` gives", &ty, at)?;
        let v = self.push(Op::Histogram { value, weights, mask }, ty.clone(), c.span);
        Ok(Val::Run(match halves {
            Some(dtype) => self.push(Op::Cast(v), Type { dtype, ..ty }, c.span),
            None => v,
        }))
    }
}
