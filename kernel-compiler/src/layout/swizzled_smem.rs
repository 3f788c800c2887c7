//! A matrix in shared memory as TMA writes it and `wgmma` reads it.

use std::fmt;

/// The most bytes of a swizzled row.
pub const ROW_BYTES: usize = 128;

/// A swizzled matrix in shared memory: boxes next to each other, each with all rows and `row_bytes` of the columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SwizzledSmemTile {
    /// The rows of each box.
    pub rows: usize,
    /// The number of boxes.
    pub count: usize,
    /// The bytes of a row of a box: a power of two, [`ROW_BYTES`] at most.
    pub row_bytes: usize,
}

impl SwizzledSmemTile {
    pub(crate) fn new(rows: usize, cols: usize, size: usize) -> SwizzledSmemTile {
        let bytes = cols * size;
        let row_bytes = (1 << bytes.trailing_zeros()).min(ROW_BYTES);
        SwizzledSmemTile { rows, count: bytes / row_bytes, row_bytes }
    }

    /// The bytes of a box.
    pub fn box_bytes(&self) -> usize {
        self.rows * self.row_bytes
    }

    pub(crate) fn bytes(&self) -> usize {
        self.box_bytes() * self.count
    }

    /// Whether a matrix descriptor of `wgmma` can describe the tile: swizzles repeat after eight rows, and the
    /// distances of boxes are equal.
    pub(crate) fn is_regular(&self) -> bool {
        self.rows.is_multiple_of(8) && self.row_bytes >= 32
    }

    /// Whether `bytes` along M or N are whole boxes, since an instruction takes whole boxes.
    pub(crate) fn is_whole(&self, bytes: usize) -> bool {
        bytes.is_multiple_of(self.row_bytes)
    }

    /// The byte offset of an element, as bases over the bits of its flat index.
    pub fn place(&self, size: usize) -> Vec<u32> {
        let (row, all) = (self.row_bytes as u32, self.bytes() as u32);
        let in_row = std::iter::successors(Some(size as u32), |b| Some(b * 2)).take_while(|&b| b < row);
        let boxes = std::iter::successors(Some(self.box_bytes() as u32), |b| Some(b * 2)).take_while(|&b| b < all);
        let rows = std::iter::successors(Some(row), |b| Some(b * 2)).take_while(|&b| b < self.box_bytes() as u32);
        // Vectors of 16 bytes are permuted by the number of their 128-byte row.
        in_row
            .chain(boxes)
            .chain(rows)
            .map(|b| b ^ ((b >> if planted!("swizzle-by-wrong-rows") { 8 } else { 7 }) & (row / 16 - 1)) << 4)
            .collect()
    }
}

impl fmt::Display for SwizzledSmemTile {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let boxes = if self.count == 1 { "box" } else { "boxes" };
        write!(f, "{} {boxes} of {} rows of {} bytes", self.count, self.rows, self.row_bytes)
    }
}
