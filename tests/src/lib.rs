//! The tests are in `tests/`.

/// The README's Rust runs as it stands.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
