//! The kernels, a file a family.

pub mod attention;
pub mod elementwise;
pub mod losses;
pub mod merges;
pub mod norms;
pub mod pairs;
pub mod rows;
pub mod scans;
pub mod sorts;
pub mod stencil;
pub mod sums;
