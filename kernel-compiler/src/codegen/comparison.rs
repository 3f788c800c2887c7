//! Comparisons of index tiles with limits.

use crate::thread_ir::{Expr, Name};

/// The comparison `index < limit`.
#[derive(Clone, Debug)]
pub struct Limit {
    /// A constant of each register.
    pub index: Expr,
    /// The largest of them.
    pub most: u32,
    pub limit: Name,
}

/// What is known of a comparison of indices beside itself.
pub enum Comparison {
    One(Limit),
    /// Several limits, and whether all elements of the thread are inside, in as few comparisons as there are limits.
    Several {
        whole: Expr,
    },
}

impl Comparison {
    /// Whether all elements of the thread are inside.
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
