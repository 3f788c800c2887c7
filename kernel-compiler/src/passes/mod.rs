//! Passes over the IR. Each takes a function and returns whether it has changed it, or why it cannot do its work.
//! [`driver`](crate::driver) orders them, numbers the statements after each, and verifies the function.

pub mod adjoint;
pub mod block_pointers;
pub mod cluster;
pub mod copy_prop;
pub mod dce;
pub mod induction;
pub mod pipeline_dots;
pub mod swap_ab;
pub mod tf32x3;
pub mod wide_sums;
