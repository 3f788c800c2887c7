//! Operations on every backend, their PTX, the C library, the documents.

mod capi;
mod capi_model;
mod conflicts;
mod conformance;
mod dependencies;
mod docs;
mod ptx;
mod routes;
mod rows;
