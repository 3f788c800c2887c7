//! Backward kernels against finite differences of their forward kernels, on the CPU and on the emulated SM.

#[path = "adjoint/differences.rs"]
mod differences;
#[path = "adjoint/elements.rs"]
mod elements;
#[path = "adjoint/loops.rs"]
mod loops;
#[path = "adjoint/parameters.rs"]
mod parameters;
#[path = "adjoint/products.rs"]
mod products;
#[path = "adjoint/rows.rs"]
mod rows;
#[path = "adjoint/shapes.rs"]
mod shapes;
