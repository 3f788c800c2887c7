//! Tiles of indices of which no two are equal.

use crate::ir::{Binary, Func, Op, Value};

/// Whether the elements of a tile of integers are distinct: consecutive numbers, moved by a number that is the same for
/// all of them.
pub fn is_distinct(f: &Func, v: Value) -> bool {
    let is_uniform = |v: Value| matches!(f.op(v), Op::Splat(_));
    match *f.op(v) {
        Op::Arange { .. } => true,
        Op::Cast(x) => f.ty(x).dtype.is_int() && f.ty(x).dtype.size() <= f.ty(v).dtype.size() && is_distinct(f, x),
        Op::Expand(x, _) | Op::Permute(x, _) | Op::Reshape(x) => is_distinct(f, x),
        Op::Binary(Binary::Add | Binary::Sub, a, b) => {
            is_uniform(a) && is_distinct(f, b) || is_uniform(b) && is_distinct(f, a)
        }
        _ => false,
    }
}
