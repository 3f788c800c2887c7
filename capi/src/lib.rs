//! libtile.so. One function per operation; all of them check, then call `tilewright_ops`.
//!
//! `include/tile.h` is generated from here, and `include/tile_challenges.h` from `challenges/`.

// Comments are those of the C headers, where `a[i]` is an element and no link, and `<operation>` no tag.
#![allow(rustdoc::broken_intra_doc_links, rustdoc::invalid_html_tags)]
#![allow(non_snake_case)] // The challenges name their arguments so.

mod at;
mod attention;
mod backend;
mod batched;
mod challenges;
mod codes;
mod dtype;
mod embeddings;
mod general;
mod grouped;
mod guard;
mod handle;
mod handle_operations;
#[cfg(test)]
mod hostile;
mod losses;
mod matmul;
mod memory;
mod norms;
mod softmax;
mod stack;
mod thread;
mod version;

pub use attention::*;
pub use batched::*;
pub use challenges::*;
pub use codes::*;
pub use embeddings::*;
pub use general::*;
pub use grouped::*;
pub use guard::tile_last_error;
pub use handle::*;
pub use handle_operations::*;
pub use losses::*;
pub use matmul::*;
pub use norms::*;
pub use softmax::*;
pub use thread::*;
pub use version::*;
