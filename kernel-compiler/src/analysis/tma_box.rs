//! The alignment of boxes that TMA copies. Measured on an H200: a box that begins between multiples of 16 bytes of a
//! row is an illegal instruction, and so is a store to a box that begins before the array.

use crate::analysis::axis_info::{AxisAnalysis, VECTOR_BYTES};
use crate::analysis::no_wrap::counts_up;
use crate::ir::{BlockPointer, Func};

/// Whether a tile is known to begin at a multiple of 16 bytes of a row of elements of `size` bytes.
pub fn begins_at_whole_vectors(f: &Func, a: &AxisAnalysis, to: &BlockPointer, size: usize) -> bool {
    let column = *to.at.last().expect("a block pointer has columns");
    let known = a.info(f, column).element.divisor();
    planted!("tma-of-any-column") || known.is_multiple_of((VECTOR_BYTES / size) as u64)
}

/// Whether TMA can store a tile there: it is also known to begin in the array or beyond it.
pub fn takes_stores(f: &Func, a: &AxisAnalysis, to: &BlockPointer, size: usize) -> bool {
    let counts_up = to.at.iter().all(|&at| counts_up(f, at)) || planted!("tma-store-before-the-array");
    counts_up && begins_at_whole_vectors(f, a, to, size)
}
