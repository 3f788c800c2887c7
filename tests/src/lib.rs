//! The tests are in `tests/`, those of the language in `language/`.

/// The README's Rust runs as it stands.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;
