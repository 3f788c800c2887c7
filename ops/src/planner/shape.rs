//! The extents of a product.

use serde::{Deserialize, Serialize};

/// Rows and columns of the result, and the length of the sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GemmShape {
    pub m: usize,
    pub n: usize,
    pub k: usize,
}
