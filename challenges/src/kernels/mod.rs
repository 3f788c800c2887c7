//! The kernels, a file a family.

pub mod attention;
pub mod elementwise;
pub mod losses;
pub mod norms;
pub mod pairs;
pub mod rows;
pub mod stencil;
pub mod sums;
