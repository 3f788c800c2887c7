//! Numbers that a file of samples has, and that predictions divide by.

use serde::{Deserialize, Deserializer};
use std::num::NonZeroUsize;

/// Reads a number of at least 1.
pub(super) fn divisor<'de, D: Deserializer<'de>>(from: D) -> Result<usize, D::Error> {
    NonZeroUsize::deserialize(from).map(NonZeroUsize::get)
}

/// Reads two numbers of at least 1.
pub(super) fn divisors<'de, D: Deserializer<'de>>(from: D) -> Result<[usize; 2], D::Error> {
    <[NonZeroUsize; 2]>::deserialize(from).map(|n| n.map(NonZeroUsize::get))
}
