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
