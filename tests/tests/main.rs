//! Operations on every backend, their PTX, the C library, the documents.

mod capi;
mod conflicts;
mod conformance;
mod docs;
mod ptx;
mod routes;
