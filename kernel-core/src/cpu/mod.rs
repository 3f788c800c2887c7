//! The CPU backend: the operations of one program on whole tiles, and the launch of programs on all cores.
//!
//! The code that the compiler emits calls these functions with closures over linear element indices. They are inlined,
//! so that a tile expression becomes one loop that LLVM vectorizes for the target features of the function it is in. On
//! x86-64 these are AVX2 and FMA. A function without a closure, such as `dot`, is compiled once for each type.

mod axes;
mod cumcount;
mod dot;
pub mod fork;
mod histogram;
mod launch;
mod memory;
mod panels;
mod pool;
mod reduce;
mod relaxed;
mod scan;
mod shape;
mod shared;
mod sort;
#[cfg(test)]
mod tests;
mod threads;
mod tile;

pub use crate::scalar::Scalar as Mem;
pub use axes::{Axis, axis, load_axes, store_axes};
pub use cumcount::cumcount;
pub use dot::{Operand, Precision, dot};
pub use histogram::histogram;
pub use launch::{Assertion, Program, assert, is_supported, launch, print};
pub use memory::{atomic, atomic_cas, load, load_clipped, store, store_clipped};
pub use pool::OutOfMemory;
pub use reduce::{arg_reduce, arg_reduce_all, reduce, reduce_all};
pub use scan::{scan, scan_exclusive};
pub use shape::Shape;
pub use shared::{SharedArray, shared_address};
pub use sort::sort;
pub use threads::{is_pool_thread, parallel_map, thread_count};
pub use tile::{Tile, broadcast, each, gather, permute, reshape};
pub use tilewright_types::limits::MAX_RANK;
