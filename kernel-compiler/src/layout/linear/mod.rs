//! Linear layouts: which register of which thread holds which element of a tile, as linear maps over F2.
//!
//! ([Linear Layouts, 2025](https://arxiv.org/abs/2505.23819).) Everything about data movement inside a program follows
//! from the matrices: whether it is free, a shuffle or an exchange through shared memory, and the swizzle of that.

mod convert;
mod layout;
pub mod matrix;
mod parts;
pub mod placed;
mod scan;
mod shape;
mod swizzle;
mod terms;

pub use convert::{Conversion, Shuffle, plan};
pub use layout::{LANE_BITS, Layout};
pub use parts::{Convert, Holders};
pub use scan::{Bit, Level, Scan};
pub use shape::{Across, Derived, Reduction};
pub use swizzle::{Access, Shared};
pub use terms::{Term, terms};

#[cfg(test)]
mod tests;
