//! `tile profile --trace`: a timeline of warps, from marks that the launched code writes.

mod chrome;
mod clock;
mod compile;
#[cfg(test)]
mod emulated;
mod launch;
mod package;
mod records;
mod summary;
mod table;
mod timeline;

pub use compile::Kept;
pub use launch::{Asked, compile_only, run};
pub use package::of_package;
