//! Operations on every backend, their PTX, the C library, the documents.

mod batch_invariant;
mod book;
mod capi;
mod capi_model;
mod challenge_edges;
mod conflicts;
mod conformance;
mod dependencies;
mod devices;
mod docs;
mod examples;
mod extremes;
mod in_place;
mod kernels;
mod names;
mod pictures;
mod plans;
mod ptx;
mod python;
mod recorded;
mod rows;
mod shapes;
mod tables;

use tilewright::{BackendKind, Runtime};

/// The CPU, the emulated SM with a seed, and a GPU if there is one.
fn backends(seed: u64) -> Vec<Runtime> {
    let default = Runtime::new();
    let gpu = (default.kind() == BackendKind::Cuda).then_some(default);
    [Runtime::cpu(), Runtime::emulator(seed)].into_iter().chain(gpu).collect()
}
