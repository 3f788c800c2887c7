//! What kernels mean, and what is said of mistakes in them.

mod meaning;
mod ui;
