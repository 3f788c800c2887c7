//! Tensor-core instructions: the layouts of their operands and results, and the partition of products into them.

pub mod fragments;
pub mod mma_sync;
pub mod wgmma;

use crate::dtype::DType;
use crate::layout::linear::Layout;
use std::ops::Range;

/// The K extent of one instruction: 32 bytes.
pub fn instruction_k(dtype: DType) -> usize {
    32 / dtype.size()
}

/// A left operand `[m, k]` in the registers of instructions with 16 rows for each warp. Of the bits of the row's
/// number, `blocks` are the number of a block of a warp, and `warps` the number of a warp. `copies` further bits of the
/// warp's number are replicated.
pub fn left_operand(
    shape: &[usize],
    size: usize,
    blocks: Range<u32>,
    warps: impl Iterator<Item = u32>,
    copies: u32,
) -> Layout {
    let (k, pack) = (bits(shape[1]), bits(4 / size));
    let (row, col) = (|i: u32| 1u32 << (k + i), |i: u32| 1u32 << i);
    // Elements of a row that share a register, as many as fit in 32 bits; then four lanes; then the other half.
    let mut regs: Vec<u32> = (0..pack).map(col).collect();
    regs.extend([row(3), col(pack + 2)]);
    regs.extend((pack + 3..k).map(col));
    regs.extend(blocks.map(row));
    let warps = warps.map(row).chain((0..copies).map(|_| 0)).collect();
    Layout::new(shape, regs, [col(pack), col(pack + 1), row(0), row(1), row(2)], warps)
}

pub fn bits(n: usize) -> u32 {
    n.trailing_zeros()
}
