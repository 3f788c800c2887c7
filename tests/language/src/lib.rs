//! The common part of the language's tests: matrices of made-up numbers, and runs on every backend without a device.

pub mod differences;
pub mod everywhere;
pub mod matrix;
pub mod run;
