//! Times of plans, predicted and measured.

use crate::planner::cost::Cost;
use core::time::Duration;
use serde::{Deserialize, Serialize};
use std::cell::RefCell;

/// A plan with its predicted and its measured time. [`ExecOptions`](super::ExecOptions) has an example.
///
/// Samples are written down and read with serde, so that a model is fitted to those of several runs.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Sample {
    /// The operation.
    pub op: String,
    /// The plan's text.
    pub plan: String,
    /// The predicted time.
    #[serde(with = "micros")]
    pub predicted: Duration,
    /// The lower quartile of a few runs, each from a cold cache.
    #[serde(with = "micros")]
    pub measured: Duration,
    pub(crate) cost: Cost,
}

/// The samples of one call.
///
/// # Examples
/// ```
/// use tilewright::ops::{FittedModel, SampledCall};
///
/// let call = SampledCall { kind: "matmul f16".into(), shape: "64x64x64".into(), samples: vec![] };
/// // A model is fitted to calls of which several plans were measured.
/// assert!(FittedModel::of(tilewright::Runtime::cpu().device(), None, &[call]).misses.is_empty());
/// ```
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct SampledCall {
    /// The operation and its types, as in `f16`: qualities are of all calls of a kind.
    pub kind: String,
    /// The arguments, for people.
    pub shape: String,
    /// Its plans.
    pub samples: Vec<Sample>,
}

/// The list that [`ExecOptions::sampling`](super::ExecOptions::sampling) fills. [`ExecOptions`](super::ExecOptions) has
/// an example.
pub type Samples = RefCell<Vec<Sample>>;

/// Durations as microseconds.
mod micros {
    use core::time::Duration;
    use serde::Deserialize;

    pub fn serialize<S: serde::Serializer>(time: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64((time.as_secs_f64() * 1e9).round() / 1e3)
    }

    pub fn deserialize<'a, D: serde::Deserializer<'a>>(from: D) -> Result<Duration, D::Error> {
        Duration::try_from_secs_f64(f64::deserialize(from)? / 1e6).map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::planner::cost::Work;

    #[test]
    fn samples_are_read_back() {
        let time = Duration::from_nanos(12_345);
        let cost = Cost { moved: Default::default(), kernel: Work::Unknown, configuration: 1.0 };
        let s = Sample { op: "matmul".into(), plan: "a b".into(), predicted: time, measured: time, cost };
        let read: Sample = serde_json::from_str(&serde_json::to_string(&s).unwrap()).unwrap();
        assert_eq!((read.measured, read.plan), (time, s.plan));
        assert!(serde_json::from_str::<Sample>(r#"{"op": "", "plan": "", "predicted": 1, "measured": -1}"#).is_err());
    }
}
