//! Comparisons of index tiles with limits, as expressions.

use crate::codegen::context::Regs;
use crate::thread_ir::{Expr, Name};

/// The comparison `index < limit`.
#[derive(Clone, Debug)]
pub struct LimitTest {
    /// The constant of each register.
    pub index: Expr,
    /// The largest constant.
    pub most: u32,
    pub limit: Name,
}

/// The conditions of a mask.
pub struct MaskTest {
    /// That it allows all elements of a thread: one comparison for each in the source.
    pub all: Expr,
    /// For each element.
    pub each: Regs,
    /// The limit, where it is one comparison with one limit.
    pub limit: Option<LimitTest>,
}

impl LimitTest {
    pub fn mask(self) -> MaskTest {
        let each = Regs(self.index.clone().less(self.limit).group());
        MaskTest { all: Expr::from(self.most).less(self.limit).group(), each, limit: Some(self) }
    }
}
