//! `wgmma`: how the warpgroups partition a product.

use super::{bits, left_operand};
use crate::ir::matrices;
use crate::layout::linear::Layout;
use crate::layout::padded;

/// How the warpgroups partition a product `[m, n]`, or the products of a batch `[b, m, n]`, and the instructions of a
/// warpgroup.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgmmaTiling {
    /// The number of warpgroups along a batch, and of the products that each computes, one after another.
    pub batch: usize,
    pub products: usize,
    /// The number of warpgroups along the rows and along the columns.
    pub rows: usize,
    pub cols: usize,
    /// The columns of one instruction; its rows are 64.
    pub n: usize,
    /// The number of instructions along the rows and along the columns of a warpgroup's part.
    pub row_blocks: usize,
    pub col_blocks: usize,
}

pub const GROUP_ROWS: usize = 64;
const MAX_COLUMNS: usize = 256;

impl WgmmaTiling {
    /// None where the tile is too small for the instructions of these warps. A tile whose columns are no power of two
    /// has one instruction along them. Warpgroups take whole products of a batch before they partition one.
    pub fn new(shape: &[usize], warps: usize) -> Option<WgmmaTiling> {
        if !matches!(shape.len(), 2 | 3) {
            return None;
        }
        let (of_batch, [m, n]) = matrices(shape);
        let all: usize = of_batch.iter().product();
        if warps % 4 != 0 || !m.is_power_of_two() || m < GROUP_ROWS || !all.is_power_of_two() {
            return None;
        }
        let batch = all.min(warps / 4);
        let groups = warps / 4 / batch;
        let rows = groups.min(m / GROUP_ROWS);
        let cols = groups / rows;
        let part = n / cols;
        let columns = part.min(MAX_COLUMNS);
        let g = WgmmaTiling {
            batch,
            products: all / batch,
            rows,
            cols,
            n: columns,
            row_blocks: m / rows / GROUP_ROWS,
            col_blocks: part / columns.max(1),
        };
        let one = (g.products, g.cols, g.row_blocks, columns) == (1, 1, 1, n) && n.is_multiple_of(8);
        (part >= 8 && (n.is_power_of_two() || one)).then_some(g)
    }

    /// The matrices of the batch.
    pub fn matrices(&self) -> usize {
        self.batch * self.products
    }

    /// The number of registers of a thread's accumulators.
    pub fn registers(&self) -> usize {
        self.products * self.row_blocks * self.col_blocks * self.n.next_power_of_two() / 2
    }

    /// The layout of the accumulators of `[m, n]`, or of a batch: registers are in the order of the instructions. Those
    /// of the padding's columns come last.
    pub fn accumulator(&self, shape: &[usize]) -> Layout {
        let shape = &padded(shape)[..];
        let (of_batch, matrix) = matrices(shape);
        let (m, n) = (bits(matrix[0]), bits(matrix[1]));
        let (row, col) = (|i: u32| 1u32 << (n + i), |i: u32| 1u32 << i);
        let (part_m, part_n) = (m - bits(self.rows), n - bits(self.cols));
        let mut regs = vec![col(0), row(3)];
        regs.extend((3..part_n).map(col));
        regs.extend((6..part_m).map(row));
        let lanes = [col(1), col(2), row(0), row(1), row(2)];
        let mut warps = vec![row(4), row(5)];
        warps.extend((part_m..m).map(row));
        warps.extend((part_n..n).map(col));
        self.batched(of_batch, Layout::new(&matrix, regs, lanes, warps))
    }

    /// The layout of the left operand `[m, k]`, or of a batch, in registers: the registers of an instruction are
    /// consecutive, then come the steps of K, then the blocks of rows.
    pub fn left(&self, shape: &[usize], size: usize) -> Layout {
        let (of_batch, matrix) = matrices(shape);
        let (m, part_m) = (bits(matrix[0]), bits(matrix[0] / self.rows));
        self.batched(of_batch, left_operand(&matrix, size, 6..part_m, (4..6).chain(part_m..m), bits(self.cols)))
    }

    /// The layout of a batch, from the layout of one product: the products of a warpgroup are consecutive in its
    /// registers.
    fn batched(&self, of_batch: &[usize], matrix: Layout) -> Layout {
        let of = |products: std::ops::Range<u32>| products.map(|i| 1u32 << (matrix.bits() + i));
        let (own, all) = (bits(self.products), bits(self.matrices()));
        let regs = matrix.reg_bases().iter().copied().chain(of(0..own)).collect();
        let threads = matrix.thread_bases();
        let (lanes, warps) = threads.split_at(matrix.lane_bases().len());
        let warps = warps.iter().copied().chain(of(own..all)).collect();
        let shape = [of_batch, &matrix.shape()[..]].concat();
        Layout::new(&shape, regs, lanes.try_into().expect("the lanes"), warps)
    }
}
