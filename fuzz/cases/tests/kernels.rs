//! The kernels that the build script has made.
#![allow(warnings, clippy::all)]

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
