//! Every operation against plain Rust in f64, on the CPU in each configuration, and on the emulated SM.

mod attention;
mod backends;
mod elementwise;
mod listed;
mod losses;
mod norms;
mod pairs;
mod rows;
mod scans;
mod sorts;
mod stencil;
mod sums;
