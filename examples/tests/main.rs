//! The kernels of the examples, of the book's guide and of its tutorials.

mod guide;
mod teaching;
mod tutorials;
