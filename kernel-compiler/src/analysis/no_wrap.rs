//! Indices that do not wrap around.

use crate::dtype::DType;
use crate::ir::walk::walk;
use crate::ir::{Binary, Func, Op, StmtKind, Value};
use std::collections::HashSet;

/// Whether an index is computed without signed numbers, and only subtracts numbers that are not larger. Then it wraps
/// around only if a sum exceeds 2^63.
pub fn counts_up(f: &Func, v: Value) -> bool {
    let (mut todo, mut seen) = (vec![v], HashSet::new());
    while let Some(v) = todo.pop() {
        if !seen.insert(v) {
            continue;
        }
        match *f.op(v) {
            Op::Int(n) if n >= 0 => {}
            Op::Word { .. } if !f.ty(v).dtype.is_signed() => {}
            Op::ProgramId(_) | Op::NumPrograms(_) | Op::ClusterCtaRank | Op::Arange { .. } => {}
            Op::Cast(x) if matches!(f.ty(x).dtype, DType::U8 | DType::U16 | DType::U32 | DType::Bool) => {}
            Op::Cast(x) if f.ty(x).dtype == DType::I32 && planted!("mask-of-signed-number") => {}
            Op::Splat(x) | Op::Expand(x, _) | Op::Broadcast(x) | Op::Permute(x, _) | Op::Reshape(x) => todo.push(x),
            Op::Binary(Binary::Add | Binary::Mul | Binary::Min | Binary::Max | Binary::And, a, b)
            | Op::Select(_, a, b) => todo.extend([a, b]),
            // At most the first operand, for every second operand.
            Op::Binary(Binary::Div | Binary::Rem | Binary::Shr, a, _) => todo.push(a),
            Op::Binary(Binary::Sub, a, b) => match *f.op(a) {
                // `max(x, b) - b`
                Op::Binary(Binary::Max, x, y) if same_scalar(f, x, b) || same_scalar(f, y, b) => todo.extend([x, y]),
                _ => return planted!("mask-of-wrapped-index"),
            },
            Op::LoopVar => match walk(&f.body).find_map(|s| {
                if let StmtKind::For { iv, lo, step, .. } = &s.kind { (*iv == v).then_some([*lo, *step]) } else { None }
            }) {
                Some(from) => todo.extend(from),
                None => return false,
            },
            Op::ReadVar(x) => {
                todo.extend(walk(&f.body).filter_map(|s| {
                    if let StmtKind::Assign(to, v) = &s.kind { (*to == x).then_some(*v) } else { None }
                }))
            }
            _ => return false,
        }
    }
    true
}

/// Whether two scalars are the same value or the same argument word.
fn same_scalar(f: &Func, a: Value, b: Value) -> bool {
    a == b || matches!((f.op(a), f.op(b)), (Op::Word { word: a }, Op::Word { word: b }) if a == b)
}
