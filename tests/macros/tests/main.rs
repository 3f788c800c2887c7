//! The meaning of kernels, and the messages about their mistakes.

mod meaning;
mod ui;
