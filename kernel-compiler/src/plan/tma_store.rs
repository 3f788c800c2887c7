//! Which stores of accumulators go through shared memory, and how the warpgroups share them.

use crate::ir::{Func, Op, Value};
use crate::mma::wgmma::WgmmaTiling;

/// Bytes of a row of a chunk.
pub const ROW: usize = 128;

/// The matrix that a store's value is, be it as one of a batch: of 2-byte elements, for those of 4 bytes fill whole sectors without.
pub fn matrix(f: &Func, value: Value) -> Value {
    match f.op(value) {
        Op::Reshape(x)
            if f.ty(value).dtype.size() == 2
                && matches!((f.shape(*x), f.shape(value)), ([m, n], [1, rows, cols]) if (m, n) == (rows, cols)) =>
        {
            *x
        }
        _ => value,
    }
}

/// The tiling of a matrix that is stored so, if its shape and its elements allow that. Accumulators of this shape have it.
pub fn part(f: &Func, value: Value) -> Option<WgmmaTiling> {
    let (shape, size) = (f.shape(value), f.ty(value).dtype.size());
    let [_, n] = *shape else { return None };
    let g = WgmmaTiling::new(shape, f.warps as usize)?;
    (matches!(size, 2 | 4) && (n / g.cols * size).is_multiple_of(ROW)).then_some(g)
}
