//! Layouts: which register of which thread holds which element of a tile.

pub mod assign;
mod cost;
pub mod linear;
pub mod swizzled_smem;
pub mod table;

/// The extents of the padded tile: powers of two.
pub fn padded(shape: &[usize]) -> Vec<usize> {
    shape.iter().map(|e| e.next_power_of_two()).collect()
}

/// Whether a tile has no padding.
pub fn is_padded(shape: &[usize]) -> bool {
    shape.iter().all(|e| e.is_power_of_two())
}
