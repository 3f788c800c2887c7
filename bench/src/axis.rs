//! The x axis of a sweep.

use serde::{Deserialize, Serialize};

/// How values lie on an axis. [`Axis`] has an example.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scale {
    /// In proportion to the value.
    Linear,
    /// In proportion to its logarithm.
    Log,
    /// One after the other, without regard to their values: for points that are no numbers.
    Ordinal,
}

/// The x axis of a sweep: a name, values, and a scale.
///
/// # Examples
/// ```
/// use tilewright_bench::{Axis, Scale};
///
/// let n = Axis::log("n", (12..=28).map(|i| 1 << i));
/// let columns = Axis::linear("columns", (256..=12_672).step_by(128));
/// assert_eq!((n.values().len(), n.scale(), columns.scale()), (17, Scale::Log, Scale::Linear));
///
/// let (kernels, sides) = (Axis::ordinal("kernel", 3), Axis::new("side", [64, 256], Scale::Log));
/// assert_eq!((kernels.values(), sides.values()), (&[0, 1, 2][..], &[64, 256][..]));
/// ```
#[derive(Clone, Debug)]
pub struct Axis {
    pub(crate) name: String,
    pub(crate) values: Vec<u64>,
    pub(crate) scale: Scale,
}

impl Axis {
    /// An axis on which factors are distances.
    pub fn log(name: impl Into<String>, values: impl IntoIterator<Item = u64>) -> Axis {
        Axis::new(name, values, Scale::Log)
    }

    /// An axis on which differences are distances.
    pub fn linear(name: impl Into<String>, values: impl IntoIterator<Item = u64>) -> Axis {
        Axis::new(name, values, Scale::Linear)
    }

    /// An axis of so many points that are no numbers, called 0, 1, 2 and so on.
    /// [`Sweep::extents`](crate::Sweep::extents) names them.
    pub fn ordinal(name: impl Into<String>, count: u64) -> Axis {
        Axis::new(name, 0..count, Scale::Ordinal)
    }

    /// An axis of a given scale.
    pub fn new(name: impl Into<String>, values: impl IntoIterator<Item = u64>, scale: Scale) -> Axis {
        Axis { name: name.into(), values: values.into_iter().collect(), scale }
    }

    /// Its values.
    pub fn values(&self) -> &[u64] {
        &self.values
    }

    /// Its scale.
    pub fn scale(&self) -> Scale {
        self.scale
    }

    /// The mistake in the axis, if there is one.
    pub(crate) fn mistake(&self) -> Option<String> {
        let name = &self.name;
        if self.values.is_empty() {
            return Some(format!("has no values on its axis `{name}`"));
        }
        if let Some(pair) = self.values.windows(2).find(|pair| pair[0] >= pair[1]) {
            return Some(format!("has {} after {} on its axis `{name}`: values ascend", pair[1], pair[0]));
        }
        (self.scale == Scale::Log && self.values[0] == 0)
            .then(|| format!("has 0 on its axis `{name}`, whose scale is logarithmic"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_ascend() {
        let mistake = |values: &[u64], scale| Axis::new("n", values.to_vec(), scale).mistake();
        assert_eq!(mistake(&[1, 2, 4], Scale::Log), None);
        assert_eq!(mistake(&[0, 2], Scale::Linear), None);
        assert!(mistake(&[], Scale::Linear).is_some_and(|m| m.contains("no values")));
        assert!(mistake(&[2, 2], Scale::Linear).is_some_and(|m| m.contains("2 after 2")));
        assert!(mistake(&[0, 2], Scale::Log).is_some_and(|m| m.contains("has 0")));
    }
}
