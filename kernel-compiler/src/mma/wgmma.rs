//! `wgmma`: how the warpgroups share a product.

use super::{bits, left_operand};
use crate::layout::linear::Layout;
use crate::layout::padded;

/// How the warpgroups share a product `[m, n]`, and the instructions of one of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WgmmaTiling {
    /// Warpgroups along the rows and along the columns.
    pub rows: usize,
    pub cols: usize,
    /// Columns of one instruction; its rows are 64.
    pub n: usize,
    /// Instructions along the rows and along the columns of a warpgroup's part.
    pub row_blocks: usize,
    pub col_blocks: usize,
}

pub const GROUP_ROWS: usize = 64;
const MAX_COLUMNS: usize = 256;

impl WgmmaTiling {
    /// None where the tile is too small for the instructions of these warps. Columns that are three times a power of two are one instruction's.
    pub fn new(shape: &[usize], warps: usize) -> Option<WgmmaTiling> {
        let [m, n] = *shape else { return None };
        if warps % 4 != 0 || !m.is_power_of_two() || m < GROUP_ROWS {
            return None;
        }
        let groups = warps / 4;
        let rows = groups.min(m / GROUP_ROWS);
        let cols = groups / rows;
        let part = n / cols;
        let columns = part.min(MAX_COLUMNS);
        let g = WgmmaTiling {
            rows,
            cols,
            n: columns,
            row_blocks: m / rows / GROUP_ROWS,
            col_blocks: part / columns.max(1),
        };
        let one = (g.cols, g.row_blocks, columns) == (1, 1, n) && n.is_multiple_of(8);
        (part >= 8 && (n.is_power_of_two() || one)).then_some(g)
    }

    /// The accumulators of `[m, n]`: registers in the order in which the instructions name them. Those of columns that only the padded tile has come last.
    pub fn accumulator(&self, shape: &[usize]) -> Layout {
        let shape = &padded(shape)[..];
        let (m, n) = (bits(shape[0]), bits(shape[1]));
        let (row, col) = (|i: u32| 1u32 << (n + i), |i: u32| 1u32 << i);
        let (part_m, part_n) = (m - bits(self.rows), n - bits(self.cols));
        let mut regs = vec![col(0), row(3)];
        regs.extend((3..part_n).map(col));
        regs.extend((6..part_m).map(row));
        let lanes = [col(1), col(2), row(0), row(1), row(2)];
        let mut warps = vec![row(4), row(5)];
        warps.extend((part_m..m).map(row));
        warps.extend((part_n..n).map(col));
        Layout::new(shape, regs, lanes, warps)
    }

    /// The left operand `[m, k]` in registers: those of an instruction together, steps of the depth before blocks of rows.
    pub fn left(&self, shape: &[usize], size: usize) -> Layout {
        let (m, part_m) = (bits(shape[0]), bits(shape[0] / self.rows));
        left_operand(shape, size, 6..part_m, (4..6).chain(part_m..m), bits(self.cols))
    }
}
