//! Kernels written as in Triton, through pointers, strides and masks, and C functions around them that Python calls
//! with the addresses of its tensors: `kernels.py` has these, with checks, `bench.py` times them.

pub mod c;
mod heads;
mod product;

pub use heads::{attention_64, attention_128};
pub use product::matmul;
