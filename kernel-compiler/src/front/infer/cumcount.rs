//! The number of each element among those that equal it.

use crate::diag::{Code, Result};
use crate::dtype::DType;
use crate::front::infer::builtins::Call;
use crate::front::infer::{Infer, Val};
use crate::ir::{Op, Type};

impl Infer<'_> {
    /// `cumcount(t, BINS)`, then `.mask(m)` or not.
    pub(super) fn cumcount(&mut self, c: &Call) -> Result<Val> {
        let [t, bins] = self.args(c)?;
        let value = self.tile("cumcount", t, c.args[0].span)?;
        let of = self.ty(value).clone();
        if of.shape.len() != 1 || !of.dtype.is_int() {
            return self.error(
                Code::ElementType,
                c.args[0].span,
                format!("`cumcount` takes a tile of rank 1 of an integer type, found {of}"),
            );
        }
        let at = c.args[1].span;
        let bins = self.extent(&bins, at)?;
        let counters = Type::tile(DType::U64, [self.warps as usize, bins]);
        self.type_fits_shared("the counters of `cumcount` for each warp and bin are", &counters, at)?;
        let mask = self.mask(&c.options, &of.shape)?;
        let ty = Type { dtype: DType::I32, ..of };
        Ok(Val::Run(self.push(Op::Cumcount { value, bins, mask }, ty, c.span)))
    }
}
