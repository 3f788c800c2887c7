//! The kernels that the build script has made.
#![allow(warnings, clippy::all, clippy::undocumented_unsafe_blocks)]

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));
