//! Comparisons of index tiles with limits.

use crate::thread_ir::{Expr, Name};

/// The comparison `index < limit`.
#[derive(Clone, Debug)]
pub struct Limit {
    /// The constant of each register.
    pub index: Expr,
    /// The largest constant.
    pub most: u32,
    pub limit: Name,
}

/// Conditions that a comparison of indices can be replaced with.
pub enum Comparison {
    One(Limit),
    /// Several limits, and the condition that all elements of the thread are inside: one comparison for each limit.
    Several {
        whole: Expr,
    },
}

impl Comparison {
    /// The condition that all elements of the thread are inside.
    pub fn whole(&self) -> Expr {
        match self {
            Comparison::One(x) => Expr::from(x.most).less(x.limit).group(),
            Comparison::Several { whole } => whole.clone(),
        }
    }

    pub fn limit(&self) -> Option<&Limit> {
        if let Comparison::One(x) = self { Some(x) } else { None }
    }
}
