//! Times of plans, predicted and measured.

use core::time::Duration;
use std::cell::RefCell;

/// A plan whose time was predicted, and measured.
#[derive(Clone, Debug)]
pub struct Sample {
    /// The operation.
    pub op: &'static str,
    /// The plan's text.
    pub plan: String,
    /// The predicted time.
    pub predicted: Duration,
    /// The median of a few runs, each from a cold cache.
    pub measured: Duration,
}

/// Where [`On::sampling`](super::On::sampling) puts samples.
pub type Samples = RefCell<Vec<Sample>>;
