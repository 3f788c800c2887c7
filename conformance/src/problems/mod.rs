//! How each operation's data is made, launched and checked.

pub(super) mod attention;
pub(super) mod convolution;
pub(super) mod elementwise;
pub(super) mod embeddings;
pub(super) mod gemm;
pub(super) mod grouped;
pub(super) mod losses;
pub(super) mod matmul;
mod matrix;
pub(super) mod norms;
mod number;
pub(super) mod reduce;
pub(super) mod reorder;
pub(super) mod softmax;

use crate::problem::Problem;
use tilewright_runtime::Result;

type Boxed = Result<Box<dyn Problem>>;
