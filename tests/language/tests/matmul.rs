//! Parts and uses of products, on the CPU and on the emulated SM: element types and precisions, batches, schedulers,
//! epilogues. The loop of an edit, `cargo xtask test --quick`, leaves them out.

mod activations;
mod batched;
mod halves;
mod precisions;
mod scaled;
mod schedulers;
mod tf32;
mod tf32x3;
mod upcast;
