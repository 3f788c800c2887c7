//! Backward kernels: derivatives, loops, shapes, products, and parameters.

mod elements;
mod loops;
mod parameters;
mod products;
mod rows;
mod shapes;
