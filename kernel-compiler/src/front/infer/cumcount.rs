//! The number of each element among the equal elements.

use crate::diag::Result;
use crate::dtype::DType;
use crate::front::infer::builtins::Call;
use crate::front::infer::{Infer, Val};
use crate::ir::{Op, Type};

impl Infer<'_> {
    /// `cumcount(t, BINS)`, then `.mask(m)` or not.
    pub(super) fn cumcount(&mut self, c: &Call) -> Result<Val> {
        let (value, of, bins) = self.elements_of_bins("cumcount", c)?;
        let counters = Type::tile(DType::U64, [self.warps as usize, bins]);
        self.type_fits_shared("the counters of `cumcount` for each warp and bin are", &counters, c.args[1].span)?;
        let mask = self.mask(&c.options, &of.shape)?;
        let ty = Type { dtype: DType::I32, ..of };
        Ok(Val::Run(self.push(Op::Cumcount { value, bins, mask }, ty, c.span)))
    }
}
