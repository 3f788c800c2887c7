//! The tests are in `tests/`; what several of them use is here.

pub mod matrix;

/// The README's Rust runs as it stands.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
