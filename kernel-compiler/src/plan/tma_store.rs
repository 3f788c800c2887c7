//! The stores of accumulators that go through shared memory, and how the warpgroups partition them.

use crate::ir::walk::walk;
use crate::ir::{Array, Func, Op, Stmt, StmtKind, Value};
use crate::layout::assign::LayoutAssignment;
use crate::layout::swizzled_smem::{ROW_BYTES, SwizzledSmemTile};
use crate::missed::Missed;
use crate::mma::wgmma::{GROUP_ROWS, WgmmaTiling};

/// The least bytes of a row of a chunk of elements of 2 bytes. Rows of longer elements have [`ROW_BYTES`].
const MIN_ROW_BYTES: usize = ROW_BYTES / 2;

/// The matrix that a store stores, also a matrix of a batch. Its elements have 2 bytes: threads that store accumulators
/// of 4 bytes fill whole sectors without shared memory.
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

/// The partition of a matrix that is stored through shared memory, if its shape and its elements allow that.
/// Accumulators of this shape have it.
pub fn part(f: &Func, value: Value) -> Option<WgmmaTiling> {
    let (shape, size) = (f.shape(value), f.ty(value).dtype.size());
    let [_, n] = *shape else { return None };
    let g = WgmmaTiling::new(shape, f.warps as usize)?;
    (matches!(size, 2 | 4) && row_bytes(n / g.cols, size).is_some()).then_some(g)
}

/// The bytes of a row of a chunk, where a warpgroup's part has so many columns of elements of `size` bytes.
pub fn row_bytes(cols: usize, size: usize) -> Option<usize> {
    let least = if size == 2 { MIN_ROW_BYTES } else { ROW_BYTES };
    Some(SwizzledSmemTile::new(GROUP_ROWS, cols, size).row_bytes).filter(|&row| row >= least)
}

/// The partition of a matrix that is stored through shared memory, or why threads store their registers.
pub fn tiling(f: &Func, layouts: &LayoutAssignment, value: Value) -> Result<WgmmaTiling, &'static str> {
    let value = matrix(f, value);
    let shape = f.shape(value);
    if matches!(f.op(value), Op::Permute(..)) {
        return Err("it is transposed: the operands of its product are swapped");
    }
    let tiling = part(f, value).ok_or(match shape.len() {
        2 => {
            "warpgroups have no rows of whole 64 bytes of it (128 of elements of 4 bytes), or its elements have neither \
             2 nor 4 bytes"
        }
        _ => "it is a batch of matrices",
    })?;
    match layouts.is_accumulator(value) && *layouts.of(value) == tiling.accumulator(shape) {
        true => Ok(tiling),
        false => Err("its layout is not that of accumulators"),
    }
}

/// Whether a program may load elements that it has stored to an array. Then it must not store by TMA.
pub fn is_read_again(f: &Func, array: Array) -> bool {
    let reads = |s: &Stmt| match &s.kind {
        StmtKind::Let(v) => {
            matches!(f.op(*v), Op::Load { place, .. } | Op::Atomic { place, .. } if place.array() == array)
        }
        _ => false,
    };
    walk(&f.body).any(reads)
}

/// The stores of matrices that threads make in a program for TMA.
pub fn missed(f: &Func, layouts: &LayoutAssignment) -> Vec<Missed> {
    let of = |s: &Stmt| match &s.kind {
        StmtKind::Store { place, value, block_pointer: Some(_), span, .. }
            if f.shape(*value).iter().filter(|&&e| e > 1).count() > 1 =>
        {
            let why = match tiling(f, layouts, *value) {
                Err(why) => why,
                Ok(_) if is_read_again(f, place.array()) => "the kernel loads from the array that it stores to",
                Ok(_) => return None,
            };
            Some(Missed::new("stored by TMA", why).at(*span))
        }
        _ => None,
    };
    walk(&f.body).filter_map(of).collect()
}
