//! Operands of products that are tiles of loads in shared memory, possibly behind shape operations.

use crate::analysis::axis_info::AxisAnalysis;
use crate::ir::{Func, Op, Value, matrices};
use crate::mma::fragments::{Fetch, Side};
use crate::mma::mma_sync::warps;
use crate::plan::major::is_k_major;

/// The load whose tile is an operand, possibly behind shape operations, and whether its matrices are transposed.
pub fn source(f: &Func, v: Value) -> Option<(Value, bool)> {
    match f.op(v) {
        Op::Load { .. } => Some((v, false)),
        Op::Permute(x, perm) if matches!(perm[..], [1, 0] | [0, 2, 1]) => source(f, *x).map(|(l, t)| (l, !t)),
        // A transposition of three dimensions is none of the matrices.
        Op::Reshape(x) if f.shape(v).len() == 2 && squeezed(f.shape(*x)) == squeezed(f.shape(v)) => {
            source(f, *x).filter(|&(_, t)| !t || f.shape(*x).len() == 2)
        }
        _ => None,
    }
}

/// The contiguous dimension of the tile of a load.
pub fn fast(f: &Func, a: &AxisAnalysis, load: Value) -> Option<usize> {
    let Op::Load { ptr, .. } = f.op(load) else { unreachable!("a load") };
    a.order(f, ptr.index).into_iter().find(|&d| f.shape(load)[d] > 1)
}

pub(super) fn squeezed(shape: &[usize]) -> Vec<usize> {
    shape.iter().copied().filter(|&e| e != 1).collect()
}

/// How the threads of a warp read an operand from shared memory, and whether they read it transposed. `fast` gives the
/// contiguous dimension of the tile of its load.
pub fn fetch(f: &Func, d: Value, side: Side, fast: impl Fn(Value) -> Option<usize>) -> Option<(Fetch, bool)> {
    let Op::Dot { a, b, .. } = f.op(d) else { unreachable!("a dot") };
    let (load, flipped) = source(f, if side == Side::A { *a } else { *b })?;
    // The last dimension of a matrix is contiguous, or the first one.
    let last = f.shape(load)[fast(load)? + 1..].iter().all(|&e| e == 1);
    let k_major = is_k_major(side, last, flipped);
    let (unit, w) = warps(f, d);
    Some((Fetch::new(unit, &w, side, f.ty(load).dtype.size(), k_major), flipped))
}

/// The flat index in the tile of the load, from the flat index in the operand, which has this shape.
pub fn flat(operand: u32, shape: &[usize], flipped: bool) -> u32 {
    let [rows, cols] = matrices(shape).1.map(usize::trailing_zeros);
    let matrix = operand & ((1 << (rows + cols)) - 1);
    if flipped { operand ^ matrix | matrix >> cols | (matrix & ((1 << cols) - 1)) << rows } else { operand }
}
