//! Which operands of products are K-major, and which MN-major ones `wgmma` takes.

use crate::missed::Why;
use crate::mma::fragments::Side;

/// Whether K is the contiguous dimension of an operand. `last`: the last dimension of its load's tile is contiguous.
/// `flipped`: the operand is the transpose of that tile.
pub fn is_k_major(side: Side, last: bool, flipped: bool) -> bool {
    (side == Side::A) == (last != flipped)
}

/// The way of an MN-major operand from shared memory to `wgmma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MnMajor {
    /// The instruction reads it there.
    Memory,
    /// Threads load it, and pass it in registers.
    Registers,
}

/// The way of an MN-major operand with elements of `size` bytes, if there is one. The instruction reads elements of 2
/// bytes alone, and takes no B in registers.
pub fn mn_major(side: Side, size: usize) -> Option<MnMajor> {
    match (size, side) {
        (2, _) => Some(MnMajor::Memory),
        (4, Side::A) => Some(MnMajor::Registers),
        _ => None,
    }
}

/// Why `wgmma` does not take an MN-major tile with elements of `size` bytes.
pub fn not_mn_major(side: Side, size: usize) -> Why {
    match size {
        2 => why!(
            "{side:?} is MN-major, and an instruction would take a part of the swizzled rows of its tile: take fewer \
             warps, or store it K-major"
        ),
        _ => why!("{side:?} is MN-major, which wgmma takes only with 2-byte elements: store it K-major"),
    }
}
