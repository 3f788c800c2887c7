//! Invariants of a lowered program.
//!
//! - [`names`]: a name is defined once in a block, a value of the kernel in no block around it either, and before its
//!   use. No expression has its register left open, a scratch buffer has its offset. What is assigned is a variable.
//! - [`barriers`]: all threads that a barrier counts reach it.
//! - [`accesses`]: accesses to one parameter are in order across threads ([`reach`] of their addresses).
//! - [`shared`]: accesses to scratch buffers stay within them ([`bounds`] of their offsets), and a buffer is stored
//!   to, awaited and loaded from in this order. Nothing overlaps in shared memory.
//! - [`regions`]: threads stay within the matrices of computed operands, the staging buffer of stores and the stages
//!   of `cp.async`. A matrix is stored to, fenced, awaited and multiplied in this order.
//! - [`staging`]: a chunk of a staging buffer is stored to, fenced, awaited and copied. TMA has read it before it is
//!   stored to again.
//! - [`stages`]: a stage that all threads fill is awaited before it is read, and read before it is filled again.
//! - [`mbarriers`]: the producer and the consumers hand over stages of circular buffers in turns, and a stage's number
//!   stays below the number of stages.
//! - [`marks`]: the marks of a traced program nest, and all events have ended where a thread leaves.

mod accesses;
mod barriers;
mod bounds;
mod flow;
mod marks;
mod mbarriers;
mod names;
mod reach;
mod regions;
mod shared;
mod stages;
mod staging;
#[cfg(test)]
mod tests;

use super::node::Lowered;

pub(crate) use names::verify_cpu;

/// The first rule that a program breaks.
pub fn verify(lowered: &Lowered) -> Result<(), String> {
    names::verify(lowered)?;
    barriers::verify(lowered)?;
    accesses::verify(lowered)?;
    shared::verify(lowered)?;
    regions::verify(lowered)?;
    staging::verify(lowered)?;
    stages::verify(lowered)?;
    mbarriers::verify(lowered)?;
    marks::verify(lowered)
}
