//! Comparisons of index tiles with limits.

/// The comparison `index < limit`.
#[derive(Clone, Debug)]
pub struct Limit {
    /// A constant of register `#`.
    pub index: String,
    /// The largest of them.
    pub most: u32,
    pub limit: String,
}

/// What is known of a comparison of indices beside its text.
pub enum Comparison {
    One(Limit),
    /// Several limits, and whether all elements of the thread are inside, in as few comparisons as there are limits.
    Several {
        whole: String,
    },
}

impl Comparison {
    /// Whether all elements of the thread are inside.
    pub fn whole(&self) -> String {
        match self {
            Comparison::One(x) => format!("({} < {})", x.most, x.limit),
            Comparison::Several { whole } => whole.clone(),
        }
    }

    pub fn limit(&self) -> Option<&Limit> {
        if let Comparison::One(x) = self { Some(x) } else { None }
    }
}
